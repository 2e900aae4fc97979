"""A number that a text deserves: a rating, a severity, a price."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, Self

from pydantic import model_validator

from weft.targets import Target
from weft.targets.score import ScoreTarget
from weft.tasks.base.text import OneTextTask


class Regression(OneTextTask):
    """Reads a text; answers with a number.

    `output`: `sigmoid` bounds the number to the scale; `linear` does not.
    """

    kind: Literal["regression"] = "regression"
    score: str = "score"
    """Column of the answer."""
    scale: tuple[float, float] | None = None
    """Lowest and highest number; those that occur in training by default."""
    output: Literal["sigmoid", "linear"] = "sigmoid"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.scale and self.scale[0] >= self.scale[1]:
            raise ValueError(f"scale must rise from low to high; received {list(self.scale)}")
        return self

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.score

    def target(self) -> Target:
        return ScoreTarget(scale=self.scale, activation=self.output)

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        return [{}, {"output": "linear"}]
