"""By what the best weights are chosen: dev values, and how far above the commonest answer they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.data.dataset import Dataset
from weft.data.records import Example
from weft.model.evaluate import TaskResult
from weft.model.network import Network


def thin_out(rows: Sequence[Example], limit: int) -> Sequence[Example]:
    """At most `limit` rows, evenly spread over all."""
    if len(rows) <= limit:
        return rows
    return [rows[i * len(rows) // limit] for i in range(limit)]


def majority_value(network: Network, task: str, train: Dataset, rows: Sequence[Example]) -> float:
    """What always giving the commonest answer reaches, by the metric the task is chosen by."""
    target = network.targets[task]
    scores = target.measure([one.gold for one in rows], target.majority(train, rows), intervals=False).scores
    return scores[network.metric(task)]


def with_floor(results: Mapping[str, TaskResult], floor: Mapping[str, float]) -> dict[str, TaskResult]:
    """The results with the majority baseline beside each."""
    return {
        name: TaskResult(result.metric, result.rows, result.measures, {"majority": {result.metric: floor[name]}})
        for name, result in results.items()
    }


def overall(results: Mapping[str, TaskResult]) -> float | None:
    """The mean gain over each task's own majority baseline, None without tasks; never a mean of unlike metrics."""
    return sum(result.gain for result in results.values()) / len(results) if results else None


def gain_of(entry: Mapping[str, Any], chosen: str) -> float | None:
    """The value of an evaluation by which weights are chosen; None where there is none."""
    value: float | None = entry["overall"] if chosen == "overall" else entry["dev"][chosen]
    return value
