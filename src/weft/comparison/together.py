"""Alone or together: a config of several tasks cut into configs of some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from weft.errors import ConfigError, Fault

ALONE, TOGETHER = "alone", "together"
_BY_TASK = ("keywords", "counts")  # options of conditioning methods that are tables of tasks


def each_and_all(base: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names and configs of each task alone, every pair of more than two, and all tasks."""
    tasks = base.get("tasks")
    if not isinstance(tasks, Mapping) or len(tasks) < 2:
        raise ConfigError(Fault("together", "needs a base with at least two tasks"))
    sizes = dict.fromkeys((1, 2, len(tasks)))
    for names in (names for size in sizes for names in combinations(tasks, size)):
        yield _joint_name(names, list(tasks)), only(base, names)


def each_alone(base: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tasks of a config, each with the config of that task alone; the whole under no name where it has none."""
    tasks = base.get("tasks")
    if not isinstance(tasks, Mapping):  # what is wrong with it is said where it is read
        yield "", dict(base)
        return
    for name in tasks:
        yield name, only(base, [name])


def _joint_name(names: Sequence[str], tasks: Sequence[str]) -> str:
    if len(names) == len(tasks):
        return TOGETHER
    return " + ".join(names) if len(names) > 1 else f"{names[0]} {ALONE}"


def only(base: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The config of some of the tasks: phases, methods and choice without the others."""
    document = {**base, "tasks": {name: _task_of(base["tasks"][name], names) for name in names}}
    phases = base.get("phases")
    if isinstance(phases, list | tuple):
        document["phases"] = [phase for phase in (_phase_of(phase, names) for phase in phases) if phase is not None]
    training = base.get("training")
    if isinstance(training, Mapping) and training.get("choose_by") in [
        name for name in base["tasks"] if name not in names
    ]:
        document["training"] = {**training, "choose_by": "overall"}
    if "conditioning" in base:
        document["conditioning"] = _method_of(base["conditioning"], names)
    return document


def _task_of(task: Any, names: Sequence[str]) -> Any:
    """A task that takes no spans from a task that is left out; its own rows name theirs."""
    if not isinstance(task, Mapping) or task.get("spans_from") in (None, *names):
        return task
    return {key: value for key, value in task.items() if key != "spans_from"}


def _phase_of(phase: Any, names: Sequence[str]) -> Any:
    """A phase with these tasks alone; None where it has none of them."""
    if not isinstance(phase, Mapping) or not isinstance(phase.get("tasks"), list | tuple):
        return phase
    left = [name for name in phase["tasks"] if name in names]
    return {**phase, "tasks": left} if left else None


def _method_of(conditioning: Any, names: Sequence[str]) -> Any:
    """A conditioning method, or several, without what it says of other tasks: words of their labels, their layers."""
    if isinstance(conditioning, list | tuple):
        return [_method_of(method, names) for method in conditioning]
    if not isinstance(conditioning, Mapping):
        return conditioning
    said = {key: conditioning[key] for key in _BY_TASK if isinstance(conditioning.get(key), Mapping)}
    left = {key: {task: value for task, value in values.items() if task in names} for key, values in said.items()}
    return {**conditioning, **left}


def columns_of(task: str, tasks: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What a task is compared with, each with the config that stands for it: alone, with each other, with all."""
    yield ALONE, _joint_name((task,), tasks)
    for other in tasks if len(tasks) > 2 else ():
        if other != task:
            pair = [name for name in tasks if name in (task, other)]
            yield f"with {other}", _joint_name(pair, tasks)
    yield TOGETHER, TOGETHER
