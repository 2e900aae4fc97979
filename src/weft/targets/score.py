"""A number per row."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from weft.baselines.tfidf import mean_scores, tfidf_pair_scores, tfidf_scores
from weft.data.records import Example, Gold, Prediction
from weft.losses import Loss, LossFunction, TargetType
from weft.metrics.bootstrap import intervals_of
from weft.metrics.regression import regression_scores
from weft.targets import Measures, RowTarget, pairs_of

ScoreActivation = Literal["sigmoid", "linear", "cosine"]


@dataclass(frozen=True)
class ScoreTarget(RowTarget):
    """The range of the scores, and how a head's output reaches it.

    `sigmoid`: low + (high - low) · sigmoid(x). `cosine`: the same with relu(x) of a cosine. `linear`: mean + spread ·
    x, not bounded. Losses see scores in units of the training scores' spread, so that predicting the mean costs 1
    whatever the scale.
    """

    target_type: ClassVar[TargetType] = "score"
    metrics: ClassVar[tuple[str, ...]] = ("pearson", "spearman")

    low: float
    high: float
    mean: float
    std: float
    activation: ScoreActivation = "sigmoid"

    @classmethod
    def learn(
        cls, golds: Iterable[Any], scale: tuple[float, float] | None = None, activation: ScoreActivation = "sigmoid"
    ) -> ScoreTarget:
        """The range of the scores that occur, or the scale given."""
        scores = [float(gold) for gold in golds]
        low, high = scale or (min(scores), max(scores))
        return cls(low, high, statistics.fmean(scores), statistics.pstdev(scores) or 1.0, activation)

    def outputs(self, loss: Loss) -> int:
        return 1

    def values(self, scores: Tensor) -> Tensor:
        """Scores of a head, (B, 1), on the scale of the data, (B,)."""
        x = scores.squeeze(1)
        if self.activation == "linear":
            return self.mean + self.std * x
        unit = torch.sigmoid(x) if self.activation == "sigmoid" else torch.relu(x)
        return self.low + (self.high - self.low) * unit

    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        return torch.tensor([float(gold) for gold in golds])  # type: ignore[arg-type]

    def build_loss(self, loss: Loss) -> LossFunction:
        compute = loss.build((), None)

        def scaled(scores: Tensor, targets: Tensor) -> Tensor:
            return compute((self.values(scores) - self.mean) / self.std, (targets - self.mean) / self.std)

        return scaled

    def decode(self, scores: Tensor) -> list[Prediction]:
        return [{"score": value} for value in self.values(scores.float()).tolist()]

    def calibrated(self, scores: Tensor, golds: Sequence[Gold], metric: str) -> ScoreTarget:
        return self

    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        gold = np.array([float(one) for one in golds])  # type: ignore[arg-type]
        answer = np.array([row["score"] for row in predictions])
        scores = regression_scores(gold, answer)
        if not intervals:
            return Measures(scores)

        def resampled(rows: Any) -> dict[str, float]:
            return regression_scores(gold[rows], answer[rows])

        return Measures(scores, intervals_of(resampled, len(gold), self.metrics, rounds=300))

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [{"score": score} for score in mean_scores(_scores(train), len(rows))]

    def simple(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        if len(train[0].texts) == 2:
            scores = tfidf_pair_scores(pairs_of(train), _scores(train), pairs_of(rows))
        else:
            scores = tfidf_scores([row.texts[0] for row in train], _scores(train), [row.texts[0] for row in rows])
        return [{"score": score} for score in scores]


def _scores(rows: Sequence[Example]) -> list[float]:
    return [float(row.gold) for row in rows]  # type: ignore[arg-type]
