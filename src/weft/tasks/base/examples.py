"""The examples of every task, read from files, checked, and split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.data.dataset import Splits, StoredRows
from weft.data.formats import Row, holds_half_character, read_rows, shown_columns
from weft.data.records import Example, Input
from weft.data.splits import normalise, split_off, subsample
from weft.errors import DataError
from weft.spec import nearest
from weft.targets import Target
from weft.targets.base.reading import shown_label
from weft.tasks import Task
from weft.tokenization.words import join_words

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
    files = {"train": task.train, "dev": task.dev, "test": task.test}
    return read_parts(name, task, {part: base / file for part, file in files.items() if isinstance(file, str)})


def held_out_lines(tasks: Mapping[str, Task], train: Mapping[str, Sequence[Example]], seed: int) -> dict[str, set[int]]:
    """For each task without a dev file, the lines of its training file to choose by.

    Tasks that set the same share of the same file aside do so together: what one learns from, none is chosen by. Each
    combination of their answers keeps its proportion, and equal texts stay on one side.
    """
    groups: dict[Any, list[str]] = {}
    for name in train:
        if not isinstance(tasks[name].dev, str):
            groups.setdefault((tasks[name].train, tasks[name].dev), []).append(name)
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
    dev = parts["dev"] if isinstance(task.dev, str) else [one for one in parts["train"] if one.line in held_out]
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
    seen: dict[str, None] = {}  # columns, in order
    try:
        for row in read_rows(path):
            seen |= dict.fromkeys(row.columns)
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
        near = nearest(column, seen) if column not in seen else ""
        raise DataError(
            f"holds no row with an answer for the task {name!r} (column {column!r}); its columns are: "
            f"{shown_columns(seen) or 'none'}{near}",
            file=path,
        )
    return examples


def read_example(task: Task, row: Row, path: Path) -> Example | None:
    """One row as an example, None where its answer is blank."""
    column = task.gold_column(row.columns)
    if column not in row.columns and path.suffix.lower() == ".jsonl":
        return None  # an object may leave a key out where a table leaves a cell blank
    cell = get_cell(row, column, path)
    if cell is None:
        return None
    input = read_input(task, row, path) if task.takes_words else None
    target, known = task.target(), input or Input(())
    try:
        cell, repairs = target.repair(cell, known, column)
        gold = target.read(cell, known, column)
    except ValueError as error:
        raise DataError(str(error), file=path, line=row.line, column=column) from None
    if gold is None:
        return None
    input = input or read_input(task, row, path)
    return Example(input.texts, gold, row.line, tuple(repairs.elements()), words=input.words, spans=input.spans)


def read_input(task: Task, row: Row, path: Path) -> Input:
    """What a task reads of a row."""
    columns = task.text_columns(row.columns)
    if task.takes_words and (
        isinstance(row.columns.get(columns[0]), list) or columns[0] == getattr(task, "tokens", "")
    ):
        text, words = join_words(get_words(row, columns[0], path))
        input = Input((text,), words=words)
    else:
        input = Input(tuple(get_text(row, column, path) for column in columns))
    if not task.reads_spans:
        return input
    try:
        return replace(input, spans=task.read_marks(row.columns, input))
    except ValueError as error:
        names = (getattr(task, name, "") for name in ("entities", "spans"))
        column = next((name for name in names if row.columns.get(name) is not None), None)
        raise DataError(str(error), file=path, line=row.line, column=column) from None


def get_words(row: Row, column: str, path: Path) -> list[str]:
    """The words of a column that must hold a list of them."""
    words = get_cell(row, column, path)
    if problem := _wrong_words(words):
        raise DataError(problem, file=path, line=row.line, column=column)
    return list(words)


def _wrong_words(words: Any) -> str | None:
    if not isinstance(words, list):
        return f"must be a list of words, but this is a {type(words).__name__}; mend or remove the row"
    if not words:
        return "the list of words is empty; mend or remove the row"
    for number, word in enumerate(words, 1):
        if not isinstance(word, str):
            return f"word {number} is a {type(word).__name__}, not a text; mend or remove the row"
        if not word.strip():
            return f"word {number} is blank; mend or remove the row"
        if holds_half_character(word):
            return f"word {number} holds half a character (a lone surrogate); write the file anew from its source"
    return None


def get_cell(row: Row, column: str, path: Path) -> Any:
    """The cell of a column that must exist."""
    if column not in row.columns:
        raise DataError(
            f"has no column {column!r}; its columns are: {shown_columns(row.columns)}{nearest(column, row.columns)}",
            file=path,
            line=row.line,
        )
    return row.columns[column]


def get_text(row: Row, column: str, path: Path) -> str:
    """The text of a column that must hold one."""
    cell = get_cell(row, column, path)
    if not isinstance(cell, str) or not cell.strip():
        problem = (
            "the text is empty" if isinstance(cell, str) or cell is None else f"a {type(cell).__name__} is not a text"
        )
        raise DataError(f"{problem}; write a text or remove the row", file=path, line=row.line, column=column)
    if holds_half_character(cell):
        problem = "the text holds half a character (a lone surrogate); write the file anew from its source"
        raise DataError(problem, file=path, line=row.line, column=column)
    return cell


def reduce_rows(train: list[Example], task: Task, seed: int) -> list[Example]:
    """The part of the training rows that `fraction` and `limit` ask for."""
    size = len(train) if task.fraction is None else max(1, round(task.fraction * len(train)))
    size = min(size, task.limit or size)
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
            f"tasks.{name}.dev: {task.dev:.0%} of so few rows per label leaves none to choose by; name a dev file, or "
            "set a larger share aside"
        )
    known = set(labels_of(target, splits.train))
    long = [label for label in known if len(label) > _LONGEST_LABEL]
    if long:
        raise DataError(
            f"tasks.{name}: {len(long):,} of {len(known):,} labels have more than {_LONGEST_LABEL} characters, so the "
            f"column {task.gold_column()!r} seems to hold texts; name the column of the labels"
        )
    for part, rows in (("dev", splits.dev), ("test", splits.test)):
        unknown = sorted(set(labels_of(target, rows)) - known)
        if unknown:
            raise DataError(
                f"tasks.{name}: the {part} rows have labels that never occur in training: "
                f"{', '.join(shown_label(s, known) for s in unknown[:8])}; add training rows or mend the spelling"
            )


def labels_of(target: Target, rows: Sequence[Example]) -> Iterator[str]:
    """Every label of every row; nothing for scores."""
    return (label for row in rows for label in target.labels_in(row.gold))
