"""One run of a grid, through the ordinary `train`, and what is kept of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.comparison.jobs import Job
from weft.comparison.store import RunResult
from weft.errors import DivergedError
from weft.metrics.outcomes import Outcomes
from weft.metrics.outcomes.file import OUTCOMES, read_outcomes
from weft.model.devices import Device
from weft.reports.record import BestRecord, RunRecord, read_record
from weft.training.folder import RunFolder
from weft.training.progress import Callback
from weft.training.run import train_one_of_many
from weft.training.shared import Shared

Progress = Callable[[float], None]  # told which part of a run is done


@dataclass(frozen=True)
class FinishedRun:
    """What a run gives: numbers about it, and the outcomes of each task's rows, none of one that diverged."""

    result: RunResult
    outcomes: dict[str, Outcomes]


class Worker:
    """Runs jobs one after the other, sharing what does not change between them.

    Args:
        folder: of the grid; runs live below it while they learn, and stay where `keep` says so.
        shared: what has been loaded and read before, if anything.
    """

    def __init__(self, folder: Path, device: Device, keep: bool, shared: Shared | None = None) -> None:
        self.folder, self.device, self.keep = folder, device, keep
        self.shared = shared or Shared()

    def run(self, job: Job, progress: Progress) -> FinishedRun:
        """Train what a job describes; a run that was broken off goes on where it stopped."""
        target = run_folder(self.folder, job)
        running = RunFolder(target)
        if not running.has_state():
            shutil.rmtree(running.path, ignore_errors=True)  # what one that was killed has left
        if not target.exists():  # it does where a process was killed after the run and before its result was kept
            try:
                self._train(job, target, running.has_state(), progress)
            except DivergedError as error:
                shutil.rmtree(running.path, ignore_errors=True)
                return FinishedRun(RunResult.without_scores(str(error)), {})
        finished = FinishedRun(result_of(read_record(target)), read_outcomes(target / OUTCOMES))
        if not self.keep:
            shutil.rmtree(target)
        return finished

    def _train(self, job: Job, target: Path, resume: bool, progress: Progress) -> None:
        train_one_of_many(
            dict(job.document),
            target,
            data=job.base,
            device=self.device,
            resume=resume,
            callback=_Steps(progress),
            shared=self.shared,
            fold=job.fold_of(),
            resumable=job.resumable,
        )


def run_folder(folder: Path, job: Job) -> Path:
    """Where a run lives while it learns."""
    return folder / "runs" / job.key


def result_of(record: RunRecord) -> RunResult:
    """What is kept of a run's record."""
    agreements = [dict(entry.agreement) for entry in record.history if entry.agreement]
    return RunResult(
        seconds=record.seconds or 0.0,
        parameters=record.added_parameters or 0,
        trained_parameters=record.trained_parameters or 0,
        dev=record.best.get("overall", BestRecord()).value or 0.0,  # of a run that learned nothing, too
        reported_on={name: task.reported_on for name, task in record.tasks.items()},
        scores={name: dict(task.result.measures.scores) for name, task in record.tasks.items()},
        baselines={name: dict(task.result.baselines) for name, task in record.tasks.items()},
        agreement=agreements[-1] if agreements else {},
    )


class _Steps(Callback):
    """Passes on which part of the steps is done."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.steps, self.done = progress, 1, 0

    def begin(self, steps: int, done: int) -> None:
        self.steps, self.done = max(1, steps), done

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        self.done += 1
        self.progress(self.done / self.steps)
