"""Dev rows: tokenized once in a run, scored once by the weights that are chosen; targets are never swapped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from recorder import TEXTS, Place, make_place
from weft.data.records import Input
from weft.model import evaluate as model_evaluate
from weft.model.evaluate import evaluate
from weft.model.folder import load_network
from weft.model.network import Network
from weft.tensors import Batch
from weft.tokenization.tokenizer import Tokenizer
from weft.training import dev_rows as dev

ROWS, DEV = 6, 9


@pytest.fixture
def place(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path, tiny_tokenizers["wordpiece"], 0.0)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many rows to measure on were tokenized and how many scored, of each task."""
    found: Counter[str] = Counter()
    groups, scores, forward = model_evaluate.groups, Network.scores, Network.forward
    learning = False

    def count_tokenized(network: Network, window: Sequence[Mapping[str, Input]], *rest: Any) -> Any:
        found.update(f"{task} tokenized" for row in window for task in row)
        return groups(network, window, *rest)

    def count_scored(network: Network, batches: Mapping[str, Batch]) -> Any:
        for task, batch in batches.items():
            found[f"{task} scored"] += 0 if learning else len(batch.outputs_per_example)
        return scores(network, batches)

    def learn(network: Network, batch: Batch, features: bool = False) -> Any:
        nonlocal learning
        learning = True
        result = forward(network, batch, features)
        learning = False
        return result

    monkeypatch.setattr(model_evaluate, "groups", count_tokenized)
    monkeypatch.setattr(Network, "scores", count_scored)
    monkeypatch.setattr(Network, "forward", learn)
    return found


def tasks_of(place: Place) -> dict[str, Any]:
    rows = place.rows("dev.jsonl", [(text, "ab"[i % 2]) for i, text in enumerate(TEXTS[:DEV])])
    return {"a": {**place.task("a", ROWS), "dev": rows}}


@pytest.mark.parametrize("epochs", [1, 3])
def test_dev_rows_are_tokenized_once_and_scored_once_after_each_epoch_and_never_again(
    place: Place, seen: Counter[str], epochs: int
) -> None:
    place.train(tasks_of(place), "once", training={"epochs": epochs})
    assert seen["a tokenized"] == DEV
    assert seen["a scored"] == epochs * DEV


@pytest.mark.parametrize(("changes", "again"), [({"max_dev_rows": 4}, DEV), ({}, 0)])
def test_dev_rows_that_were_not_all_looked_at_are_scored_once_more_for_calibration_and_report(
    place: Place, seen: Counter[str], changes: dict[str, int], again: int
) -> None:
    place.train(tasks_of(place), "more", training=changes)
    assert seen["a scored"] == changes.get("max_dev_rows", DEV) + again


def test_scores_that_would_take_too_much_memory_are_computed_again(
    place: Place, seen: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "_HELD", 2 * DEV - 1)  # two labels
    place.train(tasks_of(place), "large", training={"epochs": 2})
    assert seen["a scored"] == (2 + 2) * DEV  # once for calibration, once for the report


def test_held_scores_are_those_of_the_best_weights_whichever_came_last(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same figures come out when everything is computed again from the folder."""
    for held in (10_000_000, 0):
        monkeypatch.setattr(dev, "_HELD", held)
        settings = {"epochs": 4, "learning_rate": 3e-2, "warmup_ratio": 0}
        place.train(tasks_of(place), f"held-{held}", training=settings)
    with_memory, without = (place.report(f"held-{held}") for held in (10_000_000, 0))
    best = with_memory["best"]["overall"]["step"]
    assert best < with_memory["history"][-1]["step"]
    assert with_memory["tasks"] == without["tasks"]


def test_an_evaluation_with_other_targets_leaves_the_networks_own_in_place(place: Place) -> None:
    place.train(tasks_of(place), "own")
    network = load_network(place.folder / "own")
    own = dict(network.targets)

    class BrokenTarget:
        labels = ("a", "b")
        target = own["a"].target

        def decode(self, *_: Any) -> Any:
            raise ZeroDivisionError

    from weft.data.records import Example

    with pytest.raises(ZeroDivisionError):
        evaluate(network, {"a": [Example(("the fox",), gold="a", line=1)]}, targets={"a": BrokenTarget()})  # type: ignore[dict-item]
    assert network.targets == own
