"""Outcomes of a number per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from weft.metrics.outcomes import Floats, Outcomes, Weights, divide, weighted_mean

_MOST = 200_000  # resampled rows at a time, where each takes some numbers
_LOST = 1e-4  # share of a sum of squares that a variance is, below which the difference has lost too many digits


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberOutcomes(Outcomes):
    """The true and the given number of each row; edge cases as in `regression`."""

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
        return {metric: formulas[metric](weights) for metric in metrics}

    def _mse(self, weights: Weights) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return weighted_mean((self.predicted - self.gold) ** 2, weights)

    def _mae(self, weights: Weights) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return weighted_mean(np.abs(self.predicted - self.gold), weights)

    def _pearson(self, weights: Weights) -> Floats:
        return self._correlate(pearson, weights)

    def _spearman(self, weights: Weights) -> Floats:
        return self._correlate(spearman, weights)

    def _correlate(self, correlation: Callable[[Floats, Floats, Weights], Floats], weights: Weights) -> Floats:
        """Nan where a drawn row is not finite."""
        finite = np.isfinite(self.gold) & np.isfinite(self.predicted)
        found = correlation(self.gold[finite], self.predicted[finite], weights[:, finite])
        return np.where((weights[:, ~finite] > 0).any(1), np.nan, found)


def pearson(left: Floats, right: Floats, weights: Weights) -> Floats:
    """The linear correlation of finite values on each resample, (R,) → (B,); 0 where either side is constant."""
    one, other = _around_zero(left), _around_zero(right)
    sums = weights @ np.stack([one, other, one**2, other**2, one * other], axis=1)
    mean_one, mean_other, *squares, product = divide(sums, weights.sum(1)[:, None]).T
    variances = [squares[0] - mean_one**2, squares[1] - mean_other**2]
    sound = (variances[0] > _LOST * squares[0]) & (variances[1] > _LOST * squares[1])
    spread = np.sqrt(np.where(sound, variances[0], 1.0)) * np.sqrt(np.where(sound, variances[1], 1.0))
    found = np.clip((product - mean_one * mean_other) / spread, -1.0, 1.0)
    found[~sound] = _in_parts(lambda some: _correlate(left[None], right[None], some), weights[~sound])
    return np.asarray(found)


def spearman(left: Floats, right: Floats, weights: Weights) -> Floats:
    """The rank correlation, as `pearson`."""
    groups = [np.unique(values, return_inverse=True)[1] for values in (left, right)]
    return _in_parts(lambda some: _correlate(_ranks(groups[0], some), _ranks(groups[1], some), some), weights)


def _in_parts(correlation: Callable[[Weights], Floats], weights: Weights) -> Floats:
    size = max(1, _MOST // max(1, weights.shape[1]))
    parts = [correlation(weights[first : first + size]) for first in range(0, len(weights), size)]
    return np.concatenate([np.zeros(0), *parts])


def _around_zero(values: Floats) -> Floats:
    """Values scaled to at most 1, so that no square overflows, and centred, so that few digits get lost."""
    scaled = values / _or_one(np.abs(values).max(initial=0.0))
    return np.asarray(scaled - scaled.mean()) if len(values) else scaled


def _correlate(left: Floats, right: Floats, weights: Weights) -> Floats:
    """Exact whatever the values, at some cost: of (B, R) or (1, R) → (B,)."""
    return np.asarray(np.clip((_direction(left, weights) * _direction(right, weights)).sum(1), -1.0, 1.0))


def _direction(values: Floats, weights: Weights) -> Floats:
    """The drawn values of each resample, centred, times the roots of their weights, of length 1; 0 where constant."""
    drawn = weights > 0
    lowest = np.where(drawn, values, np.inf).min(1, initial=np.inf)
    highest = np.where(drawn, values, -np.inf).max(1, initial=-np.inf)
    # Scaled before each step that could overflow or underflow: first the sum, then the squares.
    largest = _or_one(np.maximum(np.abs(lowest), np.abs(highest)))
    scaled = np.where(drawn, values, 0.0) / largest[:, None]
    mean = divide((weights * scaled).sum(1), weights.sum(1))
    centred = np.where(drawn, scaled - mean[:, None], 0.0)
    centred /= _or_one(np.abs(centred).max(1, initial=0.0))[:, None]
    centred *= np.sqrt(weights)
    length = np.where(lowest < highest, np.sqrt((centred**2).sum(1)), np.inf)
    return np.asarray(centred / length[:, None])


def _or_one(scale: Floats) -> Floats:
    return np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _ranks(group: npt.NDArray[np.signedinteger], weights: Weights) -> Floats:
    """Ranks among the drawn rows, equal values sharing their mean rank; from the place of each value, (R,) → (B, R)."""
    sizes = np.stack([np.bincount(group, weights=row_weights) for row_weights in weights])
    return np.asarray((np.cumsum(sizes, axis=1) - sizes / 2)[:, group])
