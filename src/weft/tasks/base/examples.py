"""What tasks read of rows, and how their rows are divided."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.data.formats import Row
from weft.data.records import Example, Input
from weft.data.splits import draw_folds, split_off, subsample
from weft.data.unicode import normalise
from weft.errors import ConfigError, DataError, Fault
from weft.targets import Target
from weft.tasks import Task

_TEST_SEED = 0  # whatever the run's own


def held_out_lines(tasks: Mapping[str, Task], train: Mapping[str, Sequence[Example]], seed: int) -> dict[str, set[int]]:
    """For each task without a dev file, the lines of its training file to choose by.

    Tasks that set the same share of the same file aside do so together: what one learns from, none is chosen by. Each
    combination of their answers keeps its proportion, and equal texts stay on one side.
    """
    groups: dict[tuple[Any, float], list[str]] = {}
    for name in train:
        if (share := tasks[name].share_to_hold_out(train[name])) is not None:
            groups.setdefault((_one_file(tasks[name]), share), []).append(name)
    held_out_of: dict[str, set[int]] = {}
    for (_, share), names in groups.items():
        lines, texts, strata = _rows_of_file({name: tasks[name] for name in names}, train)
        _, held_out = split_off(texts, strata, share, seed)
        held_out_of |= {name: {lines[index] for index in held_out} for name in names}
    return held_out_of


def fold_lines(
    tasks: Mapping[str, Task], train: Mapping[str, Sequence[Example]], count: int, seed: int
) -> dict[str, list[set[int]]]:
    """For each task the lines of its training file in every one of `count` folds, drawn by the seed.

    Tasks with the same file have the same folds: what one learns from, none is measured on. Raises ConfigError for
    files with fewer texts than folds.
    """
    groups: dict[Any, list[str]] = {}
    for name in train:
        groups.setdefault(_one_file(tasks[name]), []).append(name)
    folds_of: dict[str, list[set[int]]] = {}
    faults: list[Fault] = []
    for names in groups.values():
        lines, texts, strata = _rows_of_file({name: tasks[name] for name in names}, train)
        if not lines:
            continue  # what keeps them from being read is told elsewhere
        if (different := len(set(texts))) < count:
            faults += [Fault(f"tasks.{name}.train", _few_texts(different, count)) for name in names]
            continue
        folds = [{lines[index] for index in fold} for fold in draw_folds(texts, strata, count, seed)]
        folds_of |= dict.fromkeys(names, folds)
    if faults:
        raise ConfigError(*faults)
    return folds_of


def _one_file(task: Task) -> Hashable:
    """Equal for tasks that learn from the same files, however each spells their names, or from the same rows."""
    source = task.sources().get("train")
    return tuple(map(_spelled, source)) if isinstance(source, tuple) else source


def _spelled(name: str) -> str:
    return os.path.normcase(os.path.normpath(name))


def _few_texts(different: int, folds: int) -> str:
    return f"has {different:,} different texts, too few for {folds} folds; name a test file, or ask for fewer folds"


def _rows_of_file(
    tasks: Mapping[str, Task], train: Mapping[str, Sequence[Example]]
) -> tuple[list[int], list[str], list[tuple[Hashable, ...]]]:
    """The lines of a file that any of the tasks reads, the texts these find there, and their answers' strata."""
    rows: dict[int, dict[str, Example]] = {}
    for name in tasks:
        for row in train[name]:
            rows.setdefault(row.line, {})[name] = row
    lines = sorted(rows)
    texts = [dict.fromkeys(text for row in rows[line].values() for text in row.texts) for line in lines]
    targets = {name: task.target() for name, task in tasks.items()}
    strata: list[tuple[Hashable, ...]] = [
        tuple(target.stratum(rows[line][name].gold) if name in rows[line] else None for name, target in targets.items())
        for line in lines
    ]
    return lines, [normalise(" ".join(texts_of_line)) for texts_of_line in texts], strata


def read_example(task: Task, row: Row, path: Path) -> Example | None:
    """One row as an example, None where its answer is blank."""
    try:
        return task.read(row)
    except DataError as error:
        raise error.in_file(path) from None


def read_input(task: Task, row: Row, path: Path) -> Input:
    """What a task reads of a row that is to be answered: a blank text is an empty one, as a blank line is."""
    try:
        return task.read_input(row, blank=True)
    except DataError as error:
        raise error.in_file(path) from None


def reduce_rows(train: list[Example], task: Task, seed: int) -> list[Example]:
    """The part of the training rows that `fraction` and `limit` ask for."""
    size = task.keep(len(train))
    if size == len(train):
        return train
    target = task.target()
    return [train[i] for i in subsample([target.stratum(row.gold) for row in train], size, seed)]


def reduce_test(test: list[Example], task: Task) -> list[Example]:
    """The part of the test rows that `test_limit` asks for: the same for every seed, so that runs answer alike."""
    if task.test is None or task.test_limit is None or task.test_limit >= len(test):  # the rows of a fold stay whole
        return test
    target = task.target()
    return [test[i] for i in subsample([target.stratum(row.gold) for row in test], task.test_limit, _TEST_SEED)]


def labels_of(target: Target, rows: Sequence[Example]) -> Iterator[str]:
    """Every label of every row; nothing for scores."""
    return (label for row in rows for label in target.labels_in(row.gold))
