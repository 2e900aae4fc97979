"""How much of a label is seen by whoever reads only the rows that rank highest, and how much must be read to see it.

Rows of equal rank are read in any order, so what is seen of them is their mean over all orders; of a row at the edge of
a share, that part is read which lies within it. G is the number of different ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.metrics.bootstrap import resample_weights
from weft.metrics.classification import Floats
from weft.metrics.outcomes import Weights

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)  # of the rows, that are read
SEEN = 0.95  # the share of the label's rows that somebody may want to see

Estimate = tuple[float, float, float]  # a value and the ends of its interval


@dataclass(frozen=True)
class Workload:
    """The recall of a label by the share of the rows that are read, and the least share with a recall of `SEEN`."""

    recalls: dict[float, Estimate]
    needed: Estimate


def measure_workload(
    ranks: Sequence[float],
    wanted: Sequence[bool],
    shares: Sequence[float] = SHARES,
    seen: float = SEEN,
    *,
    seed: int = 0,
    rounds: int = 1000,
    level: float = 0.95,
) -> Workload:
    """Recalls and workload with percentile bootstrap intervals; resamples in which no row is wanted do not count.

    Args:
        ranks: how far to the front each row belongs, (R,); the highest is read first.
        wanted: whether each row has the label, (R,), some of them.
        shares: of the rows, that are read.
        seen: the recall that `Workload.needed` reaches.
        seed, rounds, level: as in `intervals_of`.
    """
    marks = np.asarray(wanted, dtype=np.float64)
    if not marks.any():
        raise ValueError("no row is wanted, so there is nothing to see")
    order = np.argsort(-np.asarray(ranks, dtype=np.float64), kind="stable")
    first = np.flatnonzero(np.diff(np.asarray(ranks)[order], prepend=np.inf))  # of each rank, (G,)

    def measure(weights: Weights) -> list[Floats]:
        drawn = weights[:, order]
        read, found = (np.add.reduceat(part, first, axis=1) for part in (drawn, drawn * marks[order]))
        return [_measure(one, other, shares, seen) for one, other in zip(read, found, strict=True) if other.any()]

    (values,) = measure(np.ones((1, len(marks))))
    parts = resample_weights(len(marks), seed, rounds)
    draws = [values_of_draw for weights in parts for values_of_draw in measure(weights)] or [values]
    outside = (1 - level) / 2
    lows, highs = np.quantile(draws, [outside, 1 - outside], axis=0)
    estimates = [(float(value), float(low), float(high)) for value, low, high in zip(values, lows, highs, strict=True)]
    return Workload(dict(zip(shares, estimates, strict=False)), estimates[-1])


def _measure(read: Floats, found: Floats, shares: Sequence[float], seen: float) -> Floats:
    """The recall at each share of the rows, and last the share of the rows with a recall of `seen`, (G,) → (S + 1,).

    Args:
        read: how many rows have each rank, the highest first, (G,).
        found: how many of them are wanted, (G,).
    """
    rows, hits = np.cumsum(np.append(0.0, read)), np.cumsum(np.append(0.0, found))  # before and after each rank
    recalls = np.interp(np.asarray(shares) * rows[-1], rows, hits) / hits[-1]
    needed = math.ceil(seen * hits[-1] - 1e-9)  # nobody sees half a row
    last = int(np.searchsorted(hits, needed))  # after this rank that many have been seen
    part = (needed - hits[last - 1]) / (hits[last] - hits[last - 1])
    work = rows[last - 1] + part * (rows[last] - rows[last - 1])
    return np.array([*recalls, work / rows[-1]])
