"""Outcomes of a number per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.metrics.outcomes import Floats, Outcomes, Weights, divide, weighted_mean

_MOST = 2_000_000  # resampled rows at a time, since each takes some numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberOutcomes(Outcomes):
    """The true and the given number of each row; metrics and their edge cases as in `regression`."""

    kind: ClassVar[str] = "numbers"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"mse", "mae"})

    gold: Floats  # (R,)
    predicted: Floats  # (R,)

    @property
    def metrics(self) -> tuple[str, ...]:
        return "pearson", "spearman", "mse", "mae"

    def _measure(self, metrics: Sequence[str], weights: Weights) -> dict[str, Floats]:
        formulas: dict[str, Callable[[Weights], Floats]] = {
            "pearson": self._pearson,
            "spearman": self._spearman,
            "mse": self._mse,
            "mae": self._mae,
        }
        size = max(1, _MOST // len(self))
        blocks = [weights[first : first + size] for first in range(0, len(weights), size)]
        return {metric: np.concatenate([formulas[metric](block) for block in blocks]) for metric in metrics}

    def _mse(self, weights: Weights) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return weighted_mean((self.predicted - self.gold) ** 2, weights)

    def _mae(self, weights: Weights) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return weighted_mean(np.abs(self.predicted - self.gold), weights)

    def _pearson(self, weights: Weights) -> Floats:
        return self._correlate(self.gold[None], self.predicted[None], weights)

    def _spearman(self, weights: Weights) -> Floats:
        return self._correlate(_ranks(self.gold, weights), _ranks(self.predicted, weights), weights)

    def _correlate(self, left: Floats, right: Floats, weights: Weights) -> Floats:
        """Nan where a drawn row is not finite."""
        finite = np.isfinite(self.gold) & np.isfinite(self.predicted)
        known = np.where(finite, weights, 0.0)
        correlation = correlate(np.where(finite, left, 0.0), np.where(finite, right, 0.0), known)
        return np.where((weights[:, ~finite] > 0).any(1), np.nan, correlation)


def correlate(left: Floats, right: Floats, weights: Weights) -> Floats:
    """The weighted linear correlation of finite values, (B, R) or (1, R), → (B,); 0 where either side is constant."""
    one, other = _direction(left, weights), _direction(right, weights)
    return np.asarray(np.clip((one * other).sum(1), -1.0, 1.0))


def _direction(values: Floats, weights: Weights) -> Floats:
    """The drawn values of each resample, centred, times the roots of their weights, of length 1; 0 where constant."""
    drawn = weights > 0
    lowest, highest = np.where(drawn, values, np.inf).min(1), np.where(drawn, values, -np.inf).max(1)
    # Scaled before each step that could overflow or underflow: first the sum, then the squares.
    largest = _or_one(np.maximum(np.abs(lowest), np.abs(highest)))
    scaled = np.where(drawn, values, 0.0) / largest[:, None]
    mean = divide((weights * scaled).sum(1), weights.sum(1))
    centred = np.where(drawn, scaled - mean[:, None], 0.0)
    centred /= _or_one(np.abs(centred).max(1))[:, None]
    centred *= np.sqrt(weights)
    length = np.where(lowest < highest, np.sqrt((centred**2).sum(1)), np.inf)
    return np.asarray(centred / length[:, None])


def _or_one(scale: Floats) -> Floats:
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _ranks(values: Floats, weights: Weights) -> Floats:
    """Ranks among the drawn rows, equal values sharing their mean rank, (R,) → (B, R)."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    return (np.cumsum(sizes, axis=1) - sizes / 2)[:, group]
