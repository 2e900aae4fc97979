"""How alike two texts are, as a number."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from torch import nn

from weft.encoder.encoder import Encoder
from weft.layers.features import CosineFeatures, Features
from weft.targets import Target
from weft.targets.score import ScoreActivation, ScoreTarget, check_scale
from weft.tasks.base.pair import PairTask


class Similarity(PairTask):
    """Reads two texts; answers with a score.

    `output`: `sigmoid` bounds the score to the scale; `cosine` is the scale times relu(cosine of the two vectors),
    without a head, and needs siamese encoding; `linear` is not bounded.
    """

    kind: Literal["similarity"] = "similarity"
    example: ClassVar[Mapping[str, Any]] = {
        "train": "pairs.csv",
        "text": ("sentence1", "sentence2"),
        "score": "score",
    }
    answer_option: ClassVar[str] = "score"
    encode_as: Annotated[Literal["cross", "siamese", "both"], Field(alias="encode")] = "siamese"
    """`cross`: both texts in one row, each seeing the other; `siamese`: each by itself, compared afterwards; `both`: a
    head reads the one beside the other, at the cost of both."""
    score: str = "score"
    """Column of the answer."""
    scale: tuple[float, float] | None = None
    """Lowest and highest score; those that occur in training by default."""
    output: ScoreActivation = "sigmoid"
    """How a score is made: `sigmoid` within the scale; `cosine` of the vectors, without a head; `linear`, unbounded."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.output == "cosine" and self.encode_as != "siamese":
            raise ValueError("output 'cosine' compares two vectors, so it needs encode = \"siamese\"")
        check_scale(self.scale)
        return self

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.score

    def target(self) -> Target:
        return ScoreTarget(scale=self.scale, activation=self.output)

    def idle_options(self) -> dict[str, str]:
        without = dict.fromkeys(("head", "features"), "a cosine needs no head; set another output, or leave it out")
        return super().idle_options() | (without if self.output == "cosine" else {})

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        return [*super().variants(), *({"output": output, "encode": "siamese"} for output in ("cosine", "linear"))]

    def build_features(self, width: int) -> Features:
        return CosineFeatures(self.pooler.build(width)) if self.output == "cosine" else super().build_features(width)

    def build_head(self, inputs: int, outputs: int, encoder: Encoder) -> nn.Module:
        return nn.Identity() if self.output == "cosine" else super().build_head(inputs, outputs, encoder)

    @property
    def has_linear_head(self) -> bool:
        return self.output != "cosine" and super().has_linear_head

    def feature_size(self, width: int) -> int:
        return 1 if self.output == "cosine" else super().feature_size(width)
