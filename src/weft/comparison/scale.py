"""Where a metric can lie: what half a point means there, and intervals that do not leave it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from weft.comparison.resampling import RunScores


@dataclass(frozen=True)
class Scale:
    """The least and the largest value of a metric."""

    least: float
    most: float

    @classmethod
    def of(cls, scores: RunScores, lower_is_better: bool) -> Scale:
        """0 to 1 for shares and F1, -1 to 1 for correlations, 0 to infinity for costs; else anything.

        A metric says only whether less of it is better; the rest is seen in its values.
        """
        values = scores.draws[np.isfinite(scores.draws)]
        lowest, highest = float(values.min(initial=0.0)), float(values.max(initial=0.0))
        if lower_is_better or highest > 1 or lowest < -1:
            return cls(0.0 if lowest >= 0 else -math.inf, math.inf)
        return cls(0.0 if lowest >= 0 else -1.0, 1.0)

    @property
    def is_fixed(self) -> bool:
        """Whether a point is a hundredth, whatever the task; on other scales it is a hundredth of the base's mean."""
        return math.isfinite(self.most)

    def around(self, mean: float, reach: float) -> tuple[float, float]:
        """An interval that reaches about so far to either side, less far towards an end of the scale.

        Symmetric in log odds where the scale has two ends (for a correlation that is Fisher's z), in the logarithm
        where it has one. A mean at an end is left where it is and the interval goes inward.
        """
        if not (self.least < mean < self.most) or math.isinf(self.least):
            return max(mean - reach, self.least), min(mean + reach, self.most)
        if not self.is_fixed:
            return mean * math.exp(-reach / mean), mean * math.exp(reach / mean)
        width = self.most - self.least
        share = (mean - self.least) / width
        odds, reach = float(logit(share)), reach / width / (share * (1 - share))
        return self.least + width * float(expit(odds - reach)), self.least + width * float(expit(odds + reach))
