"""Gold rows to measure on: from a file, a table or rows in memory, for every task that they can serve."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from weft.corpus.loading import CorpusFormat, CorpusLoader, corpus_faults
from weft.data.cells import is_blank
from weft.data.formats import Row
from weft.data.header import Naming
from weft.data.records import Example
from weft.data.redact import nearest_name
from weft.data.tables import RowSource, open_rows
from weft.errors import DataError
from weft.model.inputs import FLAGS, Lack, OtherColumns, all_of, choose_columns, first_row, left_out, with_columns
from weft.tasks import Task
from weft.tasks.base.examples import read_example


@dataclass
class GoldRows:
    """The rows of each task that can be served, and what the other tasks lack."""

    examples: dict[str, Sequence[Example]] = field(default_factory=dict)
    problems: list[Lack] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)  # of all rows, in order
    naming: Naming = "keys"  # who names them
    notes: list[str] = field(default_factory=list)  # about tasks that are served all the same


def read_gold(
    tasks: Mapping[str, Task],
    data: RowSource,
    corpora: CorpusLoader,
    *,
    all_needed: bool,
    others: OtherColumns,
    answers: Mapping[str, str],
) -> tuple[dict[str, Sequence[Example]], list[str]]:
    """The examples of each task that the data can serve, and a note about each of the others.

    A file is opened once for all tasks with labels. Rows without an answer are passed over. Raises a DataError with
    every fault of all rows; and where a task cannot be served, if `all_needed` or if no task can. `others` are
    columns of texts and `answers` of answers, by task, where they are not those that the tasks were trained with.
    """
    tasks = with_columns(tasks, others)
    raw = {name: task.format for name, task in tasks.items() if task.format is not None}
    labelled = {name: task for name, task in tasks.items() if name not in raw}
    source, rows = open_rows(data) if labelled else (Path(str(data)), iter(()))  # raw text may be a folder
    for name, column in answers.items():
        if name in labelled:
            cell, rows = _first_answer(rows, column)
            labelled[name] = labelled[name].with_answer(column, cell)
    gold = _read_labelled(labelled, rows, source, others, answers) if labelled else GoldRows()
    for name, format in raw.items():
        _read_raw(name, format, tasks[name], data, corpora, gold)
    unserved = (gold.problems, gold.columns, tasks, source)
    notes = gold.notes + left_out(*unserved, refuse=all_needed or not gold.examples, naming=gold.naming)
    return {name: gold.examples[name] for name in tasks if name in gold.examples}, notes


def _first_answer(rows: Iterator[Row], column: str) -> tuple[Any, Iterator[Row]]:
    """The first cell of a column in which there is something, and all rows, those before it included."""
    seen: list[Row] = []
    for row in rows:
        seen.append(row)
        if not is_blank(cell := row.columns.get(column)):
            return cell, chain(seen, rows)
    return None, iter(seen)


def _read_labelled(
    tasks: Mapping[str, Task], rows: Iterator[Row], source: Path, others: OtherColumns, answers: Mapping[str, str]
) -> GoldRows:
    """The examples of all tasks, from one pass over the rows."""
    first, rows = first_row(rows, source)
    able, problems = choose_columns(first, tasks, others)
    asked = {name: tasks[name].gold_column(first.columns) for name in able if name not in answers}
    own = [_own_answers(name, column) for name, column in asked.items() if f"input.{column}" in first.columns]
    if own:
        return GoldRows(problems=own, columns=dict.fromkeys(first.columns), naming=first.naming)
    examples: dict[str, list[Example]] = {name: [] for name in able}
    columns: dict[str, None] = dict.fromkeys(first.columns)
    faults: dict[str, None] = {}
    try:
        for row in rows if able else ():
            columns |= dict.fromkeys(row.columns)
            for name in able:
                try:
                    examples[name] += _read_row(tasks[name], row, source)
                except DataError as error:
                    faults[str(error)] = None
    except DataError as error:  # the file itself is broken from here on
        faults[str(error)] = None
    if faults:
        raise all_of(list(faults), source)
    problems += [
        _no_answers(name, tasks[name].gold_column(columns), columns, name in answers)
        for name in able
        if not examples[name]
    ]
    notes = [
        f"{name}: {column!r} may hold a model's answers and no gold: {column}_score, {' and '.join(FLAGS)} stand beside"
        for name, column in asked.items()
        if examples[name] and columns.keys() >= {column, f"{column}_score", *FLAGS}
    ]
    return GoldRows({name: found for name, found in examples.items() if found}, problems, columns, first.naming, notes)


def _read_row(task: Task, row: Row, source: Path) -> list[Example]:
    """The example in a row; none where it has no answer for the task."""
    if task.gold_column(row.columns) not in row.columns:
        return []
    example = read_example(task, row, source)
    return [] if example is None else [example]


def _own_answers(name: str, column: str) -> Lack:
    """A column that `weft predict` wrote over gold, which it kept as `input.COLUMN`."""
    gold = f"input.{column}"
    return Lack(
        f"the column {column!r} holds answers of a model to the task {name!r}, which would be measured against itself;"
        f" what stood there before is in {gold!r}",
        f'to measure on that: --label {name}={gold}, in Python label={{"{name}": "{gold}"}}; if {column!r} is gold all'
        f" the same: --label {name}={column}",
        asked=True,
    )


def _no_answers(name: str, column: str, columns: Mapping[str, None], asked: bool) -> Lack:
    if column in columns:
        return Lack(f"no row has an answer for the task {name!r} (column {column!r})", asked=asked)
    if asked:
        said = f"there is no column {column!r}, which was named for the answers of the task {name!r} (--label, label=)"
        return Lack(f"{said}{nearest_name(column, columns)}", asked=True)
    return Lack(
        f"task {name!r} has its answers in the column {column!r}{nearest_name(column, columns)}",
        f'to read another: --label {name}=NAME, in Python label={{"{name}": NAME}}',
        asked,
    )


def _read_raw(
    name: str, format: CorpusFormat, task: Task, data: RowSource, corpora: CorpusLoader, gold: GoldRows
) -> None:
    """The rows of a task that makes its answers from raw text, which it reads from files alone."""
    if not isinstance(data, str | os.PathLike):
        gold.problems.append(Lack(f"task {name!r} reads raw text, from files alone"))
    elif fault := next(corpus_faults(Path(data), format.documents, format.column), None):
        gold.problems.append(Lack(f"task {name!r} reads raw text, which this does not hold: {fault.message}"))
    else:
        gold.examples[name] = task.rows(corpora, Path(data))
