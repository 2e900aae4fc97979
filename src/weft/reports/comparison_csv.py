"""`compare.csv`: one line for each task, variant and size; what is committed, and what Markdown pages are made from.

Equal records give equal bytes: numbers have six significant digits, lines end in a line feed, and cells stand in the
record's order, so that the first variant of a task is its base.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.data.redact import shown_value
from weft.errors import DataError
from weft.reports.comparison_record import VERDICTS, CellRecord, ComparisonRecord

ALL, QUICK, UNFINISHED = "all", "quick", "unfinished"
BASELINE = "baseline_"
DIGITS = 6
LOWER = {"no": False, "yes": True}


def _number(words: str) -> float | None:
    value = float(words) if words else math.nan
    return value if math.isfinite(value) else None


def _finite(words: str) -> float:
    value = float(words)
    if not math.isfinite(value):
        raise ValueError(words)
    return value


def _count(words: str) -> int:
    value = int(words)
    if value < 0:
        raise ValueError(words)
    return value


def _size(words: str) -> int | None:
    return None if words == ALL else _count(words)


def _verdict(words: str) -> str:
    return ("", *VERDICTS)[("", *VERDICTS).index(words)]


@dataclass(frozen=True)
class Column:
    """A column of the file: how its words are read, what may stand in it, and the cell's value as words."""

    read: Callable[[str], Any]
    allowed: str
    write: Callable[[Any], str]


def digits(value: float | None) -> str:
    """A number with six significant digits, nothing for none."""
    return "" if value is None else f"{value + 0.0:.{DIGITS}g}"  # no minus before 0


WORDS = Column(str, "words", str)
NUMBER = Column(_number, "a number or nothing", digits)
COUNT = Column(_count, "a whole number from 0", str)
COLUMNS: dict[str, Column] = {
    "task": WORDS,
    "variant": WORDS,
    "size": Column(_size, "a whole number, or 'all'", lambda size: ALL if size is None else str(size)),
    "seeds": COUNT,
    "metric": WORDS,
    **dict.fromkeys(("mean", "low", "high", "difference", "p"), NUMBER),
    "verdict": Column(_verdict, f"nothing or one of {', '.join(VERDICTS)}", str),
    "seconds": NUMBER,
    "parameters": COUNT,
    **dict.fromkeys(("difference_low", "difference_high"), NUMBER),
    "trained_parameters": COUNT,
    "rows": COUNT,
    "equivalence": Column(_finite, "a number", digits),
    "lower_is_better": Column(lambda words: LOWER[words], "yes or no", lambda lower: "yes" if lower else "no"),
}


@dataclass(frozen=True)
class Rows:
    """What a CSV file holds of a comparison."""

    cells: tuple[CellRecord, ...]
    baselines: dict[str, dict[str, float | None]]
    quick: bool = False
    unfinished: bool = False

    @classmethod
    def of(cls, record: ComparisonRecord) -> Rows:
        return cls(record.cells, record.baselines, record.quick, record.unfinished > 0)


def write_rows(record: ComparisonRecord) -> str:
    """The text of the CSV file; the same for equal records."""
    rows = Rows.of(record)
    names = list(dict.fromkeys(name for values in rows.baselines.values() for name in values))
    mark = " ".join(word for word, holds in ((QUICK, rows.quick), (UNFINISHED, rows.unfinished)) if holds)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, "mark", *(BASELINE + name for name in names)])
    for cell in rows.cells:
        held = cell.model_dump()
        values = [column.write(held[name]) for name, column in COLUMNS.items()]
        others = rows.baselines.get(cell.task, {})
        writer.writerow([*values, mark, *(digits(others.get(name)) for name in names)])
    return text.getvalue()


def read_rows(text: str, file: str | Path | None = None) -> Rows:
    """What a CSV text holds; raises DataError that names line, column and what may stand there."""
    reader = csv.DictReader(io.StringIO(text), restval="")
    if missing := [name for name in (*COLUMNS, "mark") if name not in (reader.fieldnames or ())]:
        raise DataError(f"the columns {', '.join(missing)} are missing; a compare.csv has them", file=file, line=1)
    cells: list[CellRecord] = []
    baselines: dict[str, dict[str, float | None]] = {}
    marks: set[str] = set()
    bases: dict[str, str] = {}  # the first variant of each task
    try:
        for line in reader:
            values = {name: _value(column, line[name], name) for name, column in COLUMNS.items()}
            base = bases.setdefault(values["task"], values["variant"])
            cells.append(CellRecord(**values, is_base=values["variant"] == base))
            baselines[values["task"]] = _baselines(line)
            marks.update(line["mark"].split())
    except DataError as error:
        raise DataError(error.message, file=file, line=reader.line_num, column=error.column) from None
    return Rows(tuple(cells), baselines, QUICK in marks, UNFINISHED in marks)


def _baselines(line: Mapping[str, str]) -> dict[str, float | None]:
    """The baselines of a line; those of other tasks are empty."""
    found = {name: words for name, words in line.items() if name and name.startswith(BASELINE) and words}
    return {name.removeprefix(BASELINE): _value(NUMBER, words, name) for name, words in found.items()}


def _value(column: Column, words: str, name: str) -> Any:
    try:
        return column.read(words)
    except (ValueError, KeyError):
        raise DataError(f"{shown_value(words)} is not {column.allowed}", column=name) from None
