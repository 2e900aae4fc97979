"""Outcomes of one label per row, where wrong answers have a cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from weft.metrics.outcomes import Floats, Weights, weighted_mean
from weft.metrics.outcomes.label import LabelOutcomes

COST = "cost"


@dataclass(frozen=True, kw_only=True, eq=False)
class CostedOutcomes(LabelOutcomes):
    """The same, and what the answer to each row cost."""

    kind: ClassVar[str] = "costed_label"
    lower_is_better: ClassVar[frozenset[str]] = LabelOutcomes.lower_is_better | {COST}

    costs: Floats  # (R,)

    @property
    def metrics(self) -> tuple[str, ...]:
        return (*super().metrics, COST)

    def _measure(self, metrics: Sequence[str], weights: Weights) -> dict[str, Floats]:
        others = super()._measure([metric for metric in metrics if metric != COST], weights)
        return others | ({COST: weighted_mean(self.costs, weights)} if COST in metrics else {})
