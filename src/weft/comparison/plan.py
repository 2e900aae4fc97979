"""From a grid to the plan of its runs, with every fault of every variant found before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import tomli_w

from weft.comparison.arms import Arm, Column, limit_rows, make_arms, make_columns, naming_faults, own_keys
from weft.comparison.check import (
    CheckedArms,
    check_compared,
    check_divisions,
    check_rows,
    check_same,
    choose_metrics,
    compared_part,
)
from weft.comparison.checked import Checked, check_key
from weft.comparison.faults import GridFaults
from weft.comparison.grid import Grid
from weft.comparison.significance import seeds_needed, smallest_p
from weft.config.document import parse_experiment
from weft.errors import ConfigError
from weft.model.devices import Device
from weft.spec import nearest
from weft.training.shared import Shared
from weft.training.task_data import Fold

_QUICK_SEEDS, _QUICK_ROWS = 3, 200


@dataclass(frozen=True)
class GridPlan:
    """What is to run, and what stands where in the table."""

    arms: tuple[Arm, ...]
    columns: tuple[Column, ...]
    seeds: tuple[int, ...]
    sizes: tuple[int | None, ...]  # training rows per task, smaller ones first; None for all
    folds: int | None
    metrics: dict[str, str]  # of the tasks that are compared
    equivalence: float
    base_folder: Path  # of the tasks' files
    checked: Checked
    quick: bool
    together: bool
    notes: tuple[str, ...] = ()

    @property
    def comparisons(self) -> int:
        """How many cells of the table are held against another."""
        return (len(self.columns) - len(self.metrics)) * len(self.sizes)

    @property
    def runs(self) -> int:
        """How many runs there are: variants times seeds, sizes and folds."""
        return prod(map(len, (self.arms, self.seeds, self.sizes))) * (self.folds or 1)


def expand(
    grid: Grid,
    data: str | os.PathLike[str] | None = None,
    *,
    quick: bool = False,
    device: Device = "auto",
    shared: Shared | None = None,
    before: Checked | None = None,
) -> GridPlan:
    """The plan of a grid; raises one ConfigError with all faults of all arms, of their files and networks too.

    Args:
        grid: see `read_grid`.
        data: the folder of the tasks' files, instead of the base's.
        quick: no more than three seeds, and 200 training rows per task.
        device: where it would run.
        shared: keeps what is read for the runs that follow.
        before: what the last check found; where nothing has changed since, files and networks are not looked at again.
    """
    shared = shared or Shared()
    drafts = make_arms(grid)
    faults = GridFaults(drafts, own_keys(grid.base))
    faults.add(*naming_faults(grid, drafts))
    folder = Path(grid.base["data"]) if data is None else Path(data).expanduser().resolve()
    seeds = grid.seeds[:_QUICK_SEEDS] if quick else grid.seeds
    arms = _parse(drafts, quick, faults)
    check_compared(arms, grid.folds, faults)
    metrics = choose_metrics(arms, grid.metric, faults)
    check_same(arms, faults)
    key = check_key(arms, grid, seeds, folder, device)
    if before is not None and before.key == key and not faults.told():
        checked = before
    else:
        rows = check_rows(arms, folder, seeds[0], grid.folds, device, shared, faults)
        runs = [(seed, fold) for seed in seeds for fold in folds_of(grid.folds)]
        check_divisions(arms, folder, runs, min(filter(None, grid.sizes), default=None), shared, faults)
        checked = Checked(key, max(rows.values(), default=0))
    if found := faults.told():
        raise ConfigError(*found)
    parts = {name: compared_part(task, grid.folds) for _, one in arms.values() for name, task in one.tasks.items()}
    sizes, notes = _sizes(grid.sizes, checked.rows)
    return GridPlan(
        arms=tuple(arm for arm, _ in arms.values()),
        columns=tuple(column for column in make_columns(grid, arms) if parts[column.task] is not None),
        seeds=seeds,
        sizes=sizes,
        folds=grid.folds,
        metrics={name: metric for name, metric in metrics.items() if parts[name] is not None},
        equivalence=grid.equivalence,
        base_folder=folder,
        checked=checked,
        quick=quick,
        together=grid.together,
        notes=(*notes, *_part_notes(parts)),
    )


def folds_of(count: int | None) -> list[Fold | None]:
    """Every fold of a run's rows; None where its rows are not dealt into folds."""
    return [None] if count is None else [Fold(count, index) for index in range(count)]


def _parse(drafts: Sequence[Arm], quick: bool, faults: GridFaults) -> CheckedArms:
    """The arms whose configs can be read, cut to few rows where it is to be quick."""
    arms: CheckedArms = {}
    for arm in drafts:
        try:
            experiment = parse_experiment(arm.document)
            if quick:
                arm = replace(arm, document=limit_rows(arm.document, _QUICK_ROWS))
                experiment = parse_experiment(arm.document)
            arms[arm.name] = arm, experiment
        except ConfigError as error:
            for fault in error.located:
                faults.add_to(arm, fault)
    return arms


def _sizes(asked: Sequence[int | None], rows: int) -> tuple[tuple[int | None, ...], list[str]]:
    """The sizes with what there are no rows for as all of them, and a note where that happens."""
    large = [size for size in asked if size is not None and size >= rows]
    small = tuple(size for size in asked if size is not None and size < rows)
    every = not small or len(small) < len(asked)
    named = ", ".join(f"{size:,}" for size in large)
    notes = [f"sizes: {named} is no less than all {rows:,} training rows, and is named all"] if large else []
    return (*small, *([None] if every else [])), notes


def _part_notes(parts: Mapping[str, str | None]) -> Iterator[str]:
    for name, part in parts.items():
        if part == "dev":
            yield f"{name} is measured on its dev rows, which also chose the epoch; a test file, or folds, is fairer"
        if part is None:
            yield f"{name} is learned from but not compared: no file of raw text stays the same from run to run"


def describe_plan(plan: GridPlan) -> list[str]:
    """How many runs there are, what a reader should know of them, and what they can decide."""
    factors = [(len(plan.arms), "variant"), (len(plan.seeds), "seed")]
    factors += [(len(plan.sizes), "size")] if len(plan.sizes) > 1 else []
    factors += [(plan.folds, "fold")] if plan.folds else []
    product = " × ".join(count(number, thing) for number, thing in factors)
    first = f"{'quick look: ' * plan.quick}{count(plan.runs, 'run')} ({product})"
    return [first, *plan.notes, what_can_be_decided(plan)]


def what_can_be_decided(plan: GridPlan) -> str:
    """What this many seeds can say, and how many would say more."""
    seeds, comparisons = len(plan.seeds), plan.comparisons
    if seeds == 1:
        return "1 seed: figures, but no verdicts; how much a figure owes to the seed cannot be known from one."
    if not comparisons:
        return f"{count(seeds, 'seed')}: figures with intervals; there is nothing to hold them against."
    said = f"{count(seeds, 'seed')}, {count(comparisons, 'comparison')}: "
    needed, smallest = seeds_needed(comparisons), f"the smallest possible p is {smallest_p(seeds):.4g}"
    if seeds >= needed:
        return said + f"a difference can be called better or worse ({smallest})."
    counted = f", which counts {comparisons} times" if seeds >= seeds_needed(1) else ""
    return said + f"no difference can be called better or worse ({smallest}{counted}); {needed} seeds would do."


def count(number: int, thing: str) -> str:
    """`1 seed`, `8 seeds`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def variant_config(plan: GridPlan, name: str) -> str:
    """An arm's config as a TOML file for `weft train`, with the folder of the data and the first seed."""
    arms = {arm.name: arm for arm in plan.arms}
    if name not in arms:
        raise ConfigError(
            f"there is no variant {name[:80]!r}; the variants are: {', '.join(arms)}{nearest(name, arms)}"
        )
    return tomli_w.dumps({"data": str(plan.base_folder), **arms[name].at(plan.seeds[0])})
