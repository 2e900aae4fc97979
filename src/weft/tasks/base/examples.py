"""The examples of every task, read from files, checked, and split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.data.dataset import Splits, StoredRows
from weft.data.formats import Row, read_rows
from weft.data.records import Example, Input
from weft.data.redact import common_labels, nearest_name, shown_columns, shown_label
from weft.data.splits import split_off, subsample
from weft.data.unicode import normalise
from weft.errors import DataError
from weft.targets import Target
from weft.tasks import Task

_LONGEST_LABEL = 100
_SHOWN = 20  # faults named one by one before the rest are only counted


def load_data(tasks: Mapping[str, Task], base: Path, seed: int) -> dict[str, Splits]:
    """Every task's rows; raises one DataError that names every fault of every file."""
    parts: dict[str, dict[str, list[Example]]] = {}
    faults: list[str] = []
    for name, task in tasks.items():
        try:
            parts[name] = read_task(name, task, base)
        except DataError as error:
            faults.append(str(error))
    held_out = held_out_lines(tasks, {name: found["train"] for name, found in parts.items()}, seed)
    found: dict[str, Splits] = {}
    for name in parts:
        try:
            found[name] = split_rows(name, tasks[name], parts[name], held_out.get(name, set()), seed)
        except DataError as error:
            faults.append(str(error))
    if faults:
        raise DataError("\n".join(dict.fromkeys(faults)))
    return found


def read_task(name: str, task: Task, base: Path) -> dict[str, list[Example]]:
    """The rows of a task's files, by part."""
    if task.train is None:
        raise DataError(f"tasks.{name}.train: is required to train this task; name a file")
    return read_parts(name, task, {part: base / file for part, file in task.files().items()})


def held_out_lines(tasks: Mapping[str, Task], train: Mapping[str, Sequence[Example]], seed: int) -> dict[str, set[int]]:
    """For each task without a dev file, the lines of its training file to choose by.

    Tasks that set the same share of the same file aside do so together: what one learns from, none is chosen by. Each
    combination of their answers keeps its proportion, and equal texts stay on one side.
    """
    groups: dict[Any, list[str]] = {}
    for name in train:
        if (share := tasks[name].dev_share) is not None:
            groups.setdefault((tasks[name].train, share), []).append(name)
    found: dict[str, set[int]] = {}
    for (_, share), names in groups.items():
        rows: dict[int, dict[str, Example]] = {}
        for name in names:
            for one in train[name]:
                rows.setdefault(one.line, {})[name] = one
        lines = sorted(rows)
        texts = [dict.fromkeys(text for one in rows[line].values() for text in one.texts) for line in lines]
        targets = {name: tasks[name].target() for name in names}
        strata = [
            tuple(targets[n].stratum(rows[line][n].gold) if n in rows[line] else None for n in names) for line in lines
        ]
        _, held_out = split_off([normalise(" ".join(one)) for one in texts], strata, share, seed)
        found |= {name: {lines[place] for place in held_out} for name in names}
    return found


def split_rows(name: str, task: Task, parts: Mapping[str, list[Example]], held_out: set[int], seed: int) -> Splits:
    """A task's rows with the lines set aside as dev, and training rows cut to what was asked for."""
    train = [one for one in parts["train"] if one.line not in held_out]
    dev = parts["dev"] if task.dev_share is None else [one for one in parts["train"] if one.line in held_out]
    splits = Splits(*(StoredRows(rows) for rows in (reduce_rows(train, task, seed), dev, parts.get("test", []))))
    check_splits(name, task, splits)
    return splits


def read_parts(name: str, task: Task, files: Mapping[str, Path]) -> dict[str, list[Example]]:
    """The labelled rows of each file; raises one DataError that names every fault of all of them."""
    found: dict[str, list[Example]] = {}
    faults: list[str] = []
    for part, path in files.items():
        try:
            found[part] = read_examples(name, task, path)
        except DataError as error:
            faults.append(str(error))
    if faults:
        raise DataError("\n".join(dict.fromkeys(faults)))
    return found


def read_examples(name: str, task: Task, path: Path) -> list[Example]:
    """The labelled rows of a file; rows whose answer is blank are passed over."""
    examples: list[Example] = []
    faults: list[str] = []
    seen, tabular = dict[str, None](), False  # columns, in order
    try:
        for row in read_rows(path):
            seen |= dict.fromkeys(row.columns)
            tabular = row.tabular
            try:
                example = read_example(task, row, path)
            except DataError as error:
                faults.append(str(error))
                if "has no column" in str(error):
                    break  # every further row would say the same
                continue
            if example is not None:
                examples.append(example)
    except DataError as error:  # the file itself is broken from here on
        faults.append(str(error))
    if faults:
        more = [f"{path}: … and {len(faults) - _SHOWN} more faults"] if len(faults) > _SHOWN else []
        raise DataError("\n".join(faults[:_SHOWN] + more))
    if not examples:
        column = task.gold_column(seen)
        raise DataError(
            f"holds no row with an answer for the task {name!r} (column {column!r}); "
            f"{shown_columns(seen, (column, *task.text_columns(seen)), tabular)}",
            file=path,
        )
    return examples


def read_example(task: Task, row: Row, path: Path) -> Example | None:
    """One row as an example, None where its answer is blank."""
    if task.gold_column(row.columns) not in row.columns and path.suffix.lower() == ".jsonl":
        return None  # an object may leave a key out where a table leaves a cell blank
    try:
        return task.read(row)
    except DataError as error:
        raise error.in_file(path) from None


def read_input(task: Task, row: Row, path: Path) -> Input:
    """What a task reads of a row."""
    try:
        return task.read_input(row)
    except DataError as error:
        raise error.in_file(path) from None


def reduce_rows(train: list[Example], task: Task, seed: int) -> list[Example]:
    """The part of the training rows that `fraction` and `limit` ask for."""
    size = task.keep(len(train))
    if size == len(train):
        return train
    target = task.target()
    return [train[i] for i in subsample([target.stratum(row.gold) for row in train], size, seed)]


def check_splits(name: str, task: Task, splits: Splits) -> None:
    """Raise for rows from which nothing can be learned, or which could never be answered right."""
    target = task.target()
    if len({target.key(row.gold) for row in splits.train}) < 2:
        raise DataError(
            f"tasks.{name}: all {len(splits.train)} training rows have the same answer, so there is nothing to learn; "
            "check the label column"
        )
    if not splits.dev:
        raise DataError(
            f"tasks.{name}.dev: {task.dev_share:.0%} of so few rows per label leaves none to choose by; "
            "name a dev file, or set a larger share aside"
        )
    counts = Counter(labels_of(target, splits.train))
    known, names = set(counts), {*common_labels(counts), *target.labels}
    long = [label for label in known if len(label) > _LONGEST_LABEL]
    if long:
        raise DataError(
            f"tasks.{name}: {len(long):,} of {len(known):,} labels have more than {_LONGEST_LABEL} characters, so the "
            f"column {task.gold_column()!r} seems to hold texts; name the column of the labels"
        )
    for part, rows in (("dev", splits.dev), ("test", splits.test)):
        unknown = {label: example.line for example in reversed(rows) for label in target.labels_in(example.gold)}
        unknown = {label: line for label, line in sorted(unknown.items()) if label not in known}
        if unknown:
            raise DataError(
                f"tasks.{name}: the {part} rows have labels that never occur in training: "
                f"{_shown_unknown(unknown, names)}; add training rows or mend the spelling"
            )


def _shown_unknown(lines: Mapping[str, int], names: Collection[str]) -> str:
    shown = [f"{shown_label(label, names)} in line {lines[label]}{nearest_name(label, names)}" for label in lines]
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8:,} more" if len(shown) > 8 else "")


def labels_of(target: Target, rows: Sequence[Example]) -> Iterator[str]:
    """Every label of every row; nothing for scores."""
    return (label for row in rows for label in target.labels_in(row.gold))
