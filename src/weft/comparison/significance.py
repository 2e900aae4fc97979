"""Whether a difference could be luck: sign flips over seeds, Holm over a table, and how many seeds that takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from weft.metrics.classification import Floats

EXACT = 16  # seeds up to which every pattern of signs is tried
ROUNDS = 2**16  # patterns tried, beyond


def sign_flip_p(differences: npt.ArrayLike) -> float:
    """The two-sided p of the mean of paired differences, (S,), were each as likely to have the opposite sign.

    Exact for up to 16 differences; beyond, from random patterns drawn from a fixed seed, the observed one among them.
    """
    values = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(values).all():
        return 1.0
    # The first sign is never flipped: the mirror image of a pattern has the same absolute mean.
    sums = np.abs(_patterns(len(values)) @ values)
    rounding = 1e-9 * np.abs(values).sum()
    return float((sums >= abs(values.sum()) - rounding).mean())


@lru_cache(maxsize=8)
def _patterns(size: int) -> Floats:
    """Patterns of signs, (P, size), the first being all +1."""
    if size <= EXACT:
        bits = np.arange(2 ** max(size - 1, 0))[:, None] >> np.arange(size)
    else:
        bits = np.random.default_rng(size).integers(2, size=(ROUNDS, size))
        bits[0] = 0
    return np.asarray(1.0 - 2.0 * (bits & 1))


def smallest_p(seeds: int) -> float:
    """What `sign_flip_p` gives where all differences have one sign: nothing can be surer with so many seeds."""
    return max(0.5 ** (seeds - 1), 1 / ROUNDS)


def seeds_needed(comparisons: int, level: float = 0.05) -> int:
    """The fewest seeds with which one of so many comparisons can be called better or worse."""
    return math.ceil(math.log2(2 * comparisons / level))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values, in their order, adjusted so that any of them falls below a level by luck no more often than that.

    Holm (1979): the smallest of m counts m times, the next m - 1 times, and none is surer than one before it.
    """
    adjusted, largest = [1.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted
