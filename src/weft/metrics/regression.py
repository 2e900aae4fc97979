"""Scores of tasks whose answer is a number, such as the similarity of two sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.metrics.classification import Floats


def regression_scores(gold: Sequence[float] | Floats, predicted: Sequence[float] | Floats) -> dict[str, float]:
    """pearson, spearman, mse and mae.

    A constant side (so also a single row) has correlation 0.0. NaN or infinity on either side makes both correlations
    NaN: a model that diverged must not look like one that is merely useless. No rows at all is a ValueError.
    """
    truth, guess = np.asarray(gold, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != guess.shape:
        raise ValueError(f"gold has shape {truth.shape} and predicted {guess.shape}; both must be one equal line")
    if len(truth) == 0:
        raise ValueError("there are no rows to score")
    with np.errstate(over="ignore", invalid="ignore"):
        error = guess - truth
        mse, mae = float(np.mean(error * error)), float(np.mean(np.abs(error)))
    return {"pearson": pearson(truth, guess), "spearman": spearman(truth, guess), "mse": mse, "mae": mae}


def pearson(left: Floats, right: Floats) -> float:
    """Linear correlation of two (B,) lines; 0.0 when either is constant, NaN when either is not finite."""
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
