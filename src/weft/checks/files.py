"""The rows of a task's files, with everything that is wrong with those that cannot be used."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.checks.findings import SHOWN, WRONG, Finding, Part, share
from weft.corpus.loading import corpus_faults
from weft.data.formats import Row, read_rows
from weft.data.records import Example, Gold, Input
from weft.data.redact import shown_columns
from weft.errors import DataError
from weft.tasks import Task
from weft.tasks.base.corpus import CorpusTask
from weft.tasks.base.examples import read_input, reduce_rows


def read_files(name: str, task: Task, base: Path) -> tuple[dict[str, Part], list[Finding]]:
    """The parts that files give, by split."""
    parts: dict[str, Part] = {}
    findings: list[Finding] = []
    if task.train is None:
        findings.append(Finding("fault", f"tasks.{name}.train", "is required to train this task; name a file"))
    if task.gold_column() in task.text_columns():
        both = f"column {task.gold_column()!r} is both a text and the answer"
        findings.append(Finding("warning", f"tasks.{name}", both))
    for split, file in task.files().items():
        parts[split], found = _read_part(task, f"tasks.{name}.{split}", file, base)
        findings += found
    return parts, findings


def find_lost_corpora(tasks: Mapping[str, Task], base: Path) -> Iterator[Finding]:
    """Files of raw text that are not there, hold nothing, or begin with what cannot be read."""
    for name, task in tasks.items():
        if not isinstance(task, CorpusTask):
            continue
        for part, file in (("train", task.train), ("dev", task.dev), ("test", task.test)):
            if part == "train" and file is None:
                yield Finding("fault", f"tasks.{name}.train", "is required to train this task; name a file")
            faults = corpus_faults(base / file, task.documents, task.text) if isinstance(file, str) else ()
            yield from (Finding("fault", f"tasks.{name}.{part}", str(fault)) for fault in faults)


def divide(name: str, task: Task, files: Mapping[str, Part], held_out: Collection[int], seed: int) -> dict[str, Part]:
    """The parts as training will see them: the lines of `data.held_out_lines` as dev, and training rows cut."""
    if (train := files.get("train")) is None:
        return dict(files)
    rows, parts = train.rows, dict(files)
    if task.dev_share is not None:
        dev = replace(train, place=f"tasks.{name}.dev", rows=[row for row in rows if row.line in held_out])
        parts, rows = {"train": train, "dev": dev, **parts}, [row for row in rows if row.line not in held_out]
    parts["train"] = replace(train, rows=reduce_rows(rows, task, seed) if rows else [])
    return parts


def _read_part(task: Task, place: str, file: str, base: Path) -> tuple[Part, list[Finding]]:
    path, broken = base / file, []
    tokenized_example = _Reading(task, path)
    try:
        for row in read_rows(path):
            tokenized_example.take(row)
            if tokenized_example.hopeless:
                break
    except DataError as error:
        where = f"{path}, line {error.line}" if error.line else str(path)
        said = str(error).removeprefix(f"{where}: ")
        unread = "; what follows was not checked" if tokenized_example.lines else ""
        broken = [Finding("fault", place, f"{where}: {said}{unread}")]
    complete = bool(tokenized_example.rows) and not (broken or tokenized_example.hopeless or tokenized_example.absent)
    part = Part(place, file, tokenized_example.rows, complete)
    return part, broken if broken and not tokenized_example.lines else [*broken, *tokenized_example.findings(part)]


class _Reading:
    """The usable rows of a file as they go by, and the lines of the others by what is wrong with them."""

    def __init__(self, task: Task, path: Path) -> None:
        self.task, self.path, self.column = task, path, task.gold_column()  # until a row says otherwise
        self.may_lack = path.suffix.lower() == ".jsonl"  # an object may leave out a key
        self.rows: list[Example] = []
        self.lines, self.header, self.tabular = 0, list[str](), False
        self.blank, self.padded = list[int](), list[int]()
        self.absent: dict[str, list[int]] = defaultdict(list)  # by column
        self.texts: dict[tuple[str, str], list[int]] = defaultdict(list)  # by column and problem
        self.answers: dict[tuple[str, str], list[int]] = defaultdict(list)  # by column and problem
        self.refused: dict[str, str] = {}  # the problem of each wrong answer
        self.repairs: Counter[str] = Counter()

    @property
    def hopeless(self) -> bool:
        return len(self.refused) > WRONG

    def take(self, row: Row) -> None:
        self.lines += 1
        self.header, self.tabular = self.header or list(row.columns), row.tabular
        self.column, columns = self.task.gold_column(row.columns), self.task.text_columns(row.columns)
        cell = row.columns.get(self.column)
        blank = cell is None or (isinstance(cell, str) and not cell.strip())
        if blank and (self.column in row.columns or self.may_lack):
            self.blank.append(row.line)
            return
        absent = [name for name in (self.column, *columns) if name not in row.columns]
        for name in absent:
            self.absent[name].append(row.line)
        if not absent:
            input = self._content(row, columns)
            gold = self._gold(cell, input, row.line)
            if gold is not None and input is not None:
                texts, words, spans = input.texts, input.words, input.spans
                self.rows.append(Example(texts, gold, row.line, words=words, spans=spans))

    def _gold(self, cell: Any, input: Input | None, line: int) -> Gold | None:
        if isinstance(cell, str) and cell != cell.strip():
            self.padded.append(line)
        if not isinstance(cell, list) and str(cell) in self.refused:
            self.answers[self.column, self.refused[str(cell)]].append(line)
            return None
        target, known = self.task.target(), input or Input(())
        try:
            cell, repairs = target.repair(cell, known, self.column)
            gold = target.read(cell, known, self.column)
        except ValueError as error:
            message = _anywhere(str(error))
            if not isinstance(cell, list):  # whether tags and spans are right depends on their text
                self.refused[str(cell)] = message
            self.answers[self.column, message].append(line)
            return None
        self.repairs += repairs
        return gold

    def _content(self, row: Row, columns: Sequence[str]) -> Input | None:
        try:
            return read_input(self.task, row, self.path)
        except DataError as error:
            column = error.column or columns[0]
            problem = str(error).removeprefix(f"{self.path}, line {row.line}, column {column!r}: ")
        self.texts[column, _anywhere(problem)].append(row.line)
        return None

    def findings(self, part: Part) -> Iterator[Finding]:
        for name, lines in self.absent.items():
            said = f"has no column {name!r}{self._columns(name)}"
            yield part.finding("fault", said, lines if len(lines) < self.lines else ())
        for (name, problem), lines in self.texts.items():
            yield part.finding("fault", f"{problem} ({len(lines):,} rows)", lines, name)
        yield from self._wrong_answers(part)
        if not (self.rows or self.absent or self.texts or self.answers):
            none = f"holds no row with an answer in column {self.column!r}" if self.lines else "holds no rows"
            yield part.finding("fault", none + (self._columns(self.column) if self.may_lack and self.lines else ""))
        elif self.blank:
            said = f"{share(len(self.blank), self.lines)} rows have no answer and are passed over"
            yield part.finding("note", said, self.blank, self.column)
        for said, count in self.repairs.items():
            yield part.finding("note", f"{count:,} {said} (repair)")
        if self.padded:
            said = f"{len(self.padded):,} answers have blanks at their ends, which are ignored"
            yield part.finding("note", said, self.padded, self.column)

    def _columns(self, name: str) -> str:
        """The columns there are, beside one that may be missing."""
        known = (name, self.column, *self.task.text_columns(self.header))
        return f"; {shown_columns(self.header, known, self.tabular)}"

    def _wrong_answers(self, part: Part) -> Iterator[Finding]:
        shown = 0 if self.hopeless or self.column in self.task.text_columns() else SHOWN
        ordered = sorted(self.answers.items(), key=lambda one: -len(one[1]))
        for (column, problem), lines in ordered[:shown]:
            yield part.finding("fault", f"{problem} ({len(lines):,} rows)", lines, column)
        rest = [line for _, lines in ordered[shown:] for line in lines]
        if rest:
            more = f"… and {len(ordered) - shown} more kinds of wrong answer ({len(rest):,} rows)"
            many = f"{len(self.refused):,} different answers or more cannot be used; is this the right column?"
            columns = {column for (column, _), _ in ordered[shown:]}
            only = columns.pop() if len(columns) == 1 else None
            yield part.finding("fault", more if shown else many, rest, only)


def _anywhere(problem: str) -> str:
    """What is wrong with a word or a span, whichever of its row it is."""
    return re.sub(r"\b(word|span) \d+", r"a \1", problem)
