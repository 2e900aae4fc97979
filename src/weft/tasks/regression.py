"""A number that a text deserves: a rating, a severity, a price."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from weft.targets import Target
from weft.targets.score import ScoreTarget, check_scale
from weft.tasks.base.text import OneTextTask


class Regression(OneTextTask):
    """Reads a text; answers with a number."""

    kind: Literal["regression"] = "regression"
    example: ClassVar[Mapping[str, Any]] = {"train": "listings.csv", "text": "text", "score": "price"}
    answer_option: ClassVar[str] = "score"
    score: str = "score"
    """Column of the answer."""
    scale: tuple[float, float] | None = None
    """Lowest and highest number; those that occur in training by default."""
    output: Literal["sigmoid", "linear"] = "sigmoid"
    """How a number is made: `sigmoid` stays within the scale, `linear` is unbounded."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        check_scale(self.scale)
        return self

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.score

    def target(self) -> Target:
        return ScoreTarget(scale=self.scale, activation=self.output)

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        return [{}, {"output": "linear"}]
