"""Before the first update: overrides, folders, the encoder's shape, and what new weights begin from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

import weft
from recorder import HEAD, TEXTS, Place, Recorder, make_place
from weft.config.document import parse_experiment
from weft.errors import ConfigError
from weft.model.folder import load_network
from weft.model.network import Network
from weft.tensors import Batch, Scores, pack
from weft.tokenization.tokenizer import Tokenizer
from weft.training.progress import Callback

TASKS = {"a": {"kind": "classification", "train": "a.csv"}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("started"), tiny_tokenizers["wordpiece"], 0.3)


# The config


def test_an_override_sets_one_value_and_leaves_the_rest() -> None:
    document = {"tasks": TASKS, "training": {"epochs": 5, "batch_size": 7}, "sampling": "temperature"}
    overrides = [
        "training.epochs=9",
        "tasks.a.text=words",
        "sampling.temperature=3.5",
        "training.group_by_length=true",
        "seed=4",
    ]
    experiment = parse_experiment(document, overrides)
    assert (experiment.training.epochs, experiment.training.batch_size) == (9, 7)
    assert experiment.training.group_by_length is True
    assert experiment.tasks["a"].to_dict()["text"] == "words"
    assert experiment.tasks["a"].train == "a.csv"
    assert experiment.sampling.to_dict() == {"kind": "temperature", "temperature": 3.5}
    assert experiment.seed == 4
    assert document["training"] == {"epochs": 5, "batch_size": 7}  # the caller's own stays as it is


def test_an_override_is_read_as_toml_where_it_is_toml() -> None:
    overrides = ['tasks.a.label="mood"', 'phases=[{tasks=["a"], epochs=2}]', "tasks.a.limit=8"]
    experiment = parse_experiment({"tasks": TASKS}, overrides)
    assert experiment.tasks["a"].to_dict()["label"] == "mood"
    assert [(phase.tasks, phase.epochs) for phase in experiment.phases] == [(("a",), 2)]
    assert experiment.tasks["a"].limit == 8


def test_the_last_override_of_a_value_counts() -> None:
    found = parse_experiment({"tasks": TASKS}, ["training.epochs=9", "training.epochs=2"])
    assert found.training.epochs == 2


def test_a_value_with_an_equals_sign_is_whole() -> None:
    assert parse_experiment({"tasks": TASKS}, ["tasks.a.train=x=y.csv"]).tasks["a"].train == "x=y.csv"


def test_the_shape_of_an_encoder_from_scratch_is_as_the_config_says() -> None:
    def shape(**options: Any) -> dict[str, Any]:
        document = {"tasks": TASKS, "encoder": {"scratch": {"tokenizer": "here", **options}}}
        scratch = parse_experiment(document).encoder.scratch
        assert scratch is not None
        return vars(scratch.config(99))

    expected = {
        "vocab_size": 99,
        "hidden_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
        "max_position_embeddings": 512,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
    }
    plain = shape()
    assert {key: plain[key] for key in expected} == expected
    own = shape(
        num_hidden_layers=3,
        hidden_size=64,
        num_attention_heads=8,
        intermediate_size=80,
        max_position_embeddings=40,
        hidden_dropout_prob=0.25,
    )
    assert {key: own[key] for key in expected} == {
        "vocab_size": 99,
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 8,
        "intermediate_size": 80,
        "max_position_embeddings": 40,
        "hidden_dropout_prob": 0.25,
        "attention_probs_dropout_prob": 0.25,
    }


# The folders


def test_a_config_file_finds_its_data_beside_it_or_where_it_says_and_runs_get_its_name(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three folders hold rows of different numbers, so that the report tells which were read."""
    folders = {"beside": tmp_path / "configs", "named": tmp_path / "configs" / "files", "given": tmp_path / "given"}
    for rows, folder in zip((4, 6, 8), folders.values(), strict=True):
        folder.mkdir()
        lines = [json.dumps({"text": text, "label": "ab"[i % 2]}) for i, text in enumerate(TEXTS[:rows])]
        (folder / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = {"kind": "classification", "train": "rows.jsonl", "dev": "rows.jsonl", "head": HEAD}
    document = place.document({"a": task}, {"batch_size": 8})
    monkeypatch.chdir(tmp_path)
    for name, data, options in (("beside", None, {}), ("named", "files", {}), ("given", "files", {"data": "given"})):
        config = folders["beside"] / f"{name}.toml"
        config.write_text(tomli_w.dumps({**document, **({"data": data} if data else {})}), encoding="utf-8")
        weft.train(config, overrides=["training.max_grad_norm=3"], device="cpu", callback=Callback(), **options)
        report = json.loads((tmp_path / "runs" / name / "report.json").read_text(encoding="utf-8"))
        assert report["tasks"]["a"]["rows"]["train"] == {"beside": 4, "named": 6, "given": 8}[name]
        assert report["data"] == str(folders[name].resolve())
        assert "max_grad_norm = 3" in report["config"]


def test_tasks_stay_in_the_order_of_the_config_whatever_they_read(place: Place) -> None:
    (place.folder / "text.txt").write_text("\n\n".join(TEXTS * 4), encoding="utf-8")
    words = {"kind": "masked_words", "train": "text.txt", "dev": "text.txt"}
    tasks = {"words": words, "a": place.task("a", 4)}
    seen = place.train(tasks, "order", training={"batch_size": 64})
    assert seen.tasks == ["words", "a"]
    assert list(place.report("order")["tasks"]) == ["words", "a"]
    assert list(seen.entries[0]["dev"]) == ["words", "a"]


def test_results_stay_in_the_order_of_the_config_without_baselines_too(place: Place) -> None:
    """Rows of test files are measured before those of dev files."""
    last = place.task("b", 4)
    place.train({"a": place.task("a", 4), "b": {**last, "test": last["train"]}}, "results")
    assert not any(task["result"]["baselines"] for task in place.report("results")["tasks"].values())
    assert list(json.loads((place.folder / "results" / "metrics.json").read_text(encoding="utf-8"))) == ["a", "b"]


def test_a_folder_that_holds_more_than_a_config_is_kept_when_a_run_fails(place: Place) -> None:
    """What has been learned must not go with a fault that comes later."""
    tasks = {"a": place.task("a", 4)}
    callback = Recorder()

    def fail(entry: dict[str, Any]) -> None:
        raise ConfigError("the lights went out")

    callback.evaluated = fail  # type: ignore[method-assign]
    with pytest.raises(ConfigError, match="lights"):
        place.train(tasks, "dark", callback=callback)
    assert (place.folder / "dark.running" / "best" / "overall" / "model.safetensors").exists()


@pytest.mark.usefixtures("half_precision")
def test_runs_in_one_process_have_each_its_own_precision_and_leave_accelerate_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Accelerator(cpu=True).state.__dict__.copy()  # somebody else's, which settles things for the whole process
    monkeypatch.setattr(AcceleratorState, "_reset_state", None)
    kinds: dict[str, set[torch.dtype]] = {}
    real = Network.forward

    def forward(network: Network, batches: Mapping[str, Batch], features: bool = False) -> dict[str, Scores]:
        found: dict[str, Scores] = real(network, batches, features)
        kinds.setdefault(output, set()).update(scores.values.dtype for scores in found.values())
        return found

    monkeypatch.setattr(Network, "forward", forward)
    for output, precision in (("half", "bf16"), ("full", "fp32"), ("again", "bf16")):
        place.train({name: place.task(name, 4) for name in "ab"}, output, training={"precision": precision})
        assert place.report(output)["precision"] == precision
    assert kinds == {"half": {torch.bfloat16}, "full": {torch.float32}, "again": {torch.bfloat16}}
    assert AcceleratorState().__dict__ == own


# What new weights begin from


def named(place: Place) -> dict[str, Any]:
    rows = [(text, ("lazy dog", "quick-fox")[i % 3 == 0]) for i, text in enumerate(TEXTS[:8])]
    file = place.rows("named.jsonl", rows)
    return {"a": {"kind": "classification", "train": file, "dev": file, "head": HEAD}}


def test_label_attention_begins_from_the_words_of_the_labels(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    seen = place.learn(named(place), "words", conditioning="label_attention")
    before = seen.updates[0].before
    table, norm = before["encoder.embeddings.words.weight"], "encoder.embeddings.norm"
    labels = seen.network.targets["a"].labels  # type: ignore[attr-defined]
    for label, found in zip(labels, before["conditioner.labels.<a>"], strict=True):
        (encoded,) = tiny_tokenizers["wordpiece"].encode([label.replace("-", " ")], max_length=24)
        rows = table[torch.tensor(encoded.ids[1:-1])]
        rows = torch.nn.functional.layer_norm(
            rows, rows.shape[1:], before[f"{norm}.weight"], before[f"{norm}.bias"], eps=1e-12
        )
        torch.testing.assert_close(found, rows.mean(0), rtol=1e-4, atol=1e-5)


def test_label_attention_begins_from_the_states_of_rows_without_dropout(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    conditioning = {"kind": "label_attention", "init": "class_mean"}
    seen = place.learn(named(place), "means", conditioning=conditioning)
    encoder = weft.load_encoder(place.encoder).encoder.eval()
    before = seen.updates[0].before["conditioner.labels.<a>"]
    labels = seen.network.targets["a"].labels  # type: ignore[attr-defined]
    for label, found in zip(labels, before, strict=True):
        texts = [text for i, text in enumerate(TEXTS[:8]) if (i % 3 == 0) == (label == "quick-fox")]
        rows = [one.ids for one in tiny_tokenizers["wordpiece"].encode(texts, max_length=24)]
        with torch.no_grad():
            states = torch.stack([encoder(pack([row])).first()[0] for row in rows])
        torch.testing.assert_close(found, states.mean(0), rtol=1e-4, atol=1e-5)


def test_an_encoder_begins_with_the_weights_of_its_checkpoint_and_no_pooler(place: Place) -> None:
    seen = place.learn({"a": place.task("a", 4)}, "checkpoint")
    source = dict(weft.load_encoder(place.encoder).encoder.named_parameters())
    found = {n.removeprefix("encoder."): v for n, v in seen.updates[0].before.items() if n.startswith("encoder.")}
    assert found.keys() == {name for name in source if not name.startswith("pooler.")}
    assert all(torch.equal(value, source[name]) for name, value in found.items())
    assert load_network(place.folder / "checkpoint.running" / "best" / "overall").encoder.pooler is None
