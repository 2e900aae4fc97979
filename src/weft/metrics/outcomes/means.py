"""Outcomes whose metrics are means over rows: for kinds of answers that weft does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from weft.metrics.outcomes import Array, Floats, Outcomes, Weights, weighted_mean


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanOutcomes(Outcomes):
    """A number per row and metric, such as 1 for a right answer, or a cost.

    Where less of it is better, derive a class with a `kind` of its own that says so in `lower_is_better`.
    """

    kind: ClassVar[str] = "means"

    values: Mapping[str, Floats]  # by metric, (R,) each

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.values)

    def _measure(self, metrics: Sequence[str], weights: Weights) -> dict[str, Floats]:
        return {metric: weighted_mean(self.values[metric], weights) for metric in metrics}

    def arrays(self) -> dict[str, Array]:
        own = {f"mean of {metric}": values for metric, values in self.values.items()}
        return {"lines": self.lines, "scores": self.scores, **own}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], labels: Sequence[str] = ()) -> Self:
        values = {name.removeprefix("mean of "): array for name, array in arrays.items() if name.startswith("mean of ")}
        return cls(lines=arrays["lines"], scores=arrays["scores"], labels=tuple(labels), values=values)
