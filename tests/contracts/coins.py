"""A target and a task that weft does not have: how many of a row's words are coins. One file, as a plugin would be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

import numpy as np
import torch
from torch import Tensor

from weft.data.cells import is_blank
from weft.data.predictions import PlainPrediction, Prediction
from weft.data.records import Example, Gold, Input
from weft.losses import Loss, LossFunction, TargetType
from weft.losses.mse import Mse
from weft.metrics.outcomes import Outcomes
from weft.metrics.outcomes.means import MeanOutcomes
from weft.targets import Target, confidences
from weft.targets.base.row import FittedRowTarget
from weft.tasks.base.text import TextTask


@dataclass(frozen=True, slots=True)
class CoinsPrediction(Prediction):
    """A whole number."""

    count: int

    def to_dict(self, scores: bool = False, flags: Any = None) -> PlainPrediction:
        return {"coins": self.count, **(flags or {})}

    def in_words(self) -> str:
        return f"{self.count} coins"

    @property
    def gold(self) -> Gold:
        return float(self.count)


@dataclass(frozen=True)
class CoinsTarget(Target):
    """A whole number per row, written as so many `o`."""

    target_type: ClassVar[TargetType] = "score"
    metrics: ClassVar[tuple[str, ...]] = ("accuracy",)

    default_metric: str = "accuracy"

    @property
    def fitted(self) -> type[FittedCoins]:
        return FittedCoins

    @property
    def default_loss(self) -> Loss:
        return Mse()

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        return None if is_blank(cell) else float(str(cell).count("o"))

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        return "o" * int(cast(float, gold)) or "-"

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        return [float(row % 2) for row in range(len(inputs))]

    def fit(self, golds: Iterable[Gold]) -> FittedCoins:
        return FittedCoins(self, most=int(max(cast(Iterable[float], golds))))


@dataclass(frozen=True)
class FittedCoins(FittedRowTarget):
    """The most coins of a training row; no prediction is higher."""

    baseline_name: ClassVar[str] = "none at all"

    target: CoinsTarget
    labels: tuple[str, ...] = field(default=(), init=False)
    most: int

    def outputs(self, loss: Loss) -> int:
        return 1

    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        return torch.tensor(cast(Sequence[float], golds))

    def row_loss(self, loss: Loss) -> LossFunction:
        return loss.build((), None)

    def perfect_scores(self, gold: Tensor, loss: Loss) -> Tensor:
        return gold.unsqueeze(1)

    def decode_rows(self, scores: Tensor) -> list[Prediction]:
        return [CoinsPrediction(round(min(max(score, 0), self.most))) for score in scores.squeeze(1).tolist()]

    def outcomes(self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]) -> Outcomes:
        right = np.array([prediction.gold == gold for prediction, gold in zip(predictions, golds, strict=True)])
        return MeanOutcomes(
            lines=np.asarray(lines), scores=confidences(predictions), values={"accuracy": right.astype(np.float64)}
        )

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [CoinsPrediction(0) for _ in rows]

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return self.majority(train, rows)

    def explain_row(self, scores: Tensor, prediction: Prediction) -> tuple[tuple[str, ...], Tensor]:
        return (), scores[0]


class Coins(TextTask):
    """Reads a text; answers how many of its words are coins."""

    kind: Literal["coins"] = "coins"

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        return [{}, {"truncation": "tail"}]

    def target(self) -> Target:
        return CoinsTarget()
