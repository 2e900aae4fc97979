"""How the runs of a grid are made: here, one after the other; `processes` and `ray_cluster` make several at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

from weft.comparison.jobs import Job
from weft.comparison.worker import FinishedRun, Worker
from weft.errors import WeftError
from weft.training.interrupt import Interrupted


class Listener(ABC):
    """Hears what becomes of every run."""

    @abstractmethod
    def started(self, job: Job) -> None:
        """A run has begun."""

    @abstractmethod
    def progress(self, job: Job, part: float) -> None:
        """This part of its steps is done."""

    @abstractmethod
    def finished(self, job: Job, run: FinishedRun) -> None:
        """It has ended well."""

    @abstractmethod
    def failed(self, job: Job, reason: str) -> None:
        """It cannot be finished; the others go on."""

    @abstractmethod
    def interrupted(self) -> None:
        """Somebody wants it to stop; the runs under way write their states down first."""


class Engine(ABC):
    """Carries out runs."""

    threads: int | None = None  # of a run, where that is told; else those of this process

    @abstractmethod
    def run(self, jobs: Sequence[Job], listener: Listener) -> None:
        """Carry out all of them; raises `Interrupted` when asked to stop, with all that is finished told before."""


class Here(Engine):
    """One run after the other, in this process."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    def run(self, jobs: Sequence[Job], listener: Listener) -> None:
        for job in jobs:
            listener.started(job)
            try:
                run = self.worker.run(job, partial(listener.progress, job))
            except Interrupted:
                raise
            except WeftError as error:
                listener.failed(job, str(error))
            else:
                listener.finished(job, run)
