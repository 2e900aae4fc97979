"""How far a mean over runs and rows would move with other seeds and other rows.

Every run answers the same rows, so the two are crossed: a hard row is hard for all runs, an unlucky seed is unlucky on
all rows. The variance of a mean over S runs is that of a study in which several readers judge the same cases
(Obuchowski and Rockette 1995), with degrees of freedom after Hillis (2007); docs/statistics.md derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from weft.comparison.resampling import Resamples, RunScores
from weft.comparison.significance import sign_flip_p
from weft.metrics.classification import Floats

LEVEL = 0.95
NORMAL = 1.959964  # the quantile of a normal distribution that the interval's shape is scaled to
MANY = 1e9  # degrees of freedom at which Student's distribution is the normal one


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
    unit: float  # what an equivalence of 1.0 means: 1 for scores up to 1, the base's mean for costs


@dataclass(frozen=True)
class Spread:
    """A standard error and its degrees of freedom."""

    error: float
    freedom: float

    @property
    def reach(self) -> float:
        """Half the width of a symmetric 95 % interval."""
        return float(stdtrit(self.freedom, (1 + LEVEL) / 2)) * self.error

    def p_of(self, mean: float) -> float:
        """The two-sided p of a mean, were it 0 in truth."""
        if self.error == 0:
            return float(mean == 0)
        return float(2 * stdtr(self.freedom, -abs(mean) / self.error))


def estimate(scores: RunScores, resamples: Resamples, *, lower_is_better: bool = False) -> Interval:
    """The mean of a variant with its interval, which ends where the metric does: scores at 1, costs at 0.

    With one run it says what other rows would change, and nothing about other seeds.
    """
    mean, low, high = _interval(scores, resamples, unit=0.0 if lower_is_better else 1.0)
    never_negative = lower_is_better or not (scores.draws < 0).any()  # a correlation may be
    return Interval(mean, max(low, 0.0) if never_negative else low, high if lower_is_better else min(high, 1.0))


def paired_difference(
    scores: RunScores, base: RunScores, resamples: Resamples, *, lower_is_better: bool = False
) -> PairedDifference:
    """A variant against the base, run by run with the same seed, resample by resample with the same rows."""
    gain = base.minus(scores) if lower_is_better else scores.minus(base)
    unit = 0.0 if lower_is_better else 1.0
    mean, low, high = _interval(gain, resamples, unit)
    return PairedDifference(
        *(mean, low, high),
        p_seeds=sign_flip_p(gain.points),
        p_crossed=spread(gain, resamples.rows.shape[1], unit).p_of(mean),
        p_rows=_share_beyond_zero(gain.draws.mean(axis=0)),
        by_seed=tuple(map(float, gain.points)),
        unit=abs(float(base.points.mean())) if lower_is_better else 1.0,
    )


def spread(scores: RunScores, rows: int, unit: float) -> Spread:
    """The standard error of the mean over runs, for other seeds and other rows.

    Other rows move all runs together (the covariance of their draws) and each run apart; the latter, and what seeds
    add, is already in the variance between the runs. Never less than one row won and one lost would give, `unit` being
    what a row is worth: fifty rows without an error do not show that there are none.
    """
    runs, draws = len(scores.points), scores.draws[:, np.isfinite(scores.draws).all(axis=0)]
    moved = np.atleast_2d(np.cov(draws)) * rows / max(rows - 1, 1)
    least = 2 * (unit / rows) ** 2
    if runs == 1:
        return Spread(math.sqrt(max(float(moved[0, 0]), least)), max(rows - 1, 1))
    together = max(float(moved.sum() - moved.trace()) / (runs * (runs - 1)), 0.0)
    apart = float(scores.points.var(ddof=1)) / runs
    variance = together + apart
    doubt = apart**2 / (runs - 1) + together**2 / max(rows - 1, 1)
    freedom = min(variance**2 / doubt, MANY) if doubt > 0 and variance >= least else MANY
    return Spread(math.sqrt(max(variance, least)), freedom)


def _interval(scores: RunScores, resamples: Resamples, unit: float) -> tuple[float, float, float]:
    """(mean, low, high): the bootstrap gives the shape, `spread` the width."""
    mean, reach = float(scores.points.mean()), spread(scores, resamples.rows.shape[1], unit).reach
    low, high = _shape(scores.resampled(resamples))
    return mean, mean + low * reach, mean + high * reach


def _shape(drawn: Floats) -> tuple[float, float]:
    """Where the middle 95 % of the resampled means end, in units of a symmetric interval: near (-1, 1)."""
    drawn = drawn[np.isfinite(drawn)]
    width = NORMAL * float(drawn.std())
    if width < 1e-12:
        return -1.0, 1.0
    low, high = np.quantile(drawn - drawn.mean(), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low) / width, float(high) / width


def _share_beyond_zero(drawn: Floats) -> float:
    """Twice the share of resamples on the rarer side of no difference, ties on both; never below 2 / (B + 1)."""
    drawn = drawn[np.isfinite(drawn)]
    rarer = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return min(1.0, 2 * (rarer + 1) / (len(drawn) + 1))
