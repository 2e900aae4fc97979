"""Keys that had other names: still read, with one note, and refused beside the new name."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from conftest import RunWeft
from weft.conditioning import Conditioning
from weft.config.document import parse_experiment, read_experiment
from weft.config.experiment import Experiment, Scratch
from weft.config.training import Training
from weft.errors import ConfigError, RenamedKeysWarning
from weft.losses import Loss
from weft.spec import parse
from weft.tasks import Task

TASKS: dict[str, Any] = {"words": {"kind": "masked_words", "train": "a.txt"}}
OLD_TRAINING = {
    "accumulate": ("gradient_accumulation_steps", 4),
    "schedule": ("lr_scheduler_type", "cosine"),
    "early_stopping": ("early_stopping_patience", 2),
    "by_length": ("group_by_length", True),
    "trackers": ("report_to", ("wandb",)),
    "dev_rows": ("max_dev_rows", 7),
    "samples": ("report_texts", 3),
}
OLD_SCRATCH = {
    "layers": ("num_hidden_layers", 3),
    "width": ("hidden_size", 32),
    "heads": ("num_attention_heads", 2),
    "inner": ("intermediate_size", 48),
    "positions": ("max_position_embeddings", 40),
    "dropout": ("hidden_dropout_prob", 0.25),
}


@pytest.mark.parametrize(
    ("spec", "more", "keys"),
    [
        (Training, {}, OLD_TRAINING),
        (Scratch, {"tokenizer": "t"}, OLD_SCRATCH),
        (Task, {"kind": "masked_words"}, {"share": ("mlm_probability", 0.3), "whole_words": ("whole_word_masking", 1)}),
        (Task, {"kind": "span_boundary"}, {"share": ("mlm_probability", 0.3)}),
        (Task, {"kind": "tagging"}, {"overlap": ("stride", 3), "decide": ("subword_pooling", "combined")}),
        (Task, {"kind": "spans"}, {"overlap": ("stride", 3)}),
        (Conditioning, {"kind": "label_attention"}, {"start": ("init", "random")}),
        (Conditioning, {"kind": "task_attention"}, {"start": ("init", "uniform")}),
    ],
)
def test_an_old_key_means_what_the_new_one_means(spec: Any, more: dict[str, Any], keys: dict[str, Any]) -> None:
    old = parse(spec, {**more, **{key: value for key, (_, value) in keys.items()}})
    new = parse(spec, {**more, **dict(keys.values())})
    assert old == new
    assert parse(spec, more) != new
    assert not keys.keys() & old.to_dict().keys()
    assert {name for name, _ in keys.values()} <= old.to_dict().keys()


def test_one_note_names_all_old_keys_of_a_file_and_of_its_overrides(tmp_path: Path) -> None:
    document = '[encoder]\ncheckpoint_gradients = true\n[tasks.t]\nkind = "tagging"\noverlap = 2\n'
    document += '[tasks.u]\nkind = "tagging"\noverlap = 3\n[conditioning]\nkind = "label_attention"\nstart = "random"\n'
    (tmp_path / "run.toml").write_text(document)
    with pytest.warns(RenamedKeysWarning) as notes:
        read = read_experiment(tmp_path / "run.toml", ["training.accumulate=3"])
    assert read.training.gradient_accumulation_steps == 3
    assert read.encoder.gradient_checkpointing
    assert len(notes) == 1
    for pair in (
        "accumulate is now gradient_accumulation_steps",
        "checkpoint_gradients is now gradient_checkpointing",
        "overlap is now stride",
        "start is now init",
    ):
        assert str(notes[0].message).count(pair) == 1


def test_new_keys_and_what_is_written_down_give_no_note() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        experiment = parse_experiment({"tasks": TASKS, "training": {"gradient_accumulation_steps": 3}})
        assert parse_experiment(experiment.to_dict()) == experiment


def test_an_old_key_beside_the_new_one_is_a_fault_among_the_others() -> None:
    training = {"accumulate": 1, "gradient_accumulation_steps": 2, "epochs": 0}
    with pytest.raises(ConfigError) as caught:
        parse(Experiment, {"tasks": TASKS, "training": training})
    accumulate, epochs = sorted(caught.value.faults)
    assert accumulate.startswith("training.accumulate: is the old name of gradient_accumulation_steps")
    assert "remove one of them" in accumulate
    assert epochs.startswith("training.epochs: ")


def test_a_plugin_renames_its_own_keys_by_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loss, "_registered", dict(Loss.kinds()))

    class Steep(Loss):
        kind: Literal["steep"] = "steep"
        renamed: ClassVar[dict[str, str]] = {"slope": "steepness"}
        steepness: float = 1.0

        def build(self) -> Any:
            raise NotImplementedError

    task = parse(Task, {"kind": "classification", "loss": {"kind": "steep", "slope": 2.0}})
    assert isinstance(task.loss, Steep)
    assert task.loss.steepness == 2.0


def test_a_kind_keeps_the_old_keys_of_the_kinds_it_builds_on() -> None:
    assert parse(Task, {"kind": "tagging", "overlap": 5, "decide": "combined"}).to_dict()["stride"] == 5


@pytest.mark.filterwarnings("default")
def test_a_command_says_once_which_keys_have_newer_names(tmp_path: Path, run_weft: RunWeft) -> None:
    (tmp_path / "run.toml").write_text('[tasks.t]\nkind = "tagging"\noverlap = 2\n[training]\naccumulate = 2\n')
    code, _, err = run_weft("check", tmp_path / "run.toml", "--set", "encoder.from=./nowhere")
    assert code == 1
    assert err.count("newer names: accumulate is now gradient_accumulation_steps, overlap is now stride") == 1
    assert ".py" not in err
