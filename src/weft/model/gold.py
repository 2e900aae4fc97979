"""Gold rows to measure on: from a file, a table or rows in memory, for every task that they can serve."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weft.corpus.loading import CorpusFormat, CorpusLoader, corpus_faults
from weft.data.formats import Row
from weft.data.header import Naming
from weft.data.records import Example
from weft.data.redact import nearest_name
from weft.data.tables import RowSource, open_rows
from weft.errors import DataError
from weft.model.inputs import all_of, choose_columns, first_row, left_out
from weft.tasks import Task
from weft.tasks.base.examples import read_example


@dataclass
class GoldRows:
    """The rows of each task that can be served, and what the other tasks lack."""

    examples: dict[str, Sequence[Example]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)  # of all rows, in order
    naming: Naming = "keys"  # who names them


def read_gold(
    tasks: Mapping[str, Task], data: RowSource, corpora: CorpusLoader, *, all_needed: bool
) -> tuple[dict[str, Sequence[Example]], list[str]]:
    """The examples of each task that the data can serve, and a note about each of the others.

    A file is opened once for all tasks with labels. Rows without an answer are passed over. Raises a DataError with
    every fault of all rows; and where a task cannot be served, if `all_needed` or if no task can.
    """
    raw = {name: task.format for name, task in tasks.items() if task.format is not None}
    labelled = {name: task for name, task in tasks.items() if name not in raw}
    source, rows = open_rows(data) if labelled else (Path(str(data)), iter(()))  # raw text may be a folder
    gold = _read_labelled(labelled, rows, source) if labelled else GoldRows()
    for name, format in raw.items():
        _read_raw(name, format, tasks[name], data, corpora, gold)
    unserved = (gold.problems, gold.columns, tasks, source)
    notes = left_out(*unserved, refuse=all_needed or not gold.examples, naming=gold.naming)
    return {name: gold.examples[name] for name in tasks if name in gold.examples}, notes


def _read_labelled(tasks: Mapping[str, Task], rows: Iterator[Row], source: Path) -> GoldRows:
    """The examples of all tasks, from one pass over the rows."""
    first, rows = first_row(rows, source)
    able, problems = choose_columns(first, tasks)
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
    problems += [_no_answers(name, tasks[name].gold_column(columns), columns) for name in able if not examples[name]]
    return GoldRows({name: found for name, found in examples.items() if found}, problems, columns, first.naming)


def _read_row(task: Task, row: Row, source: Path) -> list[Example]:
    """The example in a row; none where it has no answer for the task."""
    if task.gold_column(row.columns) not in row.columns:
        return []
    example = read_example(task, row, source)
    return [] if example is None else [example]


def _no_answers(name: str, column: str, columns: Mapping[str, None]) -> str:
    if column in columns:
        return f"no row has an answer for the task {name!r} (column {column!r})"
    return f"task {name!r} has its answers in the column {column!r}{nearest_name(column, columns)}"


def _read_raw(
    name: str, format: CorpusFormat, task: Task, data: RowSource, corpora: CorpusLoader, gold: GoldRows
) -> None:
    """The rows of a task that makes its answers from raw text, which it reads from files alone."""
    if not isinstance(data, str | os.PathLike):
        gold.problems.append(f"task {name!r} reads raw text, from files alone")
    elif fault := next(corpus_faults(Path(data), format.documents, format.column), None):
        gold.problems.append(f"task {name!r} reads raw text, which this does not hold: {fault.message}")
    else:
        gold.examples[name] = task.rows(corpora, Path(data))
