"""How far two lines of numbers go together; on resamples of rows, see `outcomes/numbers`."""

from __future__ import annotations

import numpy as np

from weft.metrics.classification import Floats


def pearson(left: Floats, right: Floats) -> float:
    """Linear correlation of two (B,) lines; 0.0 when either is constant, also with a single row.

    NaN when either is not finite: a model that diverged must not look like one that is merely useless.
    """
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return float("nan")
    # Compared before centring: the mean of equal floats may differ from them by a rounding error.
    if np.all(left == left[0]) or np.all(right == right[0]):
        return 0.0
    return float(np.clip(_direction(left) @ _direction(right), -1.0, 1.0))


def spearman(left: Floats, right: Floats) -> float:
    """Rank correlation of two (B,) lines, equal values sharing their mean rank; edge cases as in `pearson`."""
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return float("nan")
    return pearson(_ranks(left), _ranks(right))


def _direction(values: Floats) -> Floats:
    """`values` centred and of length 1."""
    # Scaled before each step that could overflow or underflow: first the sum, then the squares.
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    return np.asarray(centred / np.linalg.norm(centred), dtype=np.float64)


def _ranks(values: Floats) -> Floats:
    _, rank, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[rank], dtype=np.float64)
