"""Resamples of rows, and the scores of several runs on them.

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
    """How often each row counts in each resample.

    One draw serves every run of every variant of a table, so that all are scored on the same rows; it depends on
    nothing but its size, so a table can be rebuilt.
    """

    rows: Floats  # (B, R)

    @classmethod
    def draw(cls, rows: int, rounds: int = 1000) -> Self:
        """As many rows as there are, drawn with replacement, in every resample."""
        drawn = np.random.default_rng([rows, rounds]).integers(rows, size=(rounds, rows))
        drawn += rows * np.arange(rounds)[:, None]
        return cls(np.bincount(drawn.ravel(), minlength=rounds * rows).reshape(rounds, rows).astype(np.float64))


@dataclass(frozen=True, eq=False)
class RunScores:
    """One metric of S runs: on the rows as they are, and on every resample of them."""

    points: Floats  # (S,)
    draws: Floats  # (S, B)

    @classmethod
    def of(cls, runs: Sequence[Measured], metric: str, resamples: Resamples) -> Self:
        """The scores of one variant; worth keeping, since the base is held against every other."""
        points = [run.measure(metric)[0] for run in runs]
        return cls(np.array(points), np.stack([run.measure(metric, resamples.rows) for run in runs]))

    @classmethod
    def per_class(cls, runs: Sequence[Measured], resamples: Resamples) -> dict[str, Self]:
        """Label -> the F1 of that label alone, of those that all runs have learned; empty where there are no labels."""
        points = [run.per_class() for run in runs]
        draws = [run.per_class(resamples.rows) for run in runs]
        return {
            label: cls(np.array([run[label][0] for run in points]), np.stack([run[label] for run in draws]))
            for label in points[0]
            if all(label in run for run in points)  # the rows of a seed may lack one that no test row has either
        }

    def minus(self, other: RunScores) -> RunScores:
        """Run by run and resample by resample: the same seed on the same rows."""
        return RunScores(self.points - other.points, self.draws - other.draws)
