"""Losses, metrics, labels of costs, heads and sources of spans that do not suit the tasks that name them."""

from __future__ import annotations

from collections.abc import Mapping

from weft.config.experiment import Experiment
from weft.errors import ConfigError
from weft.heads.cosine import Cosine
from weft.losses import Loss
from weft.model.network import loss_of
from weft.targets import FittedTarget, Target
from weft.tasks import Task
from weft.training.faults import Faults


def check_losses(tasks: Mapping[str, Task], targets: Mapping[str, FittedTarget], faults: Faults) -> None:
    """Note every loss, metric and label that does not suit its task; those without rows have no fitted target."""
    for name, task in tasks.items():
        target, loss = task.target(), loss_of(task)
        if target.target_type not in loss.target_types or loss.reads != "scores":
            suited = (kind for kind, cls in Loss.kinds().items() if target.target_type in cls.target_types)
            kinds = [kind for kind in suited if Loss.kinds()[kind].reads == "scores"]
            message = f"{loss.to_dict()['kind']!r} does not suit this task; allowed: {', '.join(kinds)}"
            faults.add(f"tasks.{name}.loss", message)
        elif name in targets:
            with faults.catch(f"tasks.{name}.loss"):
                targets[name].outputs(loss)
                targets[name].build_loss(loss)
        if task.metric is not None and task.metric not in target.metrics:
            faults.add(f"tasks.{name}.metric", f"{task.metric!r} is not one of: {', '.join(target.metrics)}")
        for option, message in _misnamed(name, target, targets.get(name), faults):
            faults.add(f"tasks.{name}.{option}", message)


def _misnamed(name: str, target: Target, fitted: FittedTarget | None, faults: Faults) -> list[tuple[str, str]]:
    """The options that name labels which are none, as far as it is known which there are."""
    if not target.labels and (fitted is None or any(fault.path == f"tasks.{name}.train" for fault in faults)):
        return []
    counts = dict.fromkeys(target.labels, 0)
    if fitted is not None:
        counts |= dict(zip(fitted.labels, fitted.label_counts, strict=False))  # a kind may not have counted
    return list(target.find_misnamed(counts))


def check_without_rows(tasks: Mapping[str, Task], faults: Faults) -> None:
    """Note what tasks without training rows cannot have: another head, and all that only matters to learn."""
    for name, task in tasks.items():
        if not task.without_rows:
            continue
        place, why = f"tasks.{name}", "there are no training rows"
        if not isinstance(task.head, Cosine):
            kind = task.head.to_dict()["kind"]
            faults.add(f"{place}.head", f"{why}, so it must be 'cosine', not {kind!r}; leave it out, or name train")
        elif task.head.share is not None:
            faults.add(f"{place}.head.share", f"{why}, so its head is that of its own labels; leave it out")
        if task.dev is not None:
            faults.add(
                f"{place}.dev",
                f"{why}, so nothing is chosen by dev rows; to measure on them, name them test; or name train",
            )
        for option in ("loss", "fraction", "limit"):
            if getattr(task, option) is not None:
                faults.add(f"{place}.{option}", f"does nothing here: {why}; leave it out, or name train")


def check_phases(experiment: Experiment, targets: Mapping[str, FittedTarget], faults: Faults) -> None:
    """Note phases that fit heads which cannot be fitted at once, or that learn by a loss which suits no task."""
    tasks = {name: experiment.tasks[name] for name in experiment.learned if name in targets}
    can = [name for name, task in tasks.items() if can_be_fitted(task, targets[name])]
    for number, phase in enumerate(experiment.phases):
        named = [name for name in (phase.tasks or tasks) if name in tasks]
        unfit = [name for name in named if name not in can]
        if not named:  # the rows of its tasks could not be read, which is said there
            continue
        if phase.fit is not None and unfit:
            allowed = ", ".join(can) or "none here"
            message = f"the heads of {', '.join(unfit)} cannot be fitted at once: only linear heads of labels, scores "
            faults.add(f"phases.{number}.tasks", f"{message}and tags can; allowed: {allowed}")
        if phase.loss is not None and not any(is_contrastable(targets[name], phase.loss) for name in named):
            message = (
                f"{phase.loss.to_dict()['kind']!r} suits none of {', '.join(named)}: it needs labels of whole rows"
            )
            faults.add(f"phases.{number}.loss", message)


def can_be_fitted(task: Task, target: FittedTarget) -> bool:
    """Whether a task's head can be fitted at once: a linear one, whose loss is a sum over answers."""
    try:
        return task.has_linear_head and target.answer_loss(loss_of(task)) is not None
    except ConfigError:  # the loss does not suit; that is noted elsewhere
        return False


def is_contrastable(target: FittedTarget, loss: Loss) -> bool:
    """Whether a loss of what heads read suits a task: one that says its labels of whole rows."""
    return bool(target.row_labels) and target.target.target_type in loss.target_types


def check_sources(tasks: Mapping[str, Task], faults: Faults) -> None:
    """Note tasks that take spans from a task that gives none."""
    able = [name for name, task in tasks.items() if task.gives_spans]
    for name, task in tasks.items():
        source = task.spans_source
        if source is not None and source not in able:
            allowed = ", ".join(able) or "none here"
            faults.add(f"tasks.{name}.spans_from", f"{source!r} does not mark spans; allowed: {allowed}")


def check_heads(tasks: Mapping[str, Task], targets: Mapping[str, FittedTarget], width: int, faults: Faults) -> None:
    """Note heads that tasks share by name but that are not the same, for an encoder of this width."""
    first: dict[str, str] = {}
    for name, task in tasks.items():
        if task.head.share is None:
            continue
        other = first.setdefault(task.head.share, name)
        differences = ["their options differ"] if task.head != tasks[other].head else []
        if task.feature_size(width) != tasks[other].feature_size(width):
            differences.append("they read different numbers of vectors; compare `encode` and `features`")
        here, there = (_outputs(tasks, targets, one) for one in (name, other))
        if None not in (here, there) and here != there:
            differences.append(f"this one has {here} outputs and that one {there}")
        if differences:
            message = f"shares the head {task.head.share!r} with the task {other!r}, but {'; '.join(differences)}"
            faults.add(f"tasks.{name}.head", message)


def _outputs(tasks: Mapping[str, Task], targets: Mapping[str, FittedTarget], name: str) -> int | None:
    """The scores that a task's head gives, as far as that is known."""
    try:
        return targets[name].outputs(loss_of(tasks[name])) if name in targets else None
    except ConfigError:  # the loss does not suit; that is noted elsewhere
        return None
