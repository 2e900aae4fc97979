"""How far a score would move on another sample of rows: percentile bootstrap intervals and paired tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Score = Callable[[Rows], float]


def interval(score: Score, size: int, *, seed: int = 0, rounds: int = 1000, level: float = 0.95) -> tuple[float, float]:
    """The percentile bootstrap interval (low, high) of a score.

    Args:
        score: the score of the rows with these indices, (size,), some named more than once.
        size: how many rows there are.
        seed: the same seed gives the same resamples, whatever the score.
        rounds: how many resamples to draw.
        level: the share of resamples that lie within the interval.
    """
    _check(size, rounds, level)
    return _middle([score(rows) for rows in _resamples(size, seed, rounds)], level)


def intervals_of(
    scores: Callable[[Rows], Mapping[str, float]],
    size: int,
    metrics: Iterable[str],
    *,
    seed: int = 0,
    rounds: int = 1000,
    level: float = 0.95,
) -> dict[str, tuple[float, float]]:
    """The intervals of several metrics that are computed together, all from the same resamples; as in `interval`."""
    _check(size, rounds, level)
    drawn = [scores(rows) for rows in _resamples(size, seed, rounds)]
    return {metric: _middle([scores[metric] for scores in drawn], level) for metric in metrics}


def paired_difference(
    score_a: Score, score_b: Score, size: int, *, seed: int = 0, rounds: int = 1000, level: float = 0.95
) -> tuple[float, float, float, float]:
    """(difference, low, high, p_value) of A minus B, both scored on the same resamples.

    `difference` is that of the rows as they are. `p_value` is two-sided: twice the share of resamples on the rarer
    side of no difference, ties counted on both sides, so two equal systems get 1. It is never below
    2 / (rounds + 1), because that is all so many resamples can show. Arguments as in `interval`.
    """
    _check(size, rounds, level)
    everything = np.arange(size, dtype=np.int64)
    drawn = np.array([score_a(rows) - score_b(rows) for rows in _resamples(size, seed, rounds)])
    low, high = _middle(drawn, level)
    rarer = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    p_value = float("nan") if np.isnan(drawn).any() else min(1.0, 2 * (rarer + 1) / (rounds + 1))
    return float(score_a(everything) - score_b(everything)), low, high, p_value


def _resamples(size: int, seed: int, rounds: int) -> Iterator[Rows]:
    generator = np.random.default_rng(seed)
    for _ in range(rounds):
        yield generator.integers(size, size=size, dtype=np.int64)


def _middle(values: npt.ArrayLike, level: float) -> tuple[float, float]:
    outside = (1 - level) / 2
    low, high = np.quantile(np.asarray(values, dtype=np.float64), [outside, 1 - outside])
    return float(low), float(high)


def _check(size: int, rounds: int, level: float) -> None:
    if size < 1 or rounds < 1 or not 0 < level < 1:
        raise ValueError(f"size {size} and rounds {rounds} must be at least 1, and level {level} between 0 and 1")
