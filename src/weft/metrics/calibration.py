"""Whether a model's confidence means what it says, and the temperature that mends it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from weft.metrics.classification import Floats

COLDEST, HOTTEST = 0.05, 20.0
FEWEST_ROWS = 10  # with fewer a temperature would describe the rows, not the model


def expected_calibration_error(confidence: npt.ArrayLike, correct: npt.ArrayLike, bins: int = 15) -> float:
    """The mean gap between confidence and accuracy over bins of equal width, each weighed by its rows.

    Args:
        confidence: probability of the chosen answer, (B,), in [0, 1].
        correct: whether that answer was right, (B,).
        bins: how many bins; a bin includes its upper edge.
    """
    table = reliability(confidence, correct, bins)
    if not table:
        raise ValueError("there are no rows to score")
    rows = sum(count for _, _, count in table)
    return sum(abs(mean - accuracy) * count for mean, accuracy, count in table) / rows


def reliability(confidence: npt.ArrayLike, correct: npt.ArrayLike, bins: int = 10) -> list[tuple[float, float, int]]:
    """(mean confidence, accuracy, rows) of each bin of equal width, lowest first; empty bins are left out.

    Arguments as in `expected_calibration_error`.
    """
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if sure.ndim != 1 or sure.shape != right.shape:
        raise ValueError(f"confidence has shape {sure.shape} and correct {right.shape}; both must be one equal line")
    if bins < 1:
        raise ValueError(f"bins is {bins}; at least 1 is needed")
    # A softmax in single precision may end a little above 1; NaN and logits may not pass.
    if not np.all((sure >= 0) & (sure <= 1 + 1e-5)):
        raise ValueError("every confidence must lie between 0 and 1")
    bin_of_row = bin_of_rows(sure, bins)
    counts = np.bincount(bin_of_row, minlength=bins)
    sums = np.bincount(bin_of_row, weights=sure, minlength=bins), np.bincount(bin_of_row, weights=right, minlength=bins)
    return [
        (float(total / count), float(hits / count), int(count))
        for total, hits, count in zip(*sums, counts, strict=True)
        if count
    ]


def bin_of_rows(confidence: Floats, bins: int = 15) -> npt.NDArray[np.int64]:
    """The bin of equal width that each confidence lies in, (B,); a bin includes its upper edge."""
    return np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)


def fit_temperature(logits: npt.NDArray[np.floating], gold: npt.NDArray[np.integer]) -> float:
    """The temperature T for which softmax(logits / T) gives the gold labels the least negative log likelihood.

    Where that would make a model surer, it is fitted with a doubt: of as many rows as there are, and two, one is wrong.
    Otherwise rows without a mistake would call for certainty, which few rows cannot know. Between 0.05 and 20. 1.0 with
    fewer than 10 rows, and where no temperature does better than 1.

    Args:
        logits: (B, L).
        gold: index of the right label, (B,).
    """
    scores, right = np.asarray(logits, dtype=np.float64), np.asarray(gold)
    if scores.ndim != 2 or right.shape != scores.shape[:1]:
        raise ValueError(f"logits of shape {scores.shape} do not fit gold of shape {right.shape}")
    if len(scores) < FEWEST_ROWS:
        return 1.0
    if right.min() < 0 or right.max() >= scores.shape[1]:
        raise ValueError(f"every gold label must lie between 0 and {scores.shape[1] - 1}")
    # Only distances to the row's highest logit matter, and no exponential of them can overflow.
    below = scores - scores.max(axis=1, keepdims=True)
    right_below = below[np.arange(len(below)), right]
    others_below = (below.sum(axis=1) - right_below) / max(1, scores.shape[1] - 1)

    def loss(temperature: float, doubt: float) -> float:
        normaliser = np.log(np.exp(below / temperature).sum(axis=1))
        return float(np.mean(normaliser - ((1 - doubt) * right_below + doubt * others_below) / temperature))

    return _likeliest(loss, len(scores))


def fit_temperature_binary(logits: npt.NDArray[np.floating], gold: npt.NDArray[np.integer | np.bool_]) -> float:
    """The one temperature T for which sigmoid(logits / T) gives all marks the least negative log likelihood.

    Doubt, bounds and edge cases as in `fit_temperature`.

    Args:
        logits: (B, L), each label decided on its own.
        gold: 1 where the row carries the label, else 0, (B, L).
    """
    scores, marks = np.asarray(logits, dtype=np.float64), np.asarray(gold, dtype=np.float64)
    if scores.ndim != 2 or marks.shape != scores.shape:
        raise ValueError(f"logits of shape {scores.shape} do not fit gold of shape {marks.shape}")
    if len(scores) < FEWEST_ROWS:
        return 1.0
    # log(1 + exp(z)) - y z is log(1 + exp(±z)) with the sign that makes a right answer negative.
    wrongness = np.where(marks > 0.5, -scores, scores)

    def loss(temperature: float, doubt: float) -> float:
        return float(np.mean(np.logaddexp(0.0, wrongness / temperature) - doubt * wrongness / temperature))

    return _likeliest(loss, len(scores))


def _likeliest(loss: Callable[[float, float], float], rows: int) -> float:
    """The temperature of the least loss without a doubt; where that is below 1, with the doubt of so many rows.

    The doubt is what one more row, and its contrary, leave open (Platt, 1999).
    """
    found = _least(lambda temperature: loss(temperature, 0.0))
    if found >= 1.0:
        return found
    return _least(lambda temperature: loss(temperature, 1 / (rows + 2)))


def _least(loss: Callable[[float], float]) -> float:
    """The temperature with the least loss, or 1.0 when none is better (equal logits, logits that are not finite)."""
    from scipy.optimize import minimize_scalar  # slow to import, and most users of metrics never calibrate

    # The loss is convex in 1 / T, so over log T it still has a single valley.
    bounds = (float(np.log(COLDEST)), float(np.log(HOTTEST)))
    minimum = minimize_scalar(lambda log_t: loss(float(np.exp(log_t))), bounds=bounds, method="bounded")
    best = float(np.exp(minimum.x))
    return best if loss(best) < loss(1.0) else 1.0
