"""Resamples of seeds and rows at once, and the scores of several runs on them.

Letters: S runs (one per seed), R rows (the same for every run), B resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from weft.metrics.classification import Floats


class Measured(Protocol):
    """What one run answered on the rows, enough to score any resample of them."""

    def measure(self, metric: str, weights: Floats | None = None) -> Floats:
        """A metric where row r counts `weights[b, r]` times, (B,); without weights every row counts once, (1,)."""

    def per_class(self, weights: Floats | None = None) -> Mapping[str, Floats]:
        """Label -> F1, likewise."""


@dataclass(frozen=True, eq=False)
class Resamples:
    """How often each run and each row counts in each resample.

    One draw serves every variant of a table, so that a difference is taken between two variants on the same rows and
    the same seeds; it depends on nothing but its size, so a table can be rebuilt.
    """

    seeds: Floats  # (B, S)
    rows: Floats  # (B, R)

    @classmethod
    def draw(cls, seeds: int, rows: int, rounds: int = 1000) -> Self:
        """Seeds and rows drawn with replacement, independently of each other."""
        generator = np.random.default_rng([seeds, rows, rounds])
        return cls(_counts(generator, rounds, seeds), _counts(generator, rounds, rows))


@dataclass(frozen=True, eq=False)
class RunScores:
    """One metric of S runs: on the rows as they are, and on every resample of them."""

    points: Floats  # (S,)
    draws: Floats  # (S, B): rows resampled, the run itself fixed

    @classmethod
    def of(cls, runs: Sequence[Measured], metric: str, resamples: Resamples) -> Self:
        """The scores of one variant; worth keeping, since the base is held against every other."""
        points = [run.measure(metric)[0] for run in runs]
        return cls(np.array(points), np.stack([run.measure(metric, resamples.rows) for run in runs]))

    @classmethod
    def per_class(cls, runs: Sequence[Measured], resamples: Resamples) -> dict[str, Self]:
        """Label -> the F1 of that label alone; empty where there are no labels."""
        points = [run.per_class() for run in runs]
        draws = [run.per_class(resamples.rows) for run in runs]
        return {
            label: cls(np.array([run[label][0] for run in points]), np.stack([run[label] for run in draws]))
            for label in points[0]
        }

    def minus(self, other: RunScores) -> RunScores:
        """Run by run and resample by resample: the same seed on the same rows."""
        return RunScores(self.points - other.points, self.draws - other.draws)

    def resampled(self, resamples: Resamples) -> Floats:
        """The mean over the runs where both runs and rows are resampled, (B,)."""
        return np.asarray(np.einsum("bs,sb->b", resamples.seeds, self.draws) / len(self.points))


def _counts(generator: np.random.Generator, rounds: int, size: int) -> Floats:
    """How often each of `size` things is drawn in `size` draws, (rounds, size)."""
    drawn = generator.integers(size, size=(rounds, size)) + size * np.arange(rounds)[:, None]
    return np.bincount(drawn.ravel(), minlength=rounds * size).reshape(rounds, size).astype(np.float64)
