"""Any number of L labels per row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from weft.baselines.tfidf import majority_label_sets, tfidf_label_sets
from weft.data.records import Example, Gold, Prediction
from weft.losses import Loss, LossFunction, TargetType
from weft.metrics.bootstrap import intervals_of
from weft.metrics.calibration import fit_temperature_binary
from weft.metrics.multilabel import label_matrix, matrix_scores, multilabel_per_class
from weft.metrics.thresholds import best_threshold
from weft.targets import Measures, RowTarget

_LEAST = 10  # rows with and without a label from which its threshold is tuned


@dataclass(frozen=True)
class LabelsTarget(RowTarget):
    """The labels in order, their training counts, and from which probability each is given."""

    target_type: ClassVar[TargetType] = "labels"
    metrics: ClassVar[tuple[str, ...]] = ("f1_micro", "f1_macro", "precision_micro", "recall_micro", "exact_match")

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    rows: int
    temperature: float = 1.0
    thresholds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))  # lists, when read from JSON
        object.__setattr__(self, "counts", tuple(self.counts))
        object.__setattr__(self, "thresholds", tuple(self.thresholds) or (0.5,) * len(self.labels))

    @classmethod
    def learn(cls, golds: Iterable[Any], labels: Sequence[str] | None = None) -> LabelsTarget:
        """The labels that occur, by name, or those given."""
        sets = list(golds)
        counts = Counter(label for labels in sets for label in labels)
        names = tuple(labels) if labels else tuple(sorted(counts))
        return cls(names, tuple(counts[name] for name in names), len(sets))

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.labels), "labels")

    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        return torch.from_numpy(label_matrix([_names(gold) for gold in golds], self.labels)).float()

    def build_loss(self, loss: Loss) -> LossFunction:
        return loss.build(self.counts, self.rows)

    def decode(self, scores: Tensor) -> list[Prediction]:
        likely = torch.sigmoid(scores.float() / self.temperature)
        return [
            {
                "labels": [name for name, p, t in zip(self.labels, row, self.thresholds, strict=True) if p >= t],
                "scores": dict(zip(self.labels, row, strict=True)),
            }
            for row in likely.tolist()
        ]

    def calibrated(self, scores: Tensor, golds: Sequence[Gold], metric: str) -> LabelsTarget:
        gold = self.tensor(golds).numpy().astype(np.int64)
        temperature = fit_temperature_binary(scores.float().numpy(), gold)
        likely = torch.sigmoid(scores.float() / temperature).numpy()
        thresholds = tuple(_threshold(likely[:, i], gold[:, i]) for i in range(len(self.labels)))
        return replace(self, temperature=temperature, thresholds=thresholds)

    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        names, answers = [_names(gold) for gold in golds], [row["labels"] for row in predictions]
        gold, answer = label_matrix(names, self.labels), label_matrix(answers, self.labels)
        scores = matrix_scores(gold, answer)
        details = {"labels": list(self.labels), "per_class": multilabel_per_class(names, answers, self.labels)}
        if not intervals:
            return Measures(scores, {}, details)

        def resampled(rows: Any) -> dict[str, float]:
            return matrix_scores(gold[rows], answer[rows])

        return Measures(scores, intervals_of(resampled, len(gold), self.metrics), details)

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [{"labels": labels} for labels in majority_label_sets([_names(row.gold) for row in train], len(rows))]

    def simple(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        golds = [_names(row.gold) for row in train]
        sets = tfidf_label_sets([row.texts[0] for row in train], golds, [row.texts[0] for row in rows])
        return [{"labels": labels} for labels in sets]


def _threshold(likely: Any, gold: Any) -> float:
    """The label's best threshold by F1; 0.5 where it gains nothing by moving, or has too few rows to say."""
    if min(gold.sum(), (1 - gold).sum()) < _LEAST:
        return 0.5
    best = best_threshold(likely, gold)
    f1 = [2 * ((likely >= t) & (gold == 1)).sum() / ((likely >= t).sum() + gold.sum()) for t in (0.5, best)]
    return best if f1[1] > f1[0] else 0.5


def _names(gold: Gold) -> tuple[str, ...]:
    return cast(tuple[str, ...], gold)
