"""The probability from which on a label is given, chosen on rows not trained on; one rule for every kind of target.

The best of many thresholds on few rows is mostly luck. So a threshold leaves 0.5 only as far as the rows can tell: of
all whose value of the chosen metric is within a standard error of the best, the nearest to 0.5 is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

MINIMUM = 10  # gold answers from which a threshold is tuned
LOWEST = 0.01  # no threshold is lower, nor higher than one minus it
_TRIED = 60

Probabilities = npt.NDArray[np.floating]


def choose_threshold(likely: Probabilities, value: Callable[[float], float], answers: int) -> float:
    """The threshold nearest to 0.5 whose value is within a standard error of the best; 0.5 with few gold answers.

    Args:
        likely: the probabilities that are held against the threshold, (B,), in [0, 1].
        value: the metric where everything is given whose probability reaches a threshold; higher is better.
        answers: gold answers, of which the metric is taken for a share when its standard error is estimated.
    """
    if answers < MINIMUM:
        return 0.5
    values = {threshold: value(threshold) for threshold in candidate_thresholds(likely)}
    best = max(values.values())
    error = math.sqrt(max(best * (1 - best), 0.0) / answers)
    near_best = [threshold for threshold, found in values.items() if found >= best - error]
    return min(near_best, key=lambda threshold: (abs(threshold - 0.5), threshold))


def candidate_thresholds(likely: Probabilities) -> list[float]:
    """0.5, and thresholds between neighbouring probabilities: all of them, or where there are many their quantiles."""
    values = np.asarray(likely)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise ValueError("thresholds are chosen for one line of probabilities between 0 and 1")
    distinct = np.unique(values[(values > LOWEST) & (values < 1 - LOWEST)])
    middles = _midpoints(distinct)
    if len(middles) > _TRIED:
        middles = middles[np.linspace(0, len(middles) - 1, _TRIED).round().astype(int)]
    return sorted({0.5, *middles.tolist()})


def _midpoints(distinct: Probabilities) -> Probabilities:
    """For each of the ascending probabilities, a threshold that it reaches and the one below it does not."""
    # In the precision of the probabilities: a finer midpoint would be rounded again when it is compared with them.
    below = np.concatenate([np.full(1, LOWEST, dtype=distinct.dtype), distinct[:-1]])
    middle = below + (distinct - below) / 2
    # Between two neighbouring floats there is no third.
    return np.where(middle > below, middle, distinct)
