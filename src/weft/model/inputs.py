"""The one door for rows: what predict, evaluate and inspect read, each file opened once and each row built once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from weft.data.formats import NO_ROWS, Row, read_rows, read_stream
from weft.data.header import Naming
from weft.data.opening import UTF8, suffix_of
from weft.data.records import Input
from weft.data.redact import shown_columns
from weft.errors import ConfigError, DataError
from weft.model.network import Network
from weft.spec import nearest
from weft.tasks import Task
from weft.tasks.base.examples import read_input

TextColumns = tuple[str, ...]
OtherColumns = Mapping[str, TextColumns]  # by task, where texts are in other columns than a task was trained with

FLAGS = ("truncated", "empty")  # what stands beside the answers of a row
_LINES = Path("standard input")
_TWO = "give the second with --text-pair (in Python, a pair is a tuple of two), or a file with both columns"
_ONE = "leave the second out, or name a task that reads two with --task (in Python, task=…)"
_SHOWN = 20  # faults named one by one before the rest are only counted


@dataclass(frozen=True)
class Lack:
    """Why a task cannot be served, and how it could be."""

    message: str
    remedy: str = ""
    asked: bool = False  # an error in any case: the column was named by whoever brings the rows, or holds no gold


@dataclass(frozen=True)
class Inputs:
    """Rows with what each task reads of them; can be gone through once."""

    rows: Iterator[Row]
    columns: dict[str, TextColumns]  # by task
    read: Callable[[Row], dict[str, Input]]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[tuple[Row, dict[str, Input]]]:
        return ((row, self.read(row)) for row in self.rows)


def read_inputs(
    network: Network,
    tasks: Sequence[str] | None,
    *,
    text: str | None = None,
    text_pair: str | None = None,
    file: Path | None = None,
    encoding: str = UTF8,
    columns: OtherColumns | None = None,
) -> Inputs:
    """What is to be answered, from exactly one source; a bad row is an error when it is reached, with its line."""
    if columns and (file is None or str(file) == "-" or suffix_of(file) == ".txt"):
        raise ConfigError("--column is for a file that has columns; leave it out")
    if text is not None:
        names = choose_tasks(network, tasks, pair=text_pair is not None)
        cells = {"text": text} if text_pair is None else {"text": text, "text_pair": text_pair}
        return plain_texts(iter([Row(1, cells)]), names, tuple(cells))
    assert file is not None
    names = choose_tasks(network, tasks)
    if str(file) == "-" or suffix_of(file) == ".txt":
        piped = str(file) == "-"
        rows = read_stream(sys.stdin.buffer, _LINES, encoding) if piped else read_rows(file, encoding)
        names = choose_tasks(network, tasks, pair=False)
        return plain_texts(some_rows(rows, _LINES if piped else file), names, ("text",))
    return table_inputs(file, read_rows(file, encoding), network, names, bool(tasks), columns or {})


def choose_tasks(network: Network, wanted: Sequence[str] | None, pair: bool | None = None) -> list[str]:
    """The tasks asked for, or all that read what there is to read; raises for names that are none."""
    known = list(network.tasks)
    unknown = [name for name in wanted or () if name not in network.tasks]
    if unknown:
        raise ConfigError(
            *(f"this model has no task {name!r}; it has: {', '.join(known)}{nearest(name, known)}" for name in unknown)
        )
    chosen = list(wanted) if wanted else known
    if pair is None:
        return chosen
    fitting = [name for name in chosen if network.tasks[name].text_count == 1 + pair]
    if not wanted:  # a bare text has no spans to ask about
        fitting = [name for name in fitting if not network.tasks[name].lacks(Input(("",)))]
    if not fitting or (wanted and len(fitting) < len(chosen)):
        needed = "two texts (a pair)" if not pair else "one text"
        which = [name for name in chosen if name not in fitting]
        who = f"the task {which[0]} reads" if len(which) == 1 else f"the tasks {', '.join(which)} read"
        remedy = _ONE if pair else _TWO
        raise DataError(f"{who} {needed}, but received {'two' if pair else 'one'}; {remedy}")
    return fitting


def lacking_spans(network: Network, inputs: Mapping[str, Input]) -> str | None:
    """What is wrong where tasks ask about spans, but nothing says which, and no other task finds them."""
    lost = [name for name, input in inputs.items() if network.tasks[name].lacks(input)]
    if not lost:
        return None
    return (
        f"the task {', '.join(lost)} asks about spans, but received a text without any; give a file that has them, or "
        "train with spans_from = the task that finds them"
    )


def choose_columns(
    first: Row, tasks: Mapping[str, Task], others: OtherColumns
) -> tuple[dict[str, TextColumns], list[Lack]]:
    """The columns each task reads, for tasks whose columns the first row has, and what each of the others lacks.

    `others` are those that were named beside the tasks' own.
    """
    wanted = {name: task.text_columns(first.columns) for name, task in tasks.items()}
    missing = {name: tuple(c for c in columns if c not in first.columns) for name, columns in wanted.items()}
    able = {name: columns for name, columns in wanted.items() if not missing[name]}
    single = [name for name, columns in wanted.items() if len(columns) == 1]
    alike: dict[tuple[TextColumns, int], list[str]] = {}
    for name, lack in missing.items():
        if lack:
            alike.setdefault((lack, len(wanted[name])), []).append(name)
    problems = [
        Lack(
            f"{_readers(names)} {_named(lack)}",
            _other_column(names, count, names == single),
            asked=any(name in others for name in names),
        )
        for (lack, count), names in alike.items()
    ]
    return able, problems


def _readers(tasks: Sequence[str]) -> str:
    return f"task {tasks[0]!r} reads" if len(tasks) == 1 else f"tasks {', '.join(map(repr, tasks))} read"


def _other_column(tasks: Sequence[str], count: int, are_all: bool) -> str:
    """How to say another column; of several tasks in one word, where no other task reads one text."""
    if len(tasks) > 1 and are_all:
        return "to read another: --column NAME, in Python columns=NAME"
    written, given = ("NAME", "NAME") if count == 1 else ("NAME,NAME", "(NAME, NAME)")
    task = tasks[0]
    each = f", and so for {', '.join(tasks[1:])}" if tasks[1:] else ""
    return f'to read another: --column {task}={written}, in Python columns={{"{task}": {given}}}{each}'


def _named(columns: Sequence[str]) -> str:
    return f"the column{'s' if len(columns) > 1 else ''} {', '.join(map(repr, columns))}"


def left_out(
    problems: Sequence[Lack],
    columns: Collection[str],
    tasks: Mapping[str, Task],
    source: Path,
    *,
    refuse: bool,
    naming: Naming = "keys",
) -> list[str]:
    """A note about each task that cannot be served, or where that is refused one error about all of them.

    A column that was asked for and is not there is an error in any case.
    """
    if problems and (refuse or any(problem.asked for problem in problems)):
        known = [name for task in tasks.values() for name in (*task.text_columns(columns), task.gold_column(columns))]
        said = [*(problem.message for problem in problems), shown_columns(columns, known, naming)]
        said += dict.fromkeys(problem.remedy for problem in problems if problem.remedy)
        raise DataError("; ".join(said), file=source)
    return ["; ".join(filter(None, (f"left out: {problem.message}", problem.remedy))) for problem in problems]


def all_of(faults: Sequence[str], source: Path) -> DataError:
    """One error about every fault of some rows; of many, the first."""
    more = [f"{source}: … and {len(faults) - _SHOWN} more faults"] if len(faults) > _SHOWN else []
    return DataError("\n".join([*faults[:_SHOWN], *more]))


def first_row(rows: Iterator[Row], source: Path) -> tuple[Row, Iterator[Row]]:
    """The row that decides about the columns, and all rows, it included."""
    first = next(rows, None)
    if first is None:
        raise DataError(NO_ROWS, file=source)
    return first, chain([first], rows)


def some_rows(rows: Iterator[Row], source: Path) -> Iterator[Row]:
    """The rows, each as soon as it is there; raises in the end where there was none."""
    none = True
    for row in rows:
        none = False
        yield row
    if none:
        raise DataError(NO_ROWS, file=source)


def plain_texts(rows: Iterator[Row], names: Sequence[str], columns: TextColumns) -> Inputs:
    """Rows of nothing but a text or two, in which a blank line is an empty text."""
    return Inputs(
        rows, dict.fromkeys(names, columns), lambda row: dict.fromkeys(names, Input(tuple(row.columns.values())))
    )


def table_inputs(
    source: Path,
    rows: Iterator[Row],
    network: Network,
    names: Sequence[str],
    all_needed: bool,
    others: OtherColumns,
) -> Inputs:
    """Rows with the columns that the tasks were trained with, or `others`; a note about each task that lacks one."""
    first, rows = first_row(rows, source)
    tasks = with_columns({name: network.tasks[name] for name in names}, others)
    columns, problems = choose_columns(first, tasks, others)
    notes = left_out(problems, first.columns, tasks, source, refuse=all_needed or not columns, naming=first.naming)
    return Inputs(rows, columns, _row_reader(source, network, tasks, columns), tuple(notes))


def with_columns(tasks: Mapping[str, Task], others: OtherColumns) -> dict[str, Task]:
    """The tasks as they read a file in which some texts are in other columns."""
    return {name: task.with_texts(others[name]) if name in others else task for name, task in tasks.items()}


def _row_reader(
    file: Path, network: Network, tasks: Mapping[str, Task], columns: Mapping[str, TextColumns]
) -> Callable[[Row], dict[str, Input]]:
    """The function from a row to what each task reads of it, built once for all tasks that read the same of it."""
    readers: dict[object, list[str]] = {}
    for name, read in columns.items():
        readers.setdefault(tasks[name].input_key(read), []).append(name)

    def read_row(row: Row) -> dict[str, Input]:
        inputs: dict[str, Input] = {}
        for names in readers.values():
            try:
                inputs |= dict.fromkeys(names, read_input(tasks[names[0]], row, file))
            except DataError as error:
                raise error.named(names) from None
        if problem := lacking_spans(network, inputs):
            raise DataError(problem, file=file, line=row.line)
        return {name: inputs[name] for name in columns}

    return read_row
