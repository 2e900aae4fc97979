"""Which tasks to train together: what each gains from each other, and the division of tasks that this speaks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from weft.comparison.together import ALONE, TOGETHER
from weft.reports.comparison_record import CellRecord, PairRecord

_MOST = 9  # tasks whose divisions can all be tried: 21,147 of them

Groups = tuple[tuple[str, ...], ...]


def pair_records(cells: Sequence[CellRecord], agreements: Mapping[str, float]) -> Iterator[PairRecord]:
    """What every task gains with every other, and how far their gradients agree, at the largest size."""
    largest = max((cell.size for cell in cells), key=lambda size: (size is None, size or 0), default=None)
    tasks = dict.fromkeys(cell.task for cell in cells)
    for cell in cells:
        other = _partner(cell, tuple(tasks))
        if other is None or cell.size != largest:
            continue
        agreement = agreements.get(f"{cell.task}~{other}", agreements.get(f"{other}~{cell.task}"))
        yield PairRecord(
            task=cell.task,
            other=other,
            size=cell.size,
            difference=cell.difference,
            low=cell.difference_low,
            high=cell.difference_high,
            verdict=cell.verdict,
            agreement=agreement,
        )


def choose_groups(tasks: Sequence[str], cells: Sequence[CellRecord]) -> Groups:
    """The division into models with the largest sum of gains that are shown; among equals the fewest models.

    A gain counts where it was called better or worse, else as none: tasks stay together unless that is shown to harm
    one more than it helps another. What a group of three or more would bring is known for all tasks together, and else
    taken to be the mean of its pairs (Standley et al. 2020).
    """
    gains = {(cell.task, cell.variant): _shown(cell) for cell in cells if cell.variant != ALONE}
    if len(tasks) > _MOST:
        return (tuple(tasks),)
    return min(_divisions(list(tasks)), key=lambda groups: (-_gain(groups, tuple(tasks), gains), len(groups)))


def _gain(groups: Groups, tasks: Sequence[str], gains: Mapping[tuple[str, str], float]) -> float:
    """Rounded, so that equals are equal whatever the order of a sum."""
    return round(sum(_task_gain(task, group, tasks, gains) for group in groups for task in group), 9)


def _task_gain(task: str, group: Sequence[str], tasks: Sequence[str], gains: Mapping[tuple[str, str], float]) -> float:
    if len(group) == 1:
        return 0.0
    if len(group) == len(tasks):
        return gains.get((task, TOGETHER), 0.0)
    return fmean(gains.get((task, f"with {other}"), 0.0) for other in group if other != task)


def _shown(cell: CellRecord) -> float:
    return cell.difference or 0.0 if cell.verdict in ("better", "worse") else 0.0


def _partner(cell: CellRecord, tasks: Sequence[str]) -> str | None:
    """The one task that a task was trained with, if it was one."""
    others = [task for task in tasks if task != cell.task]
    if cell.variant == TOGETHER and len(others) == 1:
        return others[0]
    return next((other for other in others if cell.variant == f"with {other}"), None)


def _divisions(tasks: list[str]) -> Iterator[Groups]:
    """Every way to divide tasks into groups."""
    if not tasks:
        yield ()
        return
    first, rest = tasks[0], tasks[1:]
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            left = [task for task in rest if task not in others]
            for division in _divisions(left):
                yield ((first, *others), *division)
