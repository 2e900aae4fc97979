"""Keeps what the runs of a grid give, and works out how far all of them are."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from weft.comparison.arms import Column
from weft.comparison.engine import Listener
from weft.comparison.jobs import Job
from weft.comparison.progress import ComparisonCallback, MeanSoFar
from weft.comparison.store import Store
from weft.comparison.worker import FinishedRun

_LEARNING = 0.95  # of a run; it is done when its result is kept, and not before
Alike = tuple[str, int | None]  # runs of one arm and size take about the same time


@dataclass
class _UnderWay:
    job: Job
    began: float
    part: float = 0.0


class Follower(Listener):
    """Writes every finished run to the store, and tells a callback what is done, left and known.

    Args:
        columns: the variants of each task, in the order they are shown.
        metrics: what each task is compared by.
        jobs: all runs that are to be made.
        expected: about how many seconds a run takes, where that can be told.
        at_once: how many runs are under way at a time.
    """

    def __init__(
        self,
        store: Store,
        columns: Sequence[Column],
        metrics: Mapping[str, str],
        jobs: Sequence[Job],
        expected: Mapping[Alike, float],
        at_once: int,
        callback: ComparisonCallback,
    ) -> None:
        self.store, self.columns, self.metrics, self.callback = store, columns, metrics, callback
        self.left = {job.key: job for job in jobs}
        self.total, self.at_once, self.expected = len(jobs), at_once, dict(expected)
        self.under_way: dict[str, _UnderWay] = {}
        self.taken: dict[Alike, list[float]] = defaultdict(list)
        self.values: dict[tuple[str, str, int | None], list[float]] = defaultdict(list)
        self.failures: list[tuple[Job, str]] = []

    def started(self, job: Job) -> None:
        self.under_way[job.key] = _UnderWay(job, time.monotonic())
        self._tell()

    def progress(self, job: Job, part: float) -> None:
        self.under_way[job.key].part = _LEARNING * part  # the rest is measuring
        self._tell()

    def finished(self, job: Job, run: FinishedRun) -> None:
        self.store.write(job.key, run.result, run.outcomes)
        self.taken[job.arm, job.size].append(time.monotonic() - self._leave(job).began)
        if run.result.diverged:
            self.callback.note(f"{job.name}: {run.result.diverged}")
        for column in self.columns:
            if column.arm == job.arm and not run.result.diverged:
                score = run.result.scores[column.task].get(self.metrics[column.task])
                self.values[column.task, column.variant, job.size] += [] if score is None else [score]
        self._tell()

    def failed(self, job: Job, reason: str) -> None:
        self._leave(job)
        self.failures.append((job, reason))
        self.callback.note(f"{job.name} cannot be finished: {reason}")
        self._tell()

    def interrupted(self) -> None:
        self.callback.note("stopping: the runs under way write their states down first")

    @property
    def seconds_left(self) -> float:
        """About how long the runs that are not done will take; infinite where that cannot be told."""
        done = {key for key, run in self.under_way.items() if run.part >= 1}
        parts = {key: 1 - run.part for key, run in self.under_way.items()}
        off = self._off()
        seconds = [self._seconds(job, off) * parts.get(key, 1.0) for key, job in self.left.items() if key not in done]
        return sum(seconds) / self.at_once

    def means(self) -> list[MeanSoFar]:
        """What is known so far, task by task, in the order of the variants, from small sizes to all."""
        order = {(column.task, column.variant): place for place, column in enumerate(self.columns)}
        ordered = sorted(self.values, key=lambda cell: (order[cell[0], cell[1]], cell[2] is None, cell[2] or 0))
        known = {cell: values for cell in ordered if (values := self.values[cell])}
        return [MeanSoFar(*cell, len(values), fmean(values)) for cell, values in known.items()]

    def _seconds(self, job: Job, off: float) -> float:
        """What such runs have taken, else what they were expected to, corrected by how far others were `off`."""
        alike = (job.arm, job.size)
        return median(self.taken[alike]) if self.taken.get(alike) else self.expected.get(alike, math.inf) * off

    def _off(self) -> float:
        """How many times as long as expected the runs so far have taken."""
        taken = {alike: seconds for alike, seconds in self.taken.items() if alike in self.expected}
        expected = sum(len(seconds) * self.expected[alike] for alike, seconds in taken.items())
        return sum(map(sum, taken.values())) / expected if expected else 1.0

    def _leave(self, job: Job) -> _UnderWay:
        self.left.pop(job.key)
        return self.under_way.pop(job.key)

    def _tell(self) -> None:
        done = self.total - len(self.left) + sum(run.part for run in self.under_way.values())
        names = [run.job.name for run in self.under_way.values()]
        self.callback.update(done, names, self.seconds_left, self.means())
