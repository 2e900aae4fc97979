"""One of L labels per row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from torch import Tensor

from weft.baselines.majority import majority_labels
from weft.baselines.tfidf import tfidf_labels, tfidf_pair_labels
from weft.data.predictions import LabelPrediction, Prediction
from weft.data.records import Example, Gold, Input
from weft.losses import Loss, LossFunction, TargetType
from weft.losses.cross_entropy import CrossEntropy
from weft.metrics.calibration import fit_temperature, reliability
from weft.metrics.classification import count, label_ids
from weft.metrics.outcomes import Outcomes
from weft.metrics.outcomes.label import LabelOutcomes
from weft.metrics.sections import Calibration, ConfusionMatrix, Section
from weft.metrics.thresholds import MINIMUM, choose_threshold
from weft.metrics.wrong_rows import Mistake
from weft.targets import FittedRowTarget, Measures, Target, as_logits, confidences, text_pairs
from weft.targets.base.reading import read_label


@dataclass(frozen=True)
class LabelTarget(Target):
    """One of the labels per row; those that occur in training where the options name none."""

    target_type: ClassVar[TargetType] = "label"
    labels_rows: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = (
        *("accuracy", "f1_macro", "f1_micro", "precision_macro", "recall_macro", "matthews_correlation"),
    )

    default_metric: str = "f1_macro"

    @property
    def fitted(self) -> type[FittedLabel]:
        return FittedLabel

    @property
    def default_loss(self) -> Loss:
        return CrossEntropy()

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        return read_label(cell, self.labels)

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        return gold

    def labels_in(self, gold: Gold) -> Iterable[str]:
        return (str(gold),)

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        names = self.labels or ("a", "b")
        return [names[row % len(names)] for row in range(len(inputs))]

    def fit(self, golds: Iterable[Gold]) -> FittedLabel:
        """The labels of the options, or those that occur: numbers in the order of numbers, words in that of words."""
        counts = Counter(map(str, golds))
        names = self.labels or tuple(sorted(counts, key=natural))
        return FittedLabel(self, names, tuple(counts[name] for name in names))


@dataclass(frozen=True)
class FittedLabel(FittedRowTarget):
    """The labels in order, how often each occurred in training, and how the model's confidence is to be read.

    With two labels, a row gets the second where its probability reaches `threshold`; otherwise the likeliest wins.
    """

    target: LabelTarget
    counts: tuple[int, ...]
    temperature: float = 1.0
    threshold: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "counts", tuple(self.counts))

    @property
    def label_counts(self) -> tuple[int, ...]:
        return self.counts

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.labels), "label")

    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        indices = {label: index for index, label in enumerate(self.labels)}
        return torch.tensor([indices[str(gold)] for gold in golds])

    def row_loss(self, loss: Loss) -> LossFunction:
        return loss.build(self.counts, sum(self.counts))

    def probabilities(self, scores: Tensor) -> Tensor:
        """(B, O) → (B, L)."""
        return torch.softmax(as_logits(scores.float()) / self.temperature, 1)

    def decode_rows(self, scores: Tensor) -> list[Prediction]:
        likely = self.probabilities(scores)
        best = (likely[:, 1] >= self.threshold).long() if len(self.labels) == 2 else likely.argmax(1)
        chosen = likely.gather(1, best.unsqueeze(1)).squeeze(1)
        return [
            LabelPrediction(self.labels[index], score, dict(zip(self.labels, row, strict=True)))
            for index, score, row in zip(best.tolist(), chosen.tolist(), likely.tolist(), strict=True)
        ]

    def calibrate_rows(self, scores: Tensor, golds: Sequence[Gold], metric: str) -> Self:
        gold = self.tensor(golds).numpy()
        temperature = fit_temperature(as_logits(scores.float()).numpy(), gold)
        fitted = replace(self, temperature=temperature, threshold=0.5)
        if len(self.labels) != 2:
            return fitted
        likely = fitted.probabilities(scores)[:, 1].numpy()

        def value(threshold: float) -> float:
            given, rows = (likely >= threshold).astype(np.int64), np.arange(len(gold))
            outcomes = LabelOutcomes(lines=rows, scores=likely, labels=self.labels, gold=gold, predicted=given)
            return float(outcomes.measure(metric)[0])

        both = min(gold.sum(), (1 - gold).sum()) >= MINIMUM
        return replace(fitted, threshold=choose_threshold(likely, value, len(gold) if both else 0))

    def outcomes(self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]) -> LabelOutcomes:
        return LabelOutcomes(
            lines=np.asarray(lines),
            scores=confidences(predictions),
            labels=self.labels,
            gold=label_ids([str(gold) for gold in golds], self.labels),
            predicted=label_ids([str(prediction.gold) for prediction in predictions], self.labels),
        )

    def details(self, golds: Sequence[Gold], predictions: Sequence[Prediction], outcomes: Outcomes) -> dict[str, Any]:
        given = cast(LabelOutcomes, outcomes)
        details = super().details(golds, predictions, outcomes)
        details["confusion"] = count(given.gold, given.predicted, len(self.labels)).tolist()
        if not np.isnan(given.scores).any():  # baselines have no confidence
            details["reliability"] = reliability(given.scores, given.right)
        return details

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [LabelPrediction(label) for label in majority_labels([str(row.gold) for row in train], len(rows))]

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        golds = [str(row.gold) for row in train]
        if len(train[0].texts) == 2:
            labels = tfidf_pair_labels(text_pairs(train), golds, text_pairs(rows))
        else:
            labels = tfidf_labels([row.texts[0] for row in train], golds, [row.texts[0] for row in rows])
        return [LabelPrediction(label) for label in labels]

    def label_loss(self, scores: Tensor) -> Tensor:
        gold = torch.arange(len(self.labels), device=scores.device)
        return torch.nn.functional.cross_entropy(as_logits(scores), gold, reduction="sum")

    def explain_row(self, scores: Tensor, prediction: Prediction) -> tuple[tuple[str, ...], Tensor]:
        """Where one score stands for two labels, that of the first label is its negative."""
        ((label, _),) = prediction.given()
        index = self.labels.index(label)
        if len(scores) == 1:
            return (label,), scores[0] if index else -scores[0]
        return (label,), scores[index]

    def without_thresholds(self) -> Self:
        return replace(self, threshold=0.5)

    def find_mistake(self, gold: Gold, prediction: Prediction) -> Mistake | None:
        ((label, score),) = prediction.given()
        return None if label == gold else Mistake(str(gold), label, score)

    def support(self, prediction: Prediction, other: Prediction, kept: Sequence[int]) -> float:
        ((label, _),) = prediction.given()
        return other.label_scores()[label]

    def report_sections(self, measures: Measures) -> list[Section]:
        details = measures.details
        sections = super().report_sections(measures)
        sections.append(ConfusionMatrix(details["labels"], details["confusion"]))
        if "reliability" in details:  # baselines have no confidence
            sections.append(Calibration(details["reliability"], measures.scores["calibration_error"]))
        return sections


def natural(label: str) -> tuple[int, float, str]:
    """Sorts numbers as numbers, before words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
