"""Any number of L labels per row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from torch import Tensor

from weft.baselines.majority import majority_label_sets
from weft.baselines.tfidf import tfidf_label_sets
from weft.data.cells import is_blank
from weft.data.predictions import LabelsPrediction, Prediction
from weft.data.records import Example, Gold, Input
from weft.losses import Loss, LossFunction, TargetType
from weft.losses.binary import Binary
from weft.metrics.calibration import fit_temperature_binary
from weft.metrics.multilabel import label_matrix
from weft.metrics.outcomes.counts import LabelSetOutcomes
from weft.metrics.thresholds import MINIMUM, choose_threshold
from weft.metrics.wrong_rows import Mistake
from weft.targets import Target, confidences
from weft.targets.base.disagreement import between_chances
from weft.targets.base.reading import read_label
from weft.targets.base.row import FittedRowTarget
from weft.tensors import Batch, Scores


@dataclass(frozen=True)
class LabelsTarget(Target):
    """Any of the labels per row.

    A cell is a JSON list, or one text with `separator` between the labels. A blank cell means that the row has no
    answer; a lone separator, or an empty list, that no label applies (which a task may say of blank cells, too).
    """

    target_type: ClassVar[TargetType] = "labels"
    metrics: ClassVar[tuple[str, ...]] = ("f1_micro", "f1_macro", "precision_micro", "recall_micro", "exact_match")
    multilabel: ClassVar[bool] = True
    labels_rows: ClassVar[bool] = True

    default_metric: str = "f1_micro"
    separator: str = "|"

    @property
    def fitted(self) -> type[FittedLabels]:
        return FittedLabels

    @property
    def default_loss(self) -> Loss:
        return Binary()

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        if is_blank(cell):
            return None
        parts = cell if isinstance(cell, list | tuple) else str(cell).split(self.separator)
        labels = (read_label(part, self.labels) for part in parts)
        return tuple(dict.fromkeys(label for label in labels if label is not None))

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        return list(_names(gold))

    def key(self, gold: Gold) -> Hashable:
        return frozenset(_names(gold))  # in whatever order they were written

    def labels_in(self, gold: Gold) -> Iterable[str]:
        return _names(gold)

    def gold_of(self, label: str) -> Gold:
        return (label,)

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        first, second = (*self.labels, "x", "y")[:2]
        golds = [(first,), (first, second), (), (second,)]
        return [golds[row % len(golds)] for row in range(len(inputs))]

    def fit(self, golds: Iterable[Gold]) -> FittedLabels:
        """The labels that occur, by name, or those of the options."""
        sets = [_names(gold) for gold in golds]
        counts = Counter(label for labels in sets for label in labels)
        names = self.labels or tuple(sorted(counts))
        return FittedLabels(self, names, tuple(counts[name] for name in names), len(sets))


@dataclass(frozen=True)
class FittedLabels(FittedRowTarget):
    """The labels in order, their training counts, and from which probability each is given."""

    target: LabelsTarget
    counts: tuple[int, ...]
    rows: int
    temperature: float = 1.0
    thresholds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "counts", tuple(self.counts))
        object.__setattr__(self, "thresholds", tuple(self.thresholds) or (0.5,) * len(self.labels))

    @property
    def label_counts(self) -> tuple[int, ...]:
        return self.counts

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.labels), "labels")

    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        return torch.from_numpy(label_matrix([_names(gold) for gold in golds], self.labels)).float()

    def perfect_scores(self, gold: Tensor, loss: Loss) -> Tensor:
        return (gold * 2 - 1) * 20.0

    def row_loss(self, loss: Loss) -> LossFunction:
        return loss.build(self.counts, self.rows)

    def disagreement(self, first: Scores, second: Scores, batch: Batch) -> Tensor:
        return between_chances(first.values, second.values)

    def decode_rows(self, scores: Tensor) -> list[Prediction]:
        likely = torch.sigmoid(scores.float() / self.temperature)
        return [
            LabelsPrediction(
                tuple(name for name, p, t in zip(self.labels, row, self.thresholds, strict=True) if p >= t),
                dict(zip(self.labels, row, strict=True)),
                self.target.separator,
            )
            for row in likely.tolist()
        ]

    def calibrate_rows(self, scores: Tensor, golds: Sequence[Gold], metric: str) -> Self:
        gold = self.tensor(golds).numpy().astype(np.int64)
        temperature = fit_temperature_binary(scores.float().numpy(), gold)
        likely = torch.sigmoid(scores.float() / temperature).numpy()
        thresholds = tuple(_threshold(likely[:, i], gold[:, i], metric) for i in range(len(self.labels)))
        return replace(self, temperature=temperature, thresholds=thresholds)

    def without_thresholds(self) -> Self:
        return replace(self, thresholds=())

    def find_mistake(self, gold: Gold, prediction: Prediction) -> Mistake | None:
        """As sure as the surest of its wrong labels, given or left out."""
        true, given = set(_names(gold)), set(_names(prediction.gold))
        scores = prediction.label_scores()
        wrong = [scores[label] if label in given else 1 - scores[label] for label in true ^ given if label in scores]
        in_words = [", ".join(name for name in self.labels if name in names) or "–" for names in (true, given)]
        return None if true == given else Mistake(in_words[0], in_words[1], max(wrong, default=None))

    def outcomes(
        self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]
    ) -> LabelSetOutcomes:
        gold = label_matrix([_names(gold) for gold in golds], self.labels).astype(np.int64)
        given = label_matrix([_names(prediction.gold) for prediction in predictions], self.labels).astype(np.int64)
        return LabelSetOutcomes(
            lines=np.asarray(lines),
            scores=confidences(predictions),
            labels=self.labels,
            hits=gold * given,
            predicted=given,
            gold=gold,
        )

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        sets = majority_label_sets([_names(row.gold) for row in train], len(rows))
        return [LabelsPrediction(tuple(labels)) for labels in sets]

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        golds = [_names(row.gold) for row in train]
        sets = tfidf_label_sets([row.texts[0] for row in train], golds, [row.texts[0] for row in rows])
        return [LabelsPrediction(tuple(labels)) for labels in sets]

    def label_loss(self, scores: Tensor) -> Tensor:
        gold = torch.eye(len(self.labels)).to(scores)
        each = torch.nn.functional.binary_cross_entropy_with_logits(scores, gold, reduction="none")
        return each.mean(1).sum()  # one loss per label, as large as the task's own

    def explain_row(self, scores: Tensor, prediction: Prediction) -> tuple[tuple[str, ...], Tensor]:
        """The scores of all given labels are added; where none was given, the likeliest stands for them."""
        given = _names(prediction.gold) or (self.labels[int(scores.argmax())],)
        return given, scores[[self.labels.index(label) for label in given]].sum()

    def support(self, prediction: Prediction, other: Prediction, kept: Sequence[int]) -> float:
        """The mean over the given labels; where none was given, the likeliest stands for them."""
        given = _names(prediction.gold) or (max(self.labels, key=prediction.label_scores().__getitem__),)
        return sum(other.label_scores()[label] for label in given) / len(given)


def _threshold(likely: Any, gold: Any, metric: str) -> float:
    """The threshold of one label, by the metric over its rows alone."""

    def value(threshold: float) -> float:
        marks = {"gold": gold[:, None], "predicted": (likely >= threshold).astype(np.int64)[:, None]}
        hits = marks["gold"] * marks["predicted"]
        outcomes = LabelSetOutcomes(lines=np.arange(len(gold)), scores=likely, labels=("",), hits=hits, **marks)
        return float(outcomes.measure(metric)[0])

    carried = int(gold.sum())
    return choose_threshold(likely, value, carried if len(gold) - carried >= MINIMUM else 0)


def _names(gold: Gold) -> tuple[str, ...]:
    return cast(tuple[str, ...], gold)
