"""Whether the arms of a comparison can run and be compared, found out before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.comparison.arms import Arm, limit_rows
from weft.comparison.faults import GridFaults
from weft.config.document import parse_experiment
from weft.config.experiment import Experiment
from weft.config.training import Training
from weft.errors import Fault
from weft.model.devices import Device
from weft.sampling.round_robin import RoundRobin
from weft.spec import nearest
from weft.tasks import Task
from weft.training.faults import Faults
from weft.training.prepare import PreparedRun, prepare
from weft.training.shared import Shared
from weft.training.task_data import Fold, read_task_data

_NEEDS_ROWS = "needs rows that all runs answer and none learns from: name a test file, or set `folds` of the grid"
_NO_ROWS = "there are no training rows to deal into folds: name a test file, and leave out `folds` of the grid"

CheckedArms = dict[str, tuple[Arm, Experiment]]  # those that could be read, by name


def compared_part(task: Task, folds: int | None) -> str | None:
    """The split whose rows a task is compared on; None where there is none that stays the same from run to run."""
    if folds is not None:
        return "train" if task.format is None else None
    return next((split for split in ("test", "dev") if split in task.sources()), None)


def check_compared(arms: CheckedArms, folds: int | None, faults: GridFaults) -> None:
    """Note labelled tasks that cannot be compared; raw text may be there to learn from alone."""
    for arm, experiment in arms.values():
        for name, task in experiment.tasks.items():
            if task.format is not None:
                continue
            if task.without_rows and (folds is not None or task.test is None):
                faults.add_to(arm, Fault(f"tasks.{name}.test", _NO_ROWS))
                continue
            if folds is not None and task.test is not None:
                faults.add_to(arm, Fault(f"tasks.{name}.test", "is not read with `folds`; remove one of them"))
            if compared_part(task, folds) is None:
                faults.add_to(arm, Fault(f"tasks.{name}.test", _NEEDS_ROWS))


def choose_metrics(arms: CheckedArms, asked: str | Mapping[str, str] | None, faults: GridFaults) -> dict[str, str]:
    """The metric of each task: the one asked for, else the first arm's own; notes tasks that do not have it."""
    wanted = asked if isinstance(asked, Mapping) else {}
    first = {name: task for _, experiment in reversed(arms.values()) for name, task in experiment.tasks.items()}
    for name in wanted:
        if name not in first and arms:
            near = nearest(name, first)
            faults.add(Fault("metric", f"names a task that is not there; the tasks are: {', '.join(first)}{near}"))
    metrics = {}
    for name, task in first.items():
        own = task.metric or task.target().default_metric
        metrics[name] = wanted.get(name, own) if not isinstance(asked, str) else asked
        if metrics[name] != own and metrics[name] not in task.target().metrics:
            known = ", ".join(task.target().metrics)
            faults.add(Fault(f"metric.{name}", f"{metrics[name][:40]!r} is not one of: {known}"))
        else:
            _check_metric(arms, name, metrics[name], faults)
    return metrics


def _check_metric(arms: CheckedArms, name: str, metric: str, faults: GridFaults) -> None:
    """Note arms whose kind of answer cannot be measured as the first arm's is."""
    for arm, experiment in arms.values():
        task = experiment.tasks.get(name)
        if task is not None and metric not in (task.metric, *task.target().metrics):
            known = ", ".join(task.target().metrics)
            faults.add_to(arm, Fault(f"tasks.{name}", f"cannot be compared by {metric!r}; its metrics are: {known}"))


def check_same(arms: CheckedArms, faults: GridFaults) -> None:
    """Note arms that say the same as another."""
    seen: list[tuple[Arm, Experiment]] = []
    for arm, experiment in arms.values():
        twin = next((other for other, same in seen if same == experiment), None)
        if twin is not None:
            faults.add_to(arm, Fault("", f"says the same as {twin.place}; change or remove one of them"))
        seen.append((arm, experiment))


def check_rows(
    arms: CheckedArms, base: Path, seed: int, folds: int | None, device: Device, shared: Shared, faults: GridFaults
) -> dict[str, int]:
    """Note what `weft check` calls errors, and tasks whose rows differ; gives the most training rows of each task."""
    rows: dict[str, int] = {}
    seen: list[tuple[Experiment, PreparedRun]] = []
    compared: dict[str, tuple[Arm, tuple[int, ...]]] = {}
    for arm, experiment in arms.values():
        core = _without_learning(experiment, seed)
        prepared = next((known for same, known in seen if same == core), None)
        if prepared is None:
            prepared = prepare(core, base, device=device, shared=shared)
            prepared.network = prepared.source = None  # those of every arm would fill the memory
            seen.append((core, prepared))
        for fault in prepared.faults:
            faults.add_to(arm, fault)
        for name, parts in prepared.rows.parts.items():
            rows[name] = max(rows.get(name, 0), len(parts["train"].rows) if "train" in parts else 0)
            lines = _answered(prepared, name, folds)
            other, theirs = compared.setdefault(name, (arm, lines))
            if lines and theirs and lines != theirs:
                message = f"has other rows to answer than in {other.place}; all variants must answer the same"
                faults.add_to(arm, Fault(f"tasks.{name}", message))
    return rows


def _answered(prepared: PreparedRun, task: str, folds: int | None) -> tuple[int, ...]:
    """The lines of the rows that a task is compared on; none where they cannot be read."""
    split = compared_part(prepared.experiment.tasks[task], folds) or ""
    part = (prepared.rows.parts if split == "test" else prepared.rows.files)[task].get(split)
    return tuple(row.line for row in part.rows) if part is not None and part.complete else ()


def check_divisions(
    arms: CheckedArms,
    base: Path,
    runs: Sequence[tuple[int, Fold | None]],
    size: int | None,
    shared: Shared,
    faults: GridFaults,
) -> None:
    """Note what the rows of a run, drawn by its seed, could not be learned from: the first such run of each arm.

    The smallest size tells for all, for it is part of the others.
    """
    divided: list[tuple[dict[str, Task], list[Fault]]] = []
    for arm, _ in arms.values():
        if faults.has(arm):
            continue
        tasks = {n: t for n, t in parse_experiment(limit_rows(arm.document, size)).tasks.items() if t.format is None}
        found = next((known for same, known in divided if same == tasks), None)
        if found is None:
            found = next(filter(None, (_division_faults(tasks, base, *run, size, shared) for run in runs)), [])
            divided.append((tasks, found))
        for fault in found:
            faults.add_to(arm, fault)


def _division_faults(
    tasks: dict[str, Task], base: Path, seed: int, fold: Fold | None, size: int | None, shared: Shared
) -> list[Fault]:
    """What is wrong with the rows of one run, and which run that is."""
    found = Faults()
    read_task_data(tasks, base, seed, found, fold=fold, read=shared.files)
    of_fold = f", fold {fold.index + 1} of {fold.count}" if fold is not None else ""
    at_most = f", at most {size:,} training rows" if size is not None else ""
    return [Fault(fault.path, f"{fault.message} (seed {seed}{of_fold}{at_most})") for fault in found]


def _without_learning(experiment: Experiment, seed: int) -> Experiment:
    """What has to be the same for two experiments to have the same rows, network and device."""
    training = Training(precision=experiment.training.precision, report_to=experiment.training.report_to)
    update = {"seed": seed, "training": training, "sampling": RoundRobin()}
    return experiment.model_copy(update=update)
