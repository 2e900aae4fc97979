"""One of L labels per row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from weft.baselines.tfidf import majority_labels, tfidf_labels, tfidf_pair_labels
from weft.data.records import Example, Gold, Prediction
from weft.losses import Loss, LossFunction, TargetType
from weft.metrics.bootstrap import intervals_of
from weft.metrics.calibration import expected_calibration_error, fit_temperature, reliability
from weft.metrics.classification import count, label_ids, per_class, scores_of
from weft.targets import Measures, RowTarget, as_logits, pairs_of

_LEAST = 10  # rows of each label from which a threshold is tuned


@dataclass(frozen=True)
class LabelTarget(RowTarget):
    """The labels in order, how often each occurred in training, and how the model's confidence is to be read.

    With two labels, a row gets the second where its probability reaches `threshold`; otherwise the likeliest wins.
    """

    target_type: ClassVar[TargetType] = "label"
    metrics: ClassVar[tuple[str, ...]] = (
        *("accuracy", "f1_macro", "f1_micro", "precision_macro", "recall_macro", "matthews_correlation"),
    )

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    temperature: float = 1.0
    threshold: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))  # lists, when read from JSON
        object.__setattr__(self, "counts", tuple(self.counts))

    @classmethod
    def learn(cls, golds: Iterable[Any], labels: Sequence[str] | None = None) -> LabelTarget:
        """The labels that occur, numbers in the order of numbers and words in that of words, or those given."""
        counts = Counter(golds)
        names = tuple(labels) if labels else tuple(sorted(counts, key=natural))
        return cls(names, tuple(counts[name] for name in names))

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.labels), "label")

    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        places = {label: place for place, label in enumerate(self.labels)}
        return torch.tensor([places[str(gold)] for gold in golds])

    def build_loss(self, loss: Loss) -> LossFunction:
        return loss.build(self.counts, sum(self.counts))

    def probabilities(self, scores: Tensor) -> Tensor:
        """(B, O) → (B, L)."""
        return torch.softmax(as_logits(scores.float()) / self.temperature, 1)

    def decode(self, scores: Tensor) -> list[Prediction]:
        likely = self.probabilities(scores)
        best = (likely[:, 1] >= self.threshold).long() if len(self.labels) == 2 else likely.argmax(1)
        chosen = likely.gather(1, best.unsqueeze(1)).squeeze(1)
        return [
            {"label": self.labels[place], "score": score, "scores": dict(zip(self.labels, row, strict=True))}
            for place, score, row in zip(best.tolist(), chosen.tolist(), likely.tolist(), strict=True)
        ]

    def calibrated(self, scores: Tensor, golds: Sequence[Gold], metric: str) -> LabelTarget:
        gold = self.tensor(golds).numpy()
        temperature = fit_temperature(as_logits(scores.float()).numpy(), gold)
        target = replace(self, temperature=temperature, threshold=0.5)
        if len(self.labels) != 2:
            return target
        likely = target.probabilities(scores)[:, 1].numpy()
        return replace(target, threshold=tune_threshold(likely, gold, metric))

    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        names = [str(gold) for gold in golds]
        answers = [row["label"] for row in predictions]
        gold, answer = label_ids(names, self.labels), label_ids(answers, self.labels)
        size = len(self.labels)
        matrix = count(gold, answer, size)
        scores = scores_of(matrix)
        details: dict[str, Any] = {
            "labels": list(self.labels),
            "per_class": per_class(names, answers, self.labels),
            "confusion": matrix.tolist(),
        }
        if all("score" in row for row in predictions):  # baselines have no confidence
            confidence = np.array([row["score"] for row in predictions])
            scores["calibration_error"] = expected_calibration_error(confidence, gold == answer)
            details["reliability"] = reliability(confidence, gold == answer)
        if not intervals:
            return Measures(scores, {}, details)

        def resampled(rows: Any) -> dict[str, float]:
            return scores_of(count(gold[rows], answer[rows], size))

        return Measures(scores, intervals_of(resampled, len(gold), self.metrics), details)

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [{"label": label} for label in majority_labels([str(row.gold) for row in train], len(rows))]

    def simple(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        golds = [str(row.gold) for row in train]
        if len(train[0].texts) == 2:
            labels = tfidf_pair_labels(pairs_of(train), golds, pairs_of(rows))
        else:
            labels = tfidf_labels([row.texts[0] for row in train], golds, [row.texts[0] for row in rows])
        return [{"label": label} for label in labels]


def tune_threshold(likely: Any, gold: Any, metric: str) -> float:
    """The probability from which the second of two labels should be given, for the best value of a metric.

    At most 200 candidates are tried; among equals the nearest to 0.5 wins, so a threshold moves only for a gain. It
    stays where either label has fewer than 10 rows.
    """
    if min(gold.sum(), (1 - gold).sum()) < _LEAST:
        return 0.5
    candidates = sorted(
        {0.5, *np.quantile(likely, np.linspace(0.005, 0.995, 199)).tolist()}, key=lambda t: abs(t - 0.5)
    )
    values = [scores_of(count(gold, (likely >= t).astype(np.int64), 2))[metric] for t in candidates]
    return float(candidates[int(np.argmax(values))])


def natural(label: str) -> tuple[int, float, str]:
    """Sorts numbers as numbers, before words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
