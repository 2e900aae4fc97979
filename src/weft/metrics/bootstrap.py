"""How far a metric would move on another sample of rows: percentile bootstrap intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from weft.metrics.outcomes import Outcomes, Weights

_MOST = 2_000_000  # weights at a time


def intervals_of(
    outcomes: Outcomes, metrics: Sequence[str], *, seed: int = 0, rounds: int = 1000, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """The percentile bootstrap interval (low, high) of each metric, all from the same resamples of rows.

    Args:
        seed: the same seed gives the same resamples of equally many rows.
        rounds: how many resamples to draw.
        level: the share of resamples that lie within an interval.
    """
    if len(outcomes) < 1 or rounds < 1 or not 0 < level < 1:
        raise ValueError(f"{len(outcomes)} rows and rounds {rounds} must be at least 1, and level {level} in (0, 1)")
    drawn = [outcomes.measure_all(metrics, weights) for weights in resample_weights(len(outcomes), seed, rounds)]
    outside = (1 - level) / 2
    ends = {
        metric: np.quantile(np.concatenate([some[metric] for some in drawn]), [outside, 1 - outside])
        for metric in metrics
    }
    return {metric: (float(low), float(high)) for metric, (low, high) in ends.items()}


def resample_weights(size: int, seed: int, rounds: int) -> Iterator[Weights]:
    """How often each row is drawn, (B, R), a part of the resamples at a time; the same for a seed."""
    resamples = _resamples(size, seed, rounds)
    while part := list(islice(resamples, max(1, _MOST // size))):
        yield np.stack([np.bincount(rows, minlength=size) for rows in part]).astype(np.float64)


def _resamples(size: int, seed: int, rounds: int) -> Iterator[npt.NDArray[np.int64]]:
    generator = np.random.default_rng(seed)
    for _ in range(rounds):
        yield generator.integers(size, size=size, dtype=np.int64)
