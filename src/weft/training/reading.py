"""The rows of the tasks' files: every file opened once, each of its rows read by every task that names it.

Rows in memory are read the same way. What is wrong with rows is gathered by what it is: a fault names the file, the
first lines and how many rows it is about, and never a text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from weft.corpus.files import corpus_files
from weft.data.cells import is_blank
from weft.data.formats import NO_ROWS, Row
from weft.data.header import Naming
from weft.data.opening import EncodedFile
from weft.data.records import Example, Input
from weft.data.redact import common_labels, shown_columns, slip_of
from weft.data.row_files import RowFiles
from weft.data.tables import RowsInMemory, open_rows
from weft.errors import CellError, DataError
from weft.targets.base.reading import UnlistedLabel
from weft.tasks import Task
from weft.training.faults import Faults

T = TypeVar("T")
Opened = EncodedFile | RowFiles | RowsInMemory

SHOWN = 5  # lines, labels and problems named one by one before the rest are only counted
UNLIKELY = 20  # different wrong answers after which they are taken for another column, neither read on nor named
_UNNAMED = (
    "spans without a label, where others of this column have one; label them too, or leave labels out of all spans"
)
_Problems = defaultdict[tuple[str, str], list[tuple[int, str]]]  # by column and message: lines, and what each says


@dataclass(frozen=True)
class Origin:
    """Where rows come from, as messages say it: lines of a file, or rows that the config holds."""

    name: str  # of the file, or the path of the config
    file: Path | None = None  # none for rows in memory
    files: RowFiles | None = None  # where they are several

    def where(self, lines: Iterable[int] = ()) -> str:
        """`train.csv, line 3`, or `rows 2, 3 (counted from 0) of tasks.NAME.train`; without lines the file, if any."""
        numbers = list(lines)
        if self.files is not None and numbers:
            return self._in_files(self.files.by_file(numbers))
        if self.file is None:
            positions = name_numbers("row", [number - 1 for number in numbers]) if numbers else ""
            return f"{positions} (counted from 0) of {self.name}" if numbers else ""
        return f"{self.name}, {name_numbers('line', numbers)}" if numbers else self.name

    def _in_files(self, found: Mapping[Path, Sequence[int]]) -> str:
        """`a.csv, line 3; b.csv, lines 2, 5`, of as many files as are shown."""
        named = [f"{path.name}, {name_numbers('line', lines)}" for path, lines in found.items()]
        more = f"; … and {len(named) - SHOWN:,} more files" if len(named) > SHOWN else ""
        return "; ".join(named[:SHOWN]) + more


@dataclass(frozen=True)
class SplitRows:
    """The rows of one split of a task; counts mean nothing where reading stopped half-way (`complete` is False)."""

    path: str  # of the config: tasks.NAME.SPLIT
    origin: Origin
    rows: list[Example]
    complete: bool = True
    total: int = 0  # rows of the file
    column: str = ""  # of the answer
    blank: Sequence[int] = ()  # lines of rows without an answer
    padded: Sequence[int] = ()  # lines of answers with blanks at their ends
    repairs: Counter[str] = field(default_factory=Counter)
    respelled: Counter[str] = field(default_factory=Counter)  # by the spelling of the file

    def locate(self, message: str, lines: Iterable[int] = (), column: str | None = None) -> str:
        """What is said of the file, or of some of its lines, or of a column in them."""
        where = ", ".join(filter(None, [self.origin.where(lines), "" if column is None else f"column {column!r}"]))
        return f"{where}: {message}" if where else message


def name_numbers(what: str, numbers: Iterable[int]) -> str:
    """`line 3`, or `lines 2, 3, 5, 8, 9 … and 12 more`."""
    return f"{what}{'s' if len(ordered := sorted(set(numbers))) > 1 else ''} {few(ordered)}"


def few(things: Iterable[T], show: Callable[[T], str] = str) -> str:
    """The first five as `show` has them, and how many more there are."""
    listed = list(things)
    more = f" … and {len(listed) - SHOWN:,} more" if len(listed) > SHOWN else ""
    return ", ".join(map(show, listed[:SHOWN])) + more


def count_rows(rows: Sequence[Any]) -> str:
    """`1 row`, `8 rows`."""
    return f"{len(rows):,} row{'' if len(rows) == 1 else 's'}"


def read_files(tasks: Mapping[str, Task], base: Path, faults: Faults) -> dict[str, dict[str, SplitRows]]:
    """The rows of each task's files by split, or those given instead; a fault for everything that is wrong with them.

    What several tasks name is gone through once: rows in memory may be an iterator.
    """
    readers: dict[Opened, list[_Reader]] = {}
    by_task: dict[str, dict[str, _Reader]] = {name: {} for name in tasks}
    for name, task in tasks.items():
        if task.train is None and not task.without_rows:
            faults.add(f"tasks.{name}.train", f"is required to train this task; {task.rows_remedy}")
        for split, source in task.sources().items():
            path = f"tasks.{name}.{split}"
            try:
                opened, origin = _locate(source, path, base, task.encoding, readers)
            except DataError as error:
                faults.add(path, str(error), DataError)
                continue
            reader = by_task[name][split] = _Reader(task, path, origin)
            readers.setdefault(opened, []).append(reader)
    for opened, waiting in readers.items():
        _read_source(opened, waiting)
    return {
        name: {split: reader.finish(faults) for split, reader in of_task.items()} for name, of_task in by_task.items()
    }


def named_files(base: Path, names: Iterable[str]) -> list[Path]:
    """The files that names stand for, each once: a pattern for all it matches; raises where it matches none."""
    found: dict[Path, None] = {}
    for name in names:
        path, pattern = base / name, any(mark in name for mark in "*?[")
        found |= dict.fromkeys(corpus_files(path) if pattern and not path.exists() else [path])
    return list(found)


def _locate(
    source: tuple[str, ...] | RowsInMemory, path: str, base: Path, encoding: str, known: Iterable[Opened]
) -> tuple[Opened, Origin]:
    """What is to be opened, which may be known already, and what messages call it."""
    if isinstance(source, RowsInMemory):
        return source, Origin(path)
    paths = named_files(base, source)
    if len(source) == len(paths) == 1:
        return EncodedFile(paths[0], encoding), Origin(source[0], paths[0])
    several = RowFiles(tuple(paths), encoding)
    files = next((one for one in known if isinstance(one, RowFiles) and one == several), several)
    return files, Origin(", ".join(source), paths[0], files)


def read_examples(task: Task, path: Path) -> list[Example]:
    """The rows of one file that have an answer; raises one DataError with everything that is wrong."""
    faults = Faults()
    reader = _Reader(task, "", Origin(path.name, path))
    _read_source(EncodedFile(path, task.encoding), [reader])
    part = reader.finish(faults)
    faults.raise_all()
    return part.rows


def _read_source(source: Opened, readers: Sequence[_Reader]) -> None:
    try:
        for row in open_rows(source)[1]:
            reading = [reader for reader in readers if not reader.hopeless]
            if not reading:
                return
            for reader in reading:
                reader.take(row)
    except DataError as error:
        for reader in readers:
            reader.broken = error


class _Reader:
    """A task's reading of some rows: the usable ones, and the lines of the others by what is wrong with them."""

    def __init__(self, task: Task, config_path: str, origin: Origin) -> None:
        self.task, self.target = task, task.target()
        self.config_path, self.origin = config_path, origin
        self.column = task.gold_column()  # until a row says otherwise
        self.broken: DataError | None = None
        self.hopeless = False  # every further row would say the same
        self.rows: list[Example] = []
        self.total, self.columns = 0, dict[str, None]()
        self.naming: Naming = "keys"
        self.blank, self.padded = list[int](), list[int]()
        self.absent: dict[str, list[int]] = defaultdict(list)  # by column
        self.others: dict[str, list[str]] = {}  # the columns of the first row without it
        self.problems: _Problems = defaultdict(list)  # of texts
        self.wrong: _Problems = defaultdict(list)  # answers
        self.refused: dict[str, ValueError] = {}  # what is wrong with each wrong answer
        self.unlisted: dict[str, tuple[UnlistedLabel, str, list[int]]] = {}  # with their columns and lines
        self.named: dict[bool, list[int]] = {True: [], False: []}  # lines of spans with labels, and of some without
        self.repairs: Counter[str] = Counter()
        self.respelled: Counter[str] = Counter()

    def take(self, row: Row) -> None:
        """Read one row."""
        self.total += 1
        if self.total == 1 or not row.tabular:
            self.columns |= dict.fromkeys(row.columns)
            self.naming = row.naming
        self.column = self.task.gold_column(row.columns)
        cell, respelled = self.task.respell(row.columns.get(self.column))
        self.respelled.update(respelled)
        if is_blank(cell) if self.column in row.columns else row.optional:
            self.blank.append(row.line)
            return
        texts = self.task.text_columns(row.columns)
        absent = [name for name in (self.column, *texts) if name not in row.columns]
        for name in absent:
            self.absent[name].append(row.line)
            self.others.setdefault(name, list(row.columns))
        if absent:
            self.hopeless = row.tabular and self.total == 1
            return
        input = self._read_input(row, texts[0])
        example = self._read_gold(cell, input, row.line)
        if example is not None and input is not None:
            self.repairs.update(example.repairs)
            for named in self.target.are_named(cell, self.column):
                self.named[named].append(row.line)
            self.rows.append(example)

    def _read_input(self, row: Row, column: str) -> Input | None:
        try:
            return self.task.read_input(row)
        except DataError as error:
            self.problems[error.column or column, error.general].append((row.line, error.message))
            return None

    def _read_gold(self, cell: Any, input: Input | None, line: int) -> Example | None:
        """The input with its answer; of an input that could not be read, only whether the answer alone is right."""
        if isinstance(cell, str) and cell != cell.strip():
            self.padded.append(line)
        alone = not isinstance(cell, list)  # whether tags and spans are right depends on their text
        if alone and str(cell) in self.refused:
            self._refuse(self.refused[str(cell)], cell, line)
        elif alone or input is not None:
            try:
                return self.target.answer(cell, input or Input(()), self.column, line)
            except CellError as error:
                self.wrong[self.column, error.general].append((line, str(error)))
            except ValueError as error:
                self._refuse(error, cell, line)
                if alone:
                    self.refused[str(cell)] = error
                    self.hopeless = len(self.refused) > UNLIKELY
        return None

    def _refuse(self, error: ValueError, cell: Any, line: int) -> None:
        if isinstance(error, UnlistedLabel):
            self.unlisted.setdefault(error.label, (error, self.column, []))[2].append(line)
        else:
            message = f"{error}{self._respelling(cell)}"
            self.wrong[self.column, message].append((line, message))

    def _tell_unlisted(self) -> None:
        """Take labels that the config does not list for wrong answers: by name, where as many rows have them."""
        counts = Counter(label for row in self.rows for label in self.target.labels_in(row.gold))
        counts.update({label: len(lines) for label, (_, _, lines) in self.unlisted.items()})
        names = common_labels(counts) if self.target.labels_rows else ()  # those of spans stand beside their words
        for label, (error, column, lines) in self.unlisted.items():
            message = f"{error.said(names)}{self._respelling(label)}"
            self.wrong[column, message] += [(line, message) for line in lines]

    def _respelling(self, cell: Any) -> str:
        """How the config says that an answer is a slip of a label that it lists."""
        label = str(cell).strip()
        near = slip_of(label, self.target.labels)
        said = "" if near in (None, label) else self.task.respelling({label: near})
        return f" If so, say {said}" if said else ""

    def finish(self, faults: Faults) -> SplitRows:
        """What was read, after adding what is wrong to the faults."""
        if self.unlisted:
            self._tell_unlisted()
        complete = bool(self.rows) and not (self.broken or self.hopeless or self.absent)
        part = SplitRows(
            self.config_path,
            self.origin,
            self.rows,
            complete,
            self.total,
            self.column,
            self.blank,
            self.padded,
            self.repairs,
            self.respelled,
        )
        if self.broken is not None:
            faults.add(self.config_path, self._break(self.broken), DataError)
        for message in self._messages(part) if self.total or self.broken is None else ():
            faults.add(self.config_path, message, DataError)
        return part

    def _break(self, error: DataError) -> str:
        """Where and why reading stopped."""
        unread = "; what follows was not read" if self.total else ""
        file = self.origin.file if self.origin.files is None else error.file
        where = self.origin.where([error.line]) if error.line else str(file or self.origin.name)
        return f"{where}: {error.message}{unread}"

    def _messages(self, part: SplitRows) -> list[str]:
        messages = []
        for name, lines in self.absent.items():
            everywhere = len(lines) == self.total or self.hopeless
            message = f"has no column {name!r}{self._columns(name, self.others[name])}"
            messages.append(part.locate(message, () if everywhere else lines))
        messages += [_describe(part, *problem) for problem in self.problems.items()]
        messages += self._wrong_answers(part)
        if all(self.named.values()):
            messages.append(part.locate(_UNNAMED, self.named[False], self.column))
        if not (self.rows or self.absent or self.problems or self.wrong):
            empty = f"holds no row with an answer in the column {self.column!r}" if self.total else NO_ROWS
            empty += "; fill it in, or name the column that has the answers" if self.column in self.columns else ""
            lost = self.total and self.column not in self.columns
            messages.append(part.locate(empty + (self._columns(self.column, self.columns) if lost else "")))
        return messages

    def _columns(self, name: str, columns: Collection[str]) -> str:
        """The columns there are, beside one that is missing."""
        known = (name, self.column, *self.task.text_columns(columns))
        return f"; {shown_columns(columns, known, self.naming)}"

    def _wrong_answers(self, part: SplitRows) -> list[str]:
        ordered = sorted(self.wrong.items(), key=lambda item: -len(item[1]))
        told = len(ordered) <= SHOWN and not self.target.labels  # numbers that are wrong for a few reasons
        shown = 0 if (self.hopeless and not told) or self.column in self.task.text_columns() else SHOWN
        unread = " or more" if self.hopeless else ""
        messages = [_describe(part, *problem, more=unread) for problem in ordered[:shown]]
        rest = [line for _, rows in ordered[shown:] for line, _ in rows]
        if rest:
            more = f"… and {len(ordered) - shown} more kinds of wrong answer ({count_rows(rest)})"
            many = f"{len(self.refused):,} different answers or more cannot be used; is this the right column?"
            columns = {column for (column, _), _ in ordered[shown:]}
            only = columns.pop() if len(columns) == 1 else None
            messages.append(part.locate(more if shown else many, rest, only))
        return messages


def _describe(part: SplitRows, problem: tuple[str, str], rows: Sequence[tuple[int, str]], more: str = "") -> str:
    """A problem of some rows; of a single one in its own words, which say the place in the row."""
    (column, general), (_, exact) = problem, rows[0]
    message = f"{general} ({count_rows(rows)}{more})" if len(rows) > 1 else exact
    return part.locate(message, [line for line, _ in rows], column)
