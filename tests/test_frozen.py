"""Layers that do not learn: their states are computed once, without dropout, the same whatever ran before."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from shared_runs import FOX, LONG, TAGS, Run, make_files, result, runner
from weft.checkpoints.safetensors import read_file
from weft.conditioning import Conditioning, NetworkShape
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.spec import parse
from weft.tensors import Batch
from weft.tokenization.tokenizer import Tokenizer
from weft.training import frozen as freezing
from weft.training.frozen import KeptStates
from weft.training.shared import Shared

PAIRS = {"kind": "pair_classification", "train": "pairs.csv", "label": "same", "encode": "siamese"}
CONFIGS: dict[str, dict[str, Any]] = {
    "two tasks on one file": {"tasks": {"fox": FOX, "long": LONG}},
    "tagging and pairs": {"tasks": {"words": TAGS, "pairs": PAIRS}},
    "task attention": {"tasks": {"fox": FOX}, "conditioning": {"kind": "task_attention"}},
    "all layers read": {"tasks": {"fox": {**FOX, "pooling": {"kind": "last_layers"}}}},
}
RATE = {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2}
ALONE = {
    **RATE,
    "baselines": False,
}  # of which one computes the states of the encoder as it was, before anything learns


def frozen(config: dict[str, Any], encoder: str, layers: int = 0) -> dict[str, Any]:
    return {"training": RATE, **config, "encoder": {"from": encoder, "train_layers": layers}}


def tensors(folder: Path) -> dict[str, Tensor]:
    return read_file(folder / "model.safetensors")


@pytest.fixture
def run(tmp_path: Path, small_encoder: str, tiny_tokenizers: dict[str, Tokenizer]) -> Run:
    """Trains a config on the files of `tmp_path`."""
    return runner(make_files(tmp_path, tiny_tokenizers["wordpiece"]), small_encoder)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of every batch whose frozen states are computed."""
    rows: list[int] = []
    compute = Encoder.lower_states

    def counted(self: Encoder, batch: Batch, layers: Sequence[int]) -> dict[int, Tensor]:
        rows.append(batch.rows)
        return compute(self, batch, layers)

    monkeypatch.setattr(Encoder, "lower_states", counted)
    return rows


@pytest.mark.parametrize("layers", [0, 1])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_frozen_run_gives_the_same_bits_whatever_ran_before(
    run: Run, small_encoder: str, name: str, layers: int
) -> None:
    shared, config = Shared(), frozen(CONFIGS[name], small_encoder, layers)
    alone = result(run(config))
    run({**config, "seed": 4}, shared)
    limited = {key: {**task, "limit": 20} for key, task in config["tasks"].items()}
    run({**config, "tasks": limited}, shared)
    assert result(run(config, shared)) == alone


@pytest.mark.parametrize("layers", [0, 1])
@pytest.mark.parametrize("name", CONFIGS)
def test_states_computed_once_give_what_states_computed_each_time_give(
    run: Run, small_encoder: str, name: str, layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = frozen(CONFIGS[name], small_encoder, layers)
    once = run(config)
    monkeypatch.setattr(freezing, "_MOST_OF_A_RUN", 0)
    each_time = run(config)
    measured, expected = (json.loads((folder / "metrics.json").read_text()) for folder in (once, each_time))
    for task, scores in expected.items():
        assert measured[task] == pytest.approx(scores, abs=1e-5)
    for name, weights in tensors(each_time).items():
        assert torch.allclose(tensors(once)[name], weights, atol=1e-5), name


def test_states_are_computed_once_for_all_epochs_evaluations_and_runs(
    run: Run, small_encoder: str, computed: list[int]
) -> None:
    shared, config = Shared(), frozen({"tasks": {"fox": FOX, "long": LONG}}, small_encoder)
    run(config, shared)
    assert sorted(computed) == [16, 32, 32]  # 48 rows to learn from and choose by, 32 of the test file
    run({**config, "seed": 9}, shared)  # other rows to choose by
    assert len(computed) == 3


def test_runs_that_read_other_layers_share_no_states(run: Run, small_encoder: str) -> None:
    shared, several = Shared(), {"tasks": {"fox": {**FOX, "pooling": {"kind": "last_layers"}}}}
    run(frozen({"tasks": {"fox": FOX}}, small_encoder), shared)
    config = frozen(several, small_encoder)
    assert result(run(config, shared)) == result(run(config))


def test_without_room_states_are_computed_where_they_are_needed(
    run: Run, small_encoder: str, computed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "_MOST_OF_A_RUN", 0)
    run(frozen({"tasks": {"fox": FOX}}, small_encoder))
    assert sum(computed) > 2 * 48 - 10  # every row to learn from, in each epoch


def test_layers_that_do_not_learn_have_no_dropout(run: Run, small_encoder: str, tmp_path: Path) -> None:
    wild = tmp_path / "wild"
    shutil.copytree(small_encoder, wild)
    config = json.loads((wild / "config.json").read_text())
    chances = {"hidden_dropout_prob": 0.9, "attention_probs_dropout_prob": 0.9}
    (wild / "config.json").write_text(json.dumps({**config, **chances}))
    steps = {"tasks": {"fox": FOX}, "training": ALONE, "phases": [{}]}  # no fit, which reads all rows before
    plain, without = (tensors(run(frozen(steps, str(folder)))) for folder in (small_encoder, wild))
    assert all(torch.equal(plain[name], without[name]) for name in plain)
    upper = (tensors(run(frozen(steps, str(folder), 1))) for folder in (small_encoder, wild))
    assert not all(torch.equal(*pair) for pair in zip(*(one.values() for one in upper), strict=True))


def test_only_the_layers_above_learn(run: Run, small_encoder: str) -> None:
    steps = {"tasks": {"fox": FOX}, "phases": [{}]}
    before = tensors(run(frozen(steps, small_encoder)))
    after = tensors(run(frozen(steps, small_encoder, 1)))
    changed = {name.split(".")[2] for name in before if "blocks" in name and not torch.equal(before[name], after[name])}
    assert changed == {"1"}


@pytest.mark.parametrize("order", [(0, "all"), ("all", 0), (1, 0), (0, 1, "all", 0)])
def test_phases_see_the_layers_as_they_are_then(
    run: Run, small_encoder: str, order: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    phases = [{"train_layers": layers, "epochs": 2} for layers in order]
    config = {"tasks": {"fox": FOX, "long": LONG}, "phases": phases, "training": {**ALONE, "learning_rate": 1e-3}}
    shared = Shared()
    run({**config, "phases": [{"train_layers": layers} for layers in (0, 1)]}, shared)  # states as they were loaded
    once = [run(config, one) for one in (None, shared, shared)]
    monkeypatch.setattr(freezing, "_MOST_OF_A_RUN", 0)
    each_time = tensors(run(config))
    assert result(once[0]) == result(once[1]) == result(once[2])
    assert all(torch.allclose(weights, each_time[name], atol=1e-4) for name, weights in tensors(once[0]).items())
    found, expected = (json.loads((folder / "metrics.json").read_text()) for folder in (once[0], run(config)))
    assert {task: pytest.approx(scores, abs=1e-5) for task, scores in found.items()} == expected


def test_a_method_that_reaches_into_the_encoder_says_so() -> None:
    config = EncoderConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
    shape = NetworkShape(config, ("t",), {"t": ("a", "b")}, {"t": torch.sum})
    outside = {kind for kind in Conditioning.kinds() if kind != "combined"}
    outside = {kind for kind in outside if not parse(Conditioning, {"kind": kind}).build(shape).reaches_inside}
    assert outside == {"none", "task_attention"}
    for methods, inside in ((["task_attention"], False), (["task_attention", "lora"], True)):
        combined = parse(Conditioning, {"kind": "combined", "methods": [{"kind": kind} for kind in methods]})
        assert combined.build(shape).reaches_inside == inside


def test_a_method_inside_the_encoder_learns_in_a_frozen_one(run: Run, small_encoder: str, computed: list[int]) -> None:
    config = frozen({"tasks": {"fox": FOX}, "conditioning": {"kind": "lora"}, "training": ALONE}, small_encoder)
    learned = tensors(run(config))
    assert not computed
    assert any(bool(weights.any()) for name, weights in learned.items() if name.startswith("conditioner."))


def test_states_that_were_not_used_for_the_longest_time_give_way() -> None:
    kept = KeptStates(most=800)
    for name in "ab":
        kept.put(name, {0: torch.zeros(100)})
    kept.get("a")
    kept.put("c", {0: torch.zeros(100)})
    assert kept.get("b") is None
    assert kept.get("a") is not None
    assert kept.bytes == 800
