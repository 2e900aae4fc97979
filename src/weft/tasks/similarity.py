"""How alike two texts are, as a number."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from torch import nn

from weft.data.records import Gold, Input
from weft.encoder.encoder import Encoder
from weft.layers.features import CosineFeatures, Features
from weft.losses import Loss
from weft.losses.mse import Mse
from weft.targets import Target
from weft.targets.score import ScoreActivation, ScoreTarget
from weft.tasks.base.pair import PairTask


class Similarity(PairTask):
    """Reads two texts; answers with a score.

    `output`: `sigmoid` bounds the score to the scale; `cosine` is the scale times relu(cosine of the two vectors),
    without a head, and needs siamese encoding; `linear` is not bounded.
    """

    kind: Literal["similarity"] = "similarity"
    encode_as: Annotated[Literal["cross", "siamese"], Field(alias="encode")] = "siamese"
    score: str = "score"
    """Column of the answer."""
    scale: tuple[float, float] | None = None
    """Lowest and highest score; those that occur in training by default."""
    output: ScoreActivation = "sigmoid"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.output == "cosine" and self.encode_as != "siamese":
            raise ValueError("output 'cosine' compares two vectors, so it needs encode = \"siamese\"")
        if self.scale and self.scale[0] >= self.scale[1]:
            raise ValueError(f"scale must rise from low to high; received {list(self.scale)}")
        return self

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.score

    def read_gold(self, cell: Any, input: Input | None = None, column: str | None = None) -> Gold | None:
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return None
        try:
            value = float(cell)
        except (TypeError, ValueError):
            raise ValueError("a score must be a number") from None
        if not math.isfinite(value):
            raise ValueError(f"a score must be a finite number; received {value}")
        if self.scale and not self.scale[0] <= value <= self.scale[1]:
            raise ValueError(f"score {value:g} is outside the scale {self.scale[0]:g} … {self.scale[1]:g}")
        return value

    def learn(self, golds: Iterable[Gold]) -> Target:
        return ScoreTarget.learn(golds, self.scale, self.output)

    def target_from(self, data: dict[str, Any]) -> Target:
        return ScoreTarget(**data)

    def default_loss(self) -> Loss:
        return Mse()

    def default_metric(self) -> str:
        return "pearson"

    def build_features(self, width: int) -> Features:
        return CosineFeatures(self.pooler.build(width)) if self.output == "cosine" else super().build_features(width)

    def build_head(self, inputs: int, outputs: int, encoder: Encoder) -> nn.Module:
        return nn.Identity() if self.output == "cosine" else super().build_head(inputs, outputs, encoder)

    def feature_size(self, width: int) -> int:
        return 1 if self.output == "cosine" else super().feature_size(width)
