"""How good a network is on gold rows, with intervals, and beside baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from weft.data.dataset import Dataset
from weft.data.records import Example, Prediction
from weft.errors import DataError
from weft.model.network import Network
from weft.model.predict import WINDOW, score
from weft.targets import Measures, Target
from weft.tasks.base.examples import labels_of
from weft.tensors import Scores
from weft.tokenization.examples import TokenizedExample


@dataclass(frozen=True)
class TaskResult:
    """One task's measures on some rows, and what simple methods reach on the same."""

    metric: str  # the one chosen by
    rows: int
    measures: Measures
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def value(self) -> float:
        return self.measures.scores[self.metric]

    @property
    def gain(self) -> float:
        """How much better than always giving the commonest answer."""
        return self.value - self.baselines.get("majority", {}).get(self.metric, 0.0)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def evaluate(network: Network, rows: Mapping[str, Sequence[Example]], intervals: bool = True) -> dict[str, TaskResult]:
    """Every task's result on its rows."""
    network.eval()
    results = {}
    for task, examples in rows.items():
        target = network.targets[task]
        check_rows(task, target, examples)
        together = WINDOW if network.tasks[task].reads_corpus else len(examples)  # a corpus may not fit into memory
        predictions: list[Prediction] = []
        for first in range(0, len(examples), together):
            scores, tokenized = score_examples(network, task, examples[first : first + together])
            predictions += target.predictions(scores, tokenized)
        measures = target.measure([one.gold for one in examples], predictions, intervals)
        results[task] = TaskResult(network.metric(task), len(examples), measures)
    return results


def check_rows(task: str, target: Target, examples: Sequence[Example]) -> None:
    """Raise where there is nothing to measure, or a label that the network cannot give."""
    if not examples:
        raise DataError(f"task {task!r}: there are no rows to measure on")
    known = set(getattr(target, "labels", ()))
    unknown = [one for one in examples if not known.issuperset(labels_of([one]))]
    if unknown:
        raise DataError(
            f"task {task!r}: {len(unknown):,} of {len(examples):,} rows, the first in line {unknown[0].line}, have a "
            f"label that the model does not know; it knows: {', '.join(sorted(known))}"
        )


def score_examples(network: Network, task: str, examples: Sequence[Example]) -> tuple[Scores, list[TokenizedExample]]:
    """Raw scores of a task's examples, and what they are about."""
    tokenized = network.encode(task, examples)
    return score(network, {task: tokenized})[task], tokenized


def calibrate(network: Network, rows: Mapping[str, Sequence[Example]]) -> dict[str, Target]:
    """Every task's target with temperature and thresholds fitted on rows not trained on."""
    network.eval()
    fitted = {}
    for task, examples in rows.items():
        if examples:
            scores, tokenized = score_examples(network, task, examples)
            fitted[task] = network.targets[task].fitted(scores, examples, tokenized, network.metric(task))
    return fitted


def measure_baselines(
    target: Target, train: Dataset, rows: Sequence[Example], only_majority: bool = False
) -> dict[str, dict[str, float]]:
    """What the commonest answer and a method without an encoder reach, by metric."""
    golds = [one.gold for one in rows]
    found = {"majority": target.majority(train, rows)}
    if not only_majority:
        found[target.without_encoder] = target.simple(train, rows)
    return {name: target.measure(golds, predictions, intervals=False).scores for name, predictions in found.items()}


def overall(results: Mapping[str, TaskResult]) -> float:
    """The mean gain over each task's own majority baseline; never a mean of unlike metrics."""
    return sum(result.gain for result in results.values()) / len(results)
