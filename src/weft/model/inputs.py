"""Predictions for a text, for lines of standard input, or for the rows of a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from pathlib import Path
from typing import Any

from weft.data.formats import Row, read_rows, read_stream, shown_columns
from weft.data.records import Input
from weft.errors import DataError
from weft.model.network import Network
from weft.model.predict import choose_tasks, predict, shown
from weft.tasks import Task
from weft.tasks.base.examples import read_input

_LINES, _OPTION = Path("standard input"), Path("--text")


@dataclass(frozen=True)
class Inputs:
    """The rows to answer, and which task reads which of their columns."""

    rows: Callable[[], Iterable[Row]]
    columns: dict[str, tuple[str, ...]]  # by task
    total: int | None
    source: Path
    notes: tuple[str, ...] = ()


def read_inputs(
    network: Network,
    tasks: Sequence[str] | None,
    *,
    text: str | None = None,
    text_pair: str | None = None,
    file: Path | None = None,
) -> Inputs:
    """What is to be answered, from exactly one source; every row is looked at before any is answered."""
    if text is not None:
        names = choose_tasks(network, tasks, pair=text_pair is not None)
        cells = {"text": text} if text_pair is None else {"text": text, "text_pair": text_pair}
        return Inputs(lambda: [Row(1, cells)], {name: tuple(cells) for name in names}, 1, _OPTION)
    assert file is not None
    names = choose_tasks(network, tasks)
    if str(file) == "-" or file.suffix.lower() == ".txt":
        return _read_lines(file, choose_tasks(network, tasks, pair=False))
    return _read_table(file, {name: network.tasks[name] for name in names}, all_needed=bool(tasks))


def predict_rows(network: Network, inputs: Inputs, scores: bool = False) -> Iterator[dict[str, Any]]:
    """The input's own columns, each task's answer, and whether a text was cut, row by row."""
    rows, again = tee(inputs.rows())
    asked = ({name: _content(network.tasks[name], row, inputs) for name in inputs.columns} for row in again)
    for row, answer in zip(rows, predict(network, asked), strict=True):
        found = {name: shown(prediction, scores) for name, prediction in answer.predictions.items()}
        answers = {**found, "truncated": answer.truncated}
        own = {f"input.{name}" if name in answers else name: cell for name, cell in row.columns.items()}
        yield {**own, **answers}


def passes_note(network: Network, inputs: Inputs) -> str | None:
    """A sentence where tasks with the same columns still need a pass of the encoder each; None where they do not."""
    keys = {
        name: (network.conditioner.encoder_key(name), network.tasks[name].rows_per_example) for name in inputs.columns
    }
    passes = len({(columns, keys[name]) for name, columns in inputs.columns.items()})
    if passes == len(set(inputs.columns.values())):
        return None
    kind = network.conditioning.to_dict()["kind"]
    return f"{len(keys)} tasks need {passes} passes of the encoder, since {kind} or how they read tells them apart"


def _read_lines(file: Path, names: list[str]) -> Inputs:
    columns: dict[str, tuple[str, ...]] = dict.fromkeys(names, ("text",))
    if str(file) != "-":
        return Inputs(lambda: read_rows(file), columns, sum(1 for _ in read_rows(file)), file)
    return Inputs(lambda: read_stream(sys.stdin.buffer, _LINES), columns, None, _LINES)


def _read_table(file: Path, tasks: dict[str, Task], all_needed: bool) -> Inputs:
    first = next(iter(read_rows(file)), None)
    if first is None:
        raise DataError("holds no rows", file=file)
    wanted = {name: task.text_columns(first.columns) for name, task in tasks.items()}
    missing = {name: [c for c in columns if c not in first.columns] for name, columns in wanted.items()}
    able = {name: columns for name, columns in wanted.items() if not missing[name]}
    problems = [
        f"task {name!r} reads the column {', '.join(map(repr, lack))}" for name, lack in missing.items() if lack
    ]
    if not able or (problems and all_needed):
        raise DataError(f"{'; '.join(problems)}; the columns are: {shown_columns(first.columns)}", file=file)
    needed = {columns: tasks[name] for name, columns in able.items()}
    total = sum(all(read_input(task, row, file).texts for task in needed.values()) for row in read_rows(file))
    notes = [f"left out: {problem}" for problem in problems]
    notes += [
        f"the column {name!r} is kept as 'input.{name}', since an answer is called so"
        for name in first.columns
        if name in (*able, "truncated")
    ]
    return Inputs(lambda: read_rows(file), able, total, file, tuple(notes))


def _content(task: Task, row: Row, inputs: Inputs) -> Input:
    if inputs.source in (_LINES, _OPTION) or inputs.source.suffix.lower() == ".txt":  # a blank line is an empty text
        return Input(tuple(row.columns.values()))
    return read_input(task, row, inputs.source)
