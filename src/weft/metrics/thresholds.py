"""The probability from which on a label should be predicted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def best_threshold(scores: npt.NDArray[np.floating], gold: npt.NDArray[np.integer | np.bool_]) -> float:
    """The threshold t for which predicting `scores >= t` has the best F1 of the positive class.

    Exact, in O(B log B). Candidates are the midpoints between neighbouring distinct scores, and half the lowest score,
    which predicts every row. Of equally good ones the nearest to 0.5 wins, then the lower. 0.5 when `gold` has no
    positives or no negatives, for then nothing can be learned from it.

    Args:
        scores: probability of the label, (B,), in [0, 1].
        gold: 1 where the row carries the label, else 0, (B,).
    """
    values, marks = np.asarray(scores), np.asarray(gold) > 0
    if values.ndim != 1 or values.shape != marks.shape:
        raise ValueError(f"scores have shape {values.shape} and gold {marks.shape}; both must be one equal line")
    if marks.all() or not marks.any():
        return 0.5
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("every score must be a probability between 0 and 1")
    distinct, place = np.unique(values, return_inverse=True)
    # From each distinct score upwards: how many rows would be predicted, and how many of them rightly.
    predicted = np.bincount(place)[::-1].cumsum()[::-1]
    hits = np.bincount(place, weights=marks)[::-1].cumsum()[::-1]
    f1 = 2 * hits / (predicted + marks.sum())
    candidates = _midpoints(distinct)[f1 == f1.max()]
    return float(candidates[np.abs(candidates - 0.5).argmin()])


def _midpoints(distinct: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """For each of the ascending scores, a threshold that it reaches and the score below it does not."""
    # In the precision of the scores: a finer midpoint would be rounded again when it is compared with them.
    below = np.concatenate([np.zeros(1, dtype=distinct.dtype), distinct[:-1]])
    middle = below + (distinct - below) / 2
    # Between two neighbouring floats there is no third.
    return np.where(middle > below, middle, distinct)
