"""Outcomes of one label per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from weft.metrics.calibration import bin_of_rows
from weft.metrics.outcomes import Floats, Ints, Weights, divide, weighted_mean
from weft.metrics.outcomes.counts import (
    CountedOutcomes,
    Formula,
    Totals,
    f1_macro,
    matthews_correlation,
    precision_macro,
    recall_macro,
    recall_micro,
)

_FEW = 32  # labels
_CALIBRATION = "calibration_error"


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelOutcomes(CountedOutcomes):
    """The true and the given label of each row; how sure, too, where all answers have a score."""

    kind: ClassVar[str] = "label"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({_CALIBRATION})
    formulas: ClassVar[Mapping[str, Formula]] = {
        "accuracy": recall_micro,
        "f1_macro": f1_macro,
        # With exactly one label per row a false positive of one label is a false negative of another.
        "f1_micro": recall_micro,
        "precision_macro": precision_macro,
        "recall_macro": recall_macro,
        "matthews_correlation": matthews_correlation,
    }

    gold: Ints  # (R,) ids
    predicted: Ints  # (R,) ids

    @property
    def metrics(self) -> tuple[str, ...]:
        return (*super().metrics, *([] if np.isnan(self.scores).any() else [_CALIBRATION]))

    @property
    def right(self) -> Floats:
        return np.asarray(self.gold == self.predicted, dtype=np.float64)

    def totals(self, weights: Weights) -> Totals:
        size, right = len(self.labels), self.right
        return Totals(
            _by_label(weights * right, self.gold, size),
            _by_label(weights, self.predicted, size),
            _by_label(weights, self.gold, size),
            weighted_mean(right, weights),
        )

    def _measure(self, metrics: Sequence[str], weights: Weights) -> dict[str, Floats]:
        counted = super()._measure([metric for metric in metrics if metric != _CALIBRATION], weights)
        return counted | ({_CALIBRATION: self._calibration_error(weights)} if _CALIBRATION in metrics else {})

    def _calibration_error(self, weights: Weights) -> Floats:
        """As `expected_calibration_error`."""
        bins = bin_of_rows(self.scores)
        gaps = _by_label(weights * (self.scores - self.right), bins, int(bins.max()) + 1)
        return divide(np.abs(gaps).sum(1), weights.sum(1))

    def relabelled(self, labels: tuple[str, ...]) -> Self:
        ids = np.array([labels.index(label) for label in self.labels], dtype=np.int64)
        return replace(self, labels=labels, gold=ids[self.gold], predicted=ids[self.predicted])


def _by_label(weights: Weights, ids: Ints, size: int) -> Floats:
    """The sums of the rows of each id, (B, R) → (B, size)."""
    if size <= _FEW:  # a product with a matrix of marks is quicker, by two to ten times
        return np.asarray(weights @ np.eye(size)[ids])
    return np.stack([np.bincount(ids, weights=row_weights, minlength=size) for row_weights in weights])
