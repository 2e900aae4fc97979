"""From a grid file to a verdict: the plan, the runs, the tables."""

from __future__ import annotations

import math
import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from weft.checks.settings import find_slow_precision
from weft.comparison.checked import read_checked, write_checked
from weft.comparison.engine import Engine, Here
from weft.comparison.expected import expected_seconds, threads
from weft.comparison.follower import Alike, Follower
from weft.comparison.grid import read_grid
from weft.comparison.jobs import Job, list_jobs
from weft.comparison.plan import GridPlan, describe_plan, expand, variant_config
from weft.comparison.progress import ComparisonCallback, LiveTable, in_words
from weft.comparison.record import build_record
from weft.comparison.result import Comparison
from weft.comparison.store import Store
from weft.comparison.winners import winners
from weft.comparison.worker import Worker, run_folder
from weft.config.document import parse_experiment
from weft.data.atomic import write_atomically
from weft.errors import ConfigError, WeftError, kind_of
from weft.model.devices import Device, choose_device
from weft.reports.comparison_csv import write_csv
from weft.reports.comparison_markdown import render_markdown
from weft.reports.comparison_page import render_comparison as render
from weft.reports.comparison_record import ComparisonRecord
from weft.reports.record import to_json
from weft.training.interrupt import Interrupted
from weft.training.lock import locked
from weft.training.shared import Shared
from weft.training.timing import RunTimer, can_be_timed

EngineName = Literal["local", "ray"]
Keep = Literal["none", "best", "all"]
_LONG = 120  # seconds of a run from which it is worth going on with a part of it


def compare(
    grid: str | os.PathLike[str] | Mapping[str, Any],
    output: str | os.PathLike[str] | None = None,
    *,
    overrides: Sequence[str] = (),
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    jobs: int | None = None,
    engine: EngineName = "local",
    keep: Keep = "none",
    device: Device = "auto",
    callback: ComparisonCallback | None = None,
) -> Comparison:
    """Compare the variants of a grid on the same data, seeds and budget, and say which is better, and how surely.

    A grid that was broken off goes on where it stopped, and of one that was changed only what changed runs again.

    Args:
        grid: a TOML file, or the same as a dict.
        output: the folder of results, tables and pages; by default `comparisons/` and the name of the file, with
            `-quick` after it for a quick look. A dict has no name, so it needs one.
        overrides: `key=value` changes to the grid, for example `seeds=10` or `base.training.epochs=5`.
        data: the folder of the tasks' files.
        quick: few seeds and rows, to see it run; marked as such everywhere.
        jobs: runs at once; 1 by default, and with Ray as many as the cluster has cores.
        engine: where runs are made: processes on this machine, or a Ray cluster.
        keep: which trained models stay: none, the best for each task, or all.
        callback: sees the grid; a live table on standard error by default.
    """
    _check_options(grid, output, jobs, engine, keep)
    shared = Shared()
    name = "grid" if isinstance(grid, Mapping) else Path(grid).stem
    folder = Path(output) if output is not None else Path("comparisons") / (name + "-quick" * quick)
    before = read_checked(folder)
    plan = expand(read_grid(grid, overrides), data, quick=quick, device=device, shared=shared, before=before)
    watch = callback or LiveTable()
    usual = {"--engine": "local", "--keep": "none", "--device": "auto"}
    options = {"--data": data, "--jobs": jobs, "--engine": engine, "--keep": keep, "--device": device}
    said = {option: value for option, value in options.items() if value != usual.get(option)}
    command = _command(grid, folder, overrides, quick, said)
    with locked(folder / "compare.lock", f"comparing into {folder}"):
        try:
            return _Comparing(plan, name, folder, engine, jobs, device, shared, watch).run(keep)
        except (Interrupted, KeyboardInterrupt) as error:
            stopped = error.exit_code - 128 if isinstance(error, Interrupted) else signal.SIGINT
            raise Interrupted(folder, command, stopped) from None
        finally:
            watch.end()


def _check_options(grid: object, output: object, jobs: int | None, engine: str, keep: str) -> None:
    """Raise with everything that is wrong with the options of a call from Python."""
    faults = []
    if not isinstance(grid, str | os.PathLike | Mapping):
        faults.append(f"a grid is a TOML file or the same as a dict, but this is {kind_of(grid)}")
    if isinstance(grid, Mapping) and output is None:
        faults.append("a grid that is a dict has no name; say where to, as in weft.compare(grid, 'comparisons/mine')")
    if jobs is not None and jobs < 1:
        faults.append(f"jobs is {jobs}, but there must be at least 1 run at a time")
    for option, value, allowed in (("engine", engine, get_args(EngineName)), ("keep", keep, get_args(Keep))):
        if value not in allowed:
            faults.append(f"{option} {str(value)[:40]!r} is not one of: {', '.join(allowed)}")
    if faults:
        raise ConfigError(*faults)


def variant_toml(
    grid: str | os.PathLike[str] | Mapping[str, Any],
    name: str,
    *,
    overrides: Sequence[str] = (),
    data: str | os.PathLike[str] | None = None,
) -> str:
    """The config of one variant, ready for `weft train`."""
    return variant_config(expand(read_grid(grid, overrides), data), name)


class _Comparing:
    """One call: what is to be run, where, and who watches."""

    def __init__(
        self,
        plan: GridPlan,
        name: str,
        folder: Path,
        engine: EngineName,
        at_once: int | None,
        device: Device,
        shared: Shared,
        callback: ComparisonCallback,
    ) -> None:
        self.plan, self.name, self.folder, self.engine, self.at_once = plan, name, folder, engine, at_once
        self.device, self.shared, self.callback, self.store = device, shared, callback, Store(folder)

    def run(self, keep: Keep) -> Comparison:
        write_checked(self.folder, self.plan.checked)
        jobs = list_jobs(self.plan, choose_device(self.device).type)
        failures = self._finish(jobs, keep == "all")
        with suppress(OSError):
            (self.folder / "runs").rmdir()  # where nothing was to be kept
        record = build_record(self.plan, jobs, self.store, self.name)
        _write(self.folder, record)
        if keep == "best" and not failures:
            lower = {cell.task for cell in record.cells if cell.lower_is_better}
            best = dict(winners(self.plan, jobs, self.store, lower))
            self.callback.note("the best model of each task is trained once more, to be kept")
            jobs = list(best.values())
            failures = self._finish(jobs, True)
            for task, job in best.items():
                self.callback.note(f"best for {task}: {job.name}, in {run_folder(self.folder, job)}")
        if failures:
            raise WeftError(
                f"{len(failures)} of {len(jobs)} runs could not be finished, the first: {failures[0]}. What the others "
                f"say is in {self.folder}; mend the cause and call it again"
            )
        return Comparison(self.folder, record)

    def _finish(self, jobs: Sequence[Job], keep: bool) -> list[str]:
        """Make every run that is not there yet; what kept some from being finished."""
        pending = {job.key: job for job in jobs if not self._done(job, keep)}
        if not pending:
            return []
        engine, at_once = self._engine(keep, len(pending))
        with threads(engine.threads):
            expected = self._expected(list(pending.values()), at_once)
        seconds = {key: expected.get((job.arm, job.size), math.inf) for key, job in pending.items()}
        todo = [replace(job, resumable=seconds[key] > _LONG) for key, job in pending.items()]
        total = sum(seconds.values()) / at_once
        if len(jobs) == self.plan.runs:  # and not only the best once more
            self._tell_plan(len(jobs) - len(todo), total)
        follower = Follower(self.store, self.plan.columns, self.plan.metrics, todo, expected, at_once, self.callback)
        self.callback.begin(len(todo), total)
        engine.run(todo, follower)
        return [f"{job.name}: {reason}" for job, reason in follower.failures]

    def _done(self, job: Job, keep: bool) -> bool:
        """Whether a run is finished and, where it gave a model that is to be kept, that is there too."""
        if job.key not in self.store:
            return False
        return not keep or run_folder(self.folder, job).exists() or not self.store.has_scores(job.key)

    def _engine(self, keep: bool, runs: int) -> tuple[Engine, int]:
        """What makes the runs, and how many at once."""
        if self.engine == "ray":
            from weft.comparison.ray_cluster import RayCluster

            return RayCluster(self.folder, self.device, keep, self.at_once), self.at_once or 1
        count = self.at_once or 1
        if count == 1:
            return Here(Worker(self.folder, self.device, keep, self.shared)), 1
        from weft.comparison.processes import Processes

        # Also for a single run, which with more cores than the others would round, and so learn, in another way.
        return Processes(self.folder, self.device, keep, count), min(count, runs)

    def _expected(self, jobs: Sequence[Job], at_once: int) -> dict[Alike, float]:
        """About how long a run of each arm and size takes; only where that can be told."""

        def timer(job: Job) -> RunTimer | None:
            experiment = parse_experiment(dict(job.document))
            if not can_be_timed(experiment):
                return None
            return RunTimer(experiment, job.base, self.shared, device=self.device, fold=job.fold_of())

        return expected_seconds(jobs, timer, at_once)

    def _tell_plan(self, done: int, seconds: float) -> None:
        first, *others = describe_plan(self.plan)
        before = f", {done} of them done before" if done else ""
        for sentence in (f"{first}{before}: {in_words(seconds)}", *others, *self._slow()):
            self.callback.note(sentence)

    def _slow(self) -> list[str]:
        """What is said of half precision where this machine is slow in it."""
        if self.engine == "ray":
            return []
        arms = (parse_experiment(dict(arm.document)) for arm in self.plan.arms)
        found = (finding for experiment in arms for finding in find_slow_precision(experiment, self.device))
        return [f"{finding.full}: --set base.training.precision=fp32" for finding in islice(found, 1)]


def _write(folder: Path, record: ComparisonRecord) -> None:
    documents = {
        "compare.json": to_json(record.to_dict()),
        "compare.csv": write_csv(record),
        "compare.md": render_markdown(record),
        "compare.html": render(record),
    }
    for name, text in documents.items():
        write_atomically(folder / name, partial(Path.write_text, data=text, encoding="utf-8", newline=""))


def _command(
    grid: str | os.PathLike[str] | Mapping[str, Any],
    folder: Path,
    overrides: Sequence[str],
    quick: bool,
    options: Mapping[str, Any],
) -> str:
    """What to type to go on."""
    if isinstance(grid, Mapping):
        return f"weft.compare(grid, {str(folder)!r}, …)"
    words = ["weft", "compare", os.fspath(grid), "--output", str(folder), *(["--quick"] if quick else [])]
    words += [word for change in overrides for word in ("--set", change)]
    words += [str(word) for option, value in options.items() for word in (option, value)]
    return shlex.join(words)
