"""The option `costs` of kinds that give every row one label."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field


def _without_right_answers(costs: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    if right := [label for label, answers in costs.items() if answers.get(label)]:
        raise ValueError(f"the right answer costs nothing; remove the cost of {', '.join(map(repr, right))} for itself")
    return costs


CostsOption = Annotated[
    dict[str, dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]]], AfterValidator(_without_right_answers)
]
