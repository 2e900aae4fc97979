"""How far a mean over runs and rows would move with other seeds and other rows.

Every run answers the same rows, so the two are crossed: a hard row is hard for all runs, an unlucky seed is unlucky on
all rows. The variance of a mean is that of a study in which several readers judge the same cases (Obuchowski and
Rockette 1995); docs/statistics.md derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from weft.comparison.resampling import Resamples, RunScores
from weft.comparison.scale import Scale
from weft.comparison.significance import sign_flip_p
from weft.metrics.classification import Floats

OUTSIDE = 0.025  # on either side of a 95 % interval
LEAST_P = 1e-12
NOTHING = 1e-18  # a variance that is only rounding


@dataclass(frozen=True)
class Interval:
    """A mean over runs, and its 95 % interval over other seeds and other rows."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedDifference:
    """How much better a variant is than the base on the same seeds and rows; above 0 is better, whatever the metric."""

    mean: float
    low: float
    high: float
    p_seeds: float  # sign flips over seeds: the rows are taken as they are
    p_crossed: float  # other seeds and other rows
    p_rows: float  # other rows: the seeds are taken as they are
    by_seed: tuple[float, ...]
    unit: float = 1.0  # what 100 points are: 1 for scores up to 1, the base's mean for costs
    finest: float = 0.0  # a smaller difference could not be ruled out on so few rows, were there none at all


@dataclass(frozen=True)
class Spread:
    """The variance of a mean over runs, in its two parts."""

    apart: float  # what moves each run apart from the others: its seed, and how it takes to the rows
    together: float  # what moves all runs together: the rows
    runs: int
    rows: int

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return math.sqrt(self.apart + self.together)

    @property
    def reach(self) -> float:
        """Half the width of a 95 % interval.

        Two classical answers to two variances with different degrees of freedom: Satterthwaite's, as in Hillis
        (2007), is too small for three seeds, and that of Cochran and Cox (1950) too large for them. Midway it is.
        """
        if self.error == 0:
            return 0.0
        of_seeds, of_rows = self._freedom
        freedom = 1 / (self._share**2 / of_seeds + (1 - self._share) ** 2 / of_rows)
        return self.error * (self._cochran_cox(OUTSIDE) - float(stdtrit(freedom, OUTSIDE))) / 2

    def p_of(self, mean: float) -> float:
        """The two-sided p of a mean, were it 0 in truth; after Cochran and Cox alone, who err on the safe side."""
        if math.isnan(mean) or math.isnan(self.error):
            return math.nan
        if mean == 0 or self.error == 0:
            return 1.0 if mean == 0 else LEAST_P
        low, high = math.log(LEAST_P / 2), math.log(0.5)
        for _ in range(40):
            middle = (low + high) / 2
            wider = self._cochran_cox(math.exp(middle)) * self.error > abs(mean)
            low, high = (middle, high) if wider else (low, middle)
        return 2 * math.exp(high)

    def _cochran_cox(self, outside: float) -> float:
        """How many standard errors leave so much outside on either side, at least: two quantiles by their shares."""
        of_seeds, of_rows = self._freedom
        return -float(self._share * stdtrit(of_seeds, outside) + (1 - self._share) * stdtrit(of_rows, outside))

    @property
    def _share(self) -> float:
        return self.apart / (self.apart + self.together)

    @property
    def _freedom(self) -> tuple[int, int]:
        return max(self.runs - 1, 1), max(self.rows - 1, 1)


def estimate(scores: RunScores, resamples: Resamples, *, lower_is_better: bool = False) -> Interval:
    """The mean of a variant with its interval, which stays where the metric can be.

    With one run it says what other rows would change, and nothing about other seeds.
    """
    scale = Scale.of(scores, lower_is_better)
    mean = float(scores.points.mean())
    return Interval(mean, *scale.around(mean, spread(scores, resamples, scale).reach))


def paired_difference(
    scores: RunScores, base: RunScores, resamples: Resamples, *, lower_is_better: bool = False
) -> PairedDifference:
    """A variant against the base, run by run with the same seed, resample by resample with the same rows."""
    gain = base.minus(scores) if lower_is_better else scores.minus(base)
    scale = Scale.of(base, lower_is_better)
    moved = spread(gain, resamples, scale)
    mean, widest = float(gain.points.mean()), scale.most - scale.least  # no difference is larger
    return PairedDifference(
        *(mean, max(mean - moved.reach, -widest), min(mean + moved.reach, widest)),
        p_seeds=sign_flip_p(gain.points),
        p_crossed=moved.p_of(mean),
        p_rows=_share_beyond_zero(gain.draws.mean(axis=0)),
        by_seed=tuple(map(float, gain.points)),
        unit=1.0 if scale.is_fixed else abs(float(base.points.mean())),
        finest=unseen(resamples.rows.shape[1], scale).reach,
    )


def spread(scores: RunScores, resamples: Resamples, scale: Scale) -> Spread:
    """How the mean over runs moves with other seeds and other rows.

    Other rows move all runs together, by the covariance of their resampled scores, and each run apart; the latter, and
    what its seed does, is the variance between the runs. Where nothing moves at all, as if all were right, what so
    many rows may not have shown.
    """
    runs, rows = len(scores.points), resamples.rows.shape[1]
    draws = scores.draws[:, np.isfinite(scores.draws).all(axis=0)]
    if draws.shape[1] < 2:
        return Spread(math.nan, math.nan, runs, rows)
    covariance = np.atleast_2d(np.cov(draws)) * rows / max(rows - 1, 1)
    if runs == 1:
        found = Spread(0.0, float(covariance[0, 0]), runs, rows)
    else:
        together = float(covariance.sum() - covariance.trace()) / (runs * (runs - 1))
        found = Spread(float(scores.points.var(ddof=1)) / runs, max(together, 0.0), runs, rows)
    return unseen(rows, scale) if found.apart + found.together < NOTHING else found


def unseen(rows: int, scale: Scale) -> Spread:
    """The spread where no row has shown any: as if one were won and one lost.

    That comes near the rule of three: where none of R rows has an error, up to 3 / R of all rows there are may have
    one. A cost that never differs in any digit does not differ.
    """
    return Spread(0.0, 2 / rows**2 if scale.is_fixed else 0.0, 1, rows)


def _share_beyond_zero(drawn: Floats) -> float:
    """Twice the share of resamples on the rarer side of no difference, ties on both; never below 2 / (B + 1)."""
    drawn = drawn[np.isfinite(drawn)]
    rarer = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return min(1.0, 2 * (rarer + 1) / (len(drawn) + 1))
