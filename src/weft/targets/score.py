"""A number per row."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from weft.baselines.majority import mean_scores
from weft.baselines.tfidf import tfidf_pair_scores, tfidf_scores
from weft.data.cells import is_blank
from weft.data.numbers import has_decimal_comma, may_part_thousands, read_number
from weft.data.predictions import Prediction, ScorePrediction
from weft.data.records import Example, Gold, Input
from weft.errors import ConfigError, kind_of
from weft.losses import Loss, LossFunction, TargetType
from weft.losses.mse import Mse
from weft.metrics.outcomes.numbers import NumberOutcomes
from weft.targets import Ranking, Target, confidences, text_pairs
from weft.targets.base.row import FittedRowTarget
from weft.tensors import Batch, Scores

ScoreActivation = Literal["sigmoid", "linear", "cosine"]
_WITH_UNIT = re.compile(r"\s*[-+]?\d+(?:\.\d+)?\s*(?:[^\W\d_]{1,3}\b|[%€$£°/])")
_POINT = (
    "; with three digits behind it a comma may be decimal or part thousands: write a point, or "
    "another digit (1,5000), or no comma"
)
_COMMA = "numbers with a decimal comma, read as fractions"


def _received(cell: Any) -> str:
    """What kind of thing stands in place of a number, never what it says, and what to do about it."""
    if may_part_thousands(cell):
        return _POINT
    if not isinstance(cell, str):
        return f", but this is {kind_of(cell)}"
    if _WITH_UNIT.match(cell):
        return "; this is one with more behind it, such as a unit or a sign: write the number alone"
    digits = any(map(str.isdigit, cell))
    return ", but this is a text" if digits else ", but this is a text without a digit; is this the right column?"


def check_scale(scale: tuple[float, float] | None) -> None:
    """Raise ValueError for a scale that does not rise."""
    if scale and scale[0] >= scale[1]:
        raise ValueError(f"scale must rise from low to high; received {list(scale)}")


@dataclass(frozen=True)
class ScoreTarget(Target):
    """A number per row, on a `scale` or on that of the training rows."""

    target_type: ClassVar[TargetType] = "score"
    metrics: ClassVar[tuple[str, ...]] = ("pearson", "spearman")

    default_metric: str = "pearson"
    scale: tuple[float, float] | None = None
    activation: ScoreActivation = "sigmoid"

    @property
    def fitted(self) -> type[FittedScore]:
        return FittedScore

    @property
    def default_loss(self) -> Loss:
        return Mse()

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        if is_blank(cell):
            return None
        try:
            value = read_number(cell)
        except (TypeError, ValueError):
            raise ValueError(f"a score must be a number{_received(cell)}") from None
        if not math.isfinite(value):
            raise ValueError(f"a score must be a finite number; received {value}")
        if self.scale and not self.scale[0] <= value <= self.scale[1]:
            raise ValueError(f"score {value:g} is outside the scale {self.scale[0]:g} … {self.scale[1]:g}")
        return value

    def repair(self, cell: Any, input: Input, column: str) -> tuple[Any, Counter[str]]:
        """The cell as it is, and that its comma is read as a decimal point."""
        comma = has_decimal_comma(cell) and not may_part_thousands(cell)
        return cell, Counter({_COMMA: 1} if comma else {})

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        return gold

    def stratum(self, gold: Gold) -> Hashable:
        return round(_score(gold) * 2)  # to the nearest half

    def summarise(self, golds: Sequence[Gold]) -> dict[str, str]:
        scores = [_score(gold) for gold in golds]
        if not scores:
            return {"scores": "", "mean": ""}
        return {"scores": f"{min(scores):g} … {max(scores):g}", "mean": f"{statistics.fmean(scores):.2f}"}

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        low, high = self.scale or (0.0, 5.0)
        golds = [low, low + 0.8 * (high - low), low + 0.2 * (high - low), high]
        return [golds[row % len(golds)] for row in range(len(inputs))]

    def fit(self, golds: Iterable[Gold]) -> FittedScore:
        """The range of the scores that occur, or the scale of the options."""
        scores = [_score(gold) for gold in golds]
        low, high = self.scale or (min(scores), max(scores))
        return FittedScore(self, low, high, statistics.fmean(scores), statistics.pstdev(scores) or 1.0)


@dataclass(frozen=True)
class FittedScore(FittedRowTarget):
    """The range of the scores, and how a head's output reaches it.

    `sigmoid`: low + (high - low) · sigmoid(x). `cosine`: the same with relu(x) of a cosine. `linear`: mean + std · x,
    not bounded. Losses see scores in units of the training scores' standard deviation, so that predicting the mean
    costs 1 whatever the scale.
    """

    target: ScoreTarget
    labels: tuple[str, ...] = field(default=(), init=False)
    low: float
    high: float
    mean: float
    std: float

    def outputs(self, loss: Loss) -> int:
        return 1

    def values(self, scores: Tensor) -> Tensor:
        """Scores of a head, (B, 1), on the scale of the data, (B,)."""
        x = scores.squeeze(1)
        if self.target.activation == "linear":
            return self.mean + self.std * x
        unit = torch.sigmoid(x) if self.target.activation == "sigmoid" else torch.relu(x)
        return self.low + (self.high - self.low) * unit

    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        return torch.tensor([_score(gold) for gold in golds])

    def perfect_scores(self, gold: Tensor, loss: Loss) -> Tensor:
        unit = (gold - self.low) / (self.high - self.low)
        linear = (gold - self.mean) / self.std
        inverse = {"sigmoid": torch.logit(unit, eps=1e-9), "cosine": unit, "linear": linear}
        return inverse[self.target.activation].unsqueeze(1)

    def row_loss(self, loss: Loss) -> LossFunction:
        compute = loss.build((), None)

        def scaled(scores: Tensor, targets: Tensor) -> Tensor:
            return compute((self.values(scores) - self.mean) / self.std, (targets - self.mean) / self.std)

        return scaled

    def disagreement(self, first: Scores, second: Scores, batch: Batch) -> Tensor:
        """The mean squared difference, in units of the training scores' standard deviation."""
        ours, theirs = (self.values(scores.values.float()) for scores in (first, second))
        return F.mse_loss(ours / self.std, theirs / self.std)

    def decode_rows(self, scores: Tensor) -> list[Prediction]:
        values = self.values(scores.double())  # in which the ends of the scale are exact
        if self.target.activation != "linear":
            values = values.clamp(self.low, self.high)  # a cosine may come out a rounding above 1
        return [ScorePrediction(value) for value in values.tolist()]

    def outcomes(
        self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]
    ) -> NumberOutcomes:
        return NumberOutcomes(
            lines=np.asarray(lines),
            scores=confidences(predictions),
            gold=np.array([_score(gold) for gold in golds]),
            predicted=np.array([_score(prediction.gold) for prediction in predictions]),
        )

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [ScorePrediction(score) for score in mean_scores(_scores(train), len(rows))]

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        if len(train[0].texts) == 2:
            scores = tfidf_pair_scores(text_pairs(train), _scores(train), text_pairs(rows))
        else:
            scores = tfidf_scores([row.texts[0] for row in train], _scores(train), [row.texts[0] for row in rows])
        return [ScorePrediction(score) for score in scores]

    def ranking(self, label: str | None = None) -> Ranking:
        """By the score; there are no labels."""
        if label is not None:
            raise ConfigError("its answers are numbers, and have no labels")
        return lambda prediction: _score(prediction.gold)

    def explain_row(self, scores: Tensor, prediction: Prediction) -> tuple[tuple[str, ...], Tensor]:
        return (), scores[0]

    def support(self, prediction: Prediction, other: Prediction, kept: Sequence[int]) -> float:
        return _score(other.gold)


def _score(gold: Gold) -> float:
    return cast(float, gold)


def _scores(rows: Sequence[Example]) -> list[float]:
    return [_score(row.gold) for row in rows]
