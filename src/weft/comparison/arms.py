"""The arms of a comparison, each a whole config: from variants, from axes, or from tasks alone and together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Any

from weft.comparison.grid import Grid
from weft.comparison.merge import merge, nest, set_twice
from weft.comparison.names import LONGEST_NAME, axis_labels, is_name, shown_name
from weft.comparison.together import columns_of, each_alone, each_and_all
from weft.config.document import parse_experiment
from weft.config.experiment import Experiment
from weft.errors import ConfigError, Fault
from weft.spec import dotted, nearest

_ALLOWED = f"up to {LONGEST_NAME} letters, digits, spaces and . , : / + - _ ( ) = %, a letter or digit first"
_MOST_ARMS = 500
_SHARED = {  # keys that belong to the whole comparison, and what to do instead
    "seed": "all variants have the same seeds; set `seeds` of the grid",
    "data": "all variants read from the same folder; set `data` of the base",
}
_GRID_KEYS = dict.fromkeys(Grid.model_fields, "is a key of the grid: write it above the first [table] of the file")


@dataclass(frozen=True)
class Arm:
    """One config of a comparison, without `seed` and `data`, which belong to the whole."""

    name: str
    place: str  # the dotted path by which faults name it
    document: dict[str, Any]
    variant: str = ""  # that it belongs to, where each task has an arm of its own

    @property
    def folder(self) -> str:
        """The name as a folder can have it; no two arms have the same."""
        return re.sub(r"[^\w.+-]+", "_", self.name)

    def at(self, seed: int, size: int | None = None) -> dict[str, Any]:
        """The config of one run: with a seed, and with no more training rows per task than `size`."""
        return {**limit_rows(self.document, size), "seed": seed}


def limit_rows(document: dict[str, Any], size: int | None) -> dict[str, Any]:
    """A config with no more training rows per labelled task than `size`; raw text, which has no labels, stays whole."""
    if size is None:
        return document
    tasks = parse_experiment(document).tasks
    labelled = {name: task for name, task in tasks.items() if task.format is None and not task.without_rows}
    limits = {name: {"limit": min(size, task.limit or size)} for name, task in labelled.items()}
    limited: dict[str, Any] = merge(document, {"tasks": limits})
    return limited


@dataclass(frozen=True)
class Column:
    """The arm that stands for a variant of a task; the first variant of a task is what the others are held against."""

    task: str
    variant: str
    arm: str


def make_arms(grid: Grid) -> list[Arm]:
    """Every config of the grid, right or wrong; raises ConfigError where it cannot be said which there are."""
    base = own_keys(grid.base)
    if grid.together:
        if grid.variants or grid.axes or grid.apart:
            raise ConfigError(Fault("together", "makes variants of its own; remove it, or variants, axes and apart"))
        return [Arm(name, f"together ({name})", document) for name, document in each_and_all(base)]
    count = max(len(grid.variants), 1) * prod(map(len, grid.axes.values()))
    if count > _MOST_ARMS:
        raise ConfigError(Fault("axes", f"make {count:,} variants; {_MOST_ARMS} are allowed"))
    arms = list(_varied(base, grid))
    return [part for arm in arms for part in _apart(arm)] if grid.apart else arms


def own_keys(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a config says but for what all arms have in common."""
    return {key: value for key, value in document.items() if key not in _SHARED | _GRID_KEYS}


def make_columns(grid: Grid, arms: Mapping[str, tuple[Arm, Experiment]]) -> list[Column]:
    """Which arms answer each task, the one that the others are held against first."""
    tasks = list(dict.fromkeys(task for _, experiment in arms.values() for task in experiment.tasks))
    if grid.together:
        return [Column(task, variant, arm) for task in tasks for variant, arm in columns_of(task, tasks)]
    return [
        Column(task, arm.variant or arm.name, arm.name)
        for task in tasks
        for arm, experiment in arms.values()
        if task in experiment.tasks
    ]


def _apart(arm: Arm) -> list[Arm]:
    """An arm for each task of a variant."""
    return [
        Arm(f"{arm.name} - {task}" if task else arm.name, arm.place, document, arm.name)
        for task, document in each_alone(arm.document)
    ]


def _varied(base: dict[str, Any], grid: Grid) -> Iterator[Arm]:
    """The variants at every combination of the axes' values."""
    labels = axis_labels(grid.axes)
    points = list(product(*(zip(labels[key], values, strict=True) for key, values in grid.axes.items())))
    for name, override in grid.variants.items() or [("", {})]:
        changed = merge(base, own_keys(nest(override)))
        for point in points:
            full = ", ".join(filter(None, (name, *(label for label, _ in point)))) or "base"
            values = own_keys(nest({key: value for key, (_, value) in zip(grid.axes, point, strict=True)}))
            place = "base" if not name and not point else f"variants.{shown_name(full)}"
            yield Arm(full, place, merge(changed, values))


def naming_faults(grid: Grid, arms: Sequence[Arm]) -> Iterator[Fault]:
    """Keys and names of the grid that are not possible."""
    yield from (Fault(f"base.{key}", remedy) for key, remedy in _GRID_KEYS.items() if key in grid.base)
    yield from _unknown_tasks(grid)
    for name in grid.variants:
        if not is_name(name):
            yield Fault(f"variants.{shown_name(name)}", f"is not possible as a name; allowed: {_ALLOWED}")
    for place, override in _overrides(grid):
        if any(not part.strip() for key in override for part in key.split(".")):
            yield Fault(place, "a key is empty, or has an empty part between its dots")
        misplaced = (_SHARED | _GRID_KEYS).items()
        yield from (Fault(f"{place}.{key}", remedy) for key, remedy in misplaced if key in nest(override))
        yield from (Fault(f"{place}.{key}", "is set twice; remove one of them") for key in set_twice(override))
    repeated = [key for key, values in grid.axes.items() if any(one == other for one, other in combinations(values, 2))]
    yield from (Fault(f"axes.{key}", "the same value is there twice; remove one of them") for key in repeated)
    seen: dict[str, Arm] = {}
    for arm in arms if not repeated else ():
        other = seen.setdefault(unicodedata.normalize("NFKC", arm.folder).casefold(), arm)
        if other is not arm:
            yield Fault(arm.place, f"has nearly the same name as {other.place}; change one of them")


def _overrides(grid: Grid) -> list[tuple[str, Mapping[str, Any]]]:
    """What changes the base, and where that stands in the file."""
    return [*((f"variants.{shown_name(name)}", change) for name, change in grid.variants.items()), ("axes", grid.axes)]


def _unknown_tasks(grid: Grid) -> Iterator[Fault]:
    """Changes to a task that the base does not have; a whole one, with its kind, may be added."""
    known = grid.base.get("tasks")
    for place, override in _overrides(grid):
        changed = nest(override).get("tasks")
        if not isinstance(known, Mapping) or not isinstance(changed, Mapping):
            continue
        for name, change in changed.items():
            if name not in known and isinstance(change, Mapping) and "kind" not in change:
                message = f"the base has no such task; its tasks are: {', '.join(known)}{nearest(name, known)}"
                yield Fault(dotted((place, "tasks", name)), message)
