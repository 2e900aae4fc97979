"""Rows in and out of files, by suffix; a format is a file of this folder and a line in `FORMATS`.

Every reader yields rows with the line they came from, so that whoever finds fault with one can say where. Files are
UTF-8 unless somebody says otherwise; nothing is guessed and nothing is skipped except blank lines, which in plain text
are empty texts. Files of text may be compressed (`.csv.gz`). A file that is written is complete or absent.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Literal

from weft.data.atomic import replacing
from weft.data.columns import Header
from weft.data.conll import SUFFIXES as CONLL
from weft.data.conll import WRITTEN as CONLL_WRITTEN
from weft.data.conll import read_conll, write_conll
from weft.data.delimited import Excel, read_csv, read_tsv, write_csv, write_excel_csv, write_tsv
from weft.data.header import Naming, with_naming
from weft.data.json_lines import read_json_lines, write_json_lines
from weft.data.json_list import read_json_list, write_json_list
from weft.data.opening import COMPRESSED, UTF8, decode_lines, suffix_of
from weft.data.parquet import read_parquet, write_parquet
from weft.data.plain_text import read_plain_text
from weft.data.redact import named_columns, nearest_name, shown_columns, shown_value
from weft.data.unicode import holds_half_character
from weft.errors import ConfigError, DataError

TableShape = Literal["flat", "nested", "words"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: its columns, and its line counted from 1 (in Parquet, JSON and in memory: its row)."""

    line: int
    columns: dict[str, Any]
    naming: Naming = field(default="keys", compare=False)  # who names the columns, and whether these are names
    optional: bool = field(default=False, compare=False)  # whether it may leave out what a table would leave blank

    @property
    def tabular(self) -> bool:
        """Whether a header names the columns of all rows at once."""
        return self.naming != "keys"


@dataclass(frozen=True)
class Format:
    """How files of one suffix are read and written."""

    read: Callable[[Path, str], Iterator[tuple[int, dict[str, Any]]]]  # lines, and columns with their cells
    write: Callable[[Path, Iterable[Mapping[str, Any]], Header], None] | None = None
    tabular: bool = False
    optional: bool = False
    text: bool = True  # whether it has an encoding, and may be compressed
    shape: TableShape = "flat"  # of what can be written: plain cells, cells that hold more, or words and their tags


FORMATS: dict[str, Format] = {
    ".csv": Format(read_csv, write_csv, tabular=True),
    ".tsv": Format(read_tsv, write_tsv, tabular=True),
    ".jsonl": Format(read_json_lines, write_json_lines, optional=True, shape="nested"),
    ".json": Format(read_json_list, write_json_list, optional=True, shape="nested"),
    ".parquet": Format(read_parquet, write_parquet, tabular=True, text=False),
    ".txt": Format(read_plain_text),
    **dict.fromkeys(CONLL, Format(read_conll)),
    **dict.fromkeys(CONLL_WRITTEN, Format(read_conll, write_conll, shape="words")),
}
_SHEETS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")  # of which people know that they are tables
READABLE = tuple(FORMATS)
NO_ROWS = "holds no rows; add some, or name another"  # of a file, or of what is given in memory
WRITABLE = tuple(suffix for suffix, format in FORMATS.items() if format.write is not None)


def read_rows(path: Path, encoding: str = UTF8) -> Iterator[Row]:
    """The rows of a file, read as its suffix says."""
    if path.is_dir():
        raise DataError("this is a folder, not a file; name a file in it", file=path)
    if not can_read(path):
        raise DataError(unknown_type(path), file=path)
    format = FORMATS[suffix_of(path)]
    if not format.text and encoding != UTF8:
        raise DataError(f"{suffix_of(path)} has no encoding to choose; leave {encoding!r} out", file=path)
    if not path.is_file():
        raise DataError(_no_file(path), file=path)
    rows = with_naming(format.read(path, encoding), itemgetter(1), format.tabular)
    return (Row(line, columns, naming, format.optional) for naming, (line, columns) in rows)


def _no_file(path: Path) -> str:
    """That a file is not there, and the one beside it whose name is nearly the same."""
    try:
        beside = [file.name for file in path.parent.iterdir()]
    except OSError:
        beside = []
    looked = "" if path.is_absolute() else f" in the folder {path.parent.resolve()}"
    return f"there is no such file{looked}{nearest_name(path.name, beside)}"


def can_read(path: Path) -> bool:
    """Whether the name of a file is that of a known format."""
    return _known(path) is not None


def unknown_type(path: Path, what: str = "file", allowed: Iterable[str] = READABLE) -> str:
    """What is wrong with a file whose suffix says nothing."""
    suffix = "".join(path.suffixes[-2:]) if path.suffix.lower() == COMPRESSED else path.suffix
    remedy = "write .csv with --excel comma, which Excel opens" if what == "output" else "save the sheet as CSV"
    save = f"; {remedy}" if suffix.lower() in _SHEETS else ""
    unknown = f"unknown {what} type {suffix!r}" if suffix else f"the name ends in no type, as {path.name}.csv does"
    return f"{unknown}; allowed: {', '.join(allowed)}, and .gz behind those of text{save}"


def _known(path: Path) -> Format | None:
    format = FORMATS.get(suffix_of(path))
    return None if format is None or (path.suffix.lower() == COMPRESSED and not format.text) else format


def read_stream(file: IO[bytes], name: Path, encoding: str = UTF8) -> Iterator[Row]:
    """The lines of an open stream as texts, each as soon as it is there; `name` is what errors call it."""
    for number, line in decode_lines(file, name, encoding):
        yield Row(number, {"text": line.rstrip("\r\n")})


def read_column(path: Path, column: str, encoding: str = UTF8) -> Iterator[str]:
    """The texts of one column, which every row must have."""
    for row in read_rows(path, encoding):
        value = row.columns.get(column)
        if column not in row.columns:
            where = None if row.tabular else row.line
            raise DataError(no_column(row, column) + _other_column(row, column), file=path, line=where)
        if not isinstance(value, str):
            problem = f"has {shown_value(value)}, but a text is needed"
        elif holds_half_character(value):
            problem = "holds half a character (a lone surrogate); write the file anew from its source"
        else:
            yield value
            continue
        raise DataError(problem, file=path, line=row.line, column=column)


def no_column(row: Row, column: str, known: Iterable[str] = ()) -> str:
    """That a row lacks a column, and what may be said of those it has; `known` are others that the config names."""
    return f"has no column {column!r}; {shown_columns(row.columns, (column, *known), row.naming)}"


def _other_column(row: Row, column: str) -> str:
    """How to name the column that has the texts: of those that may be shown, the one with the longest here."""
    shown = named_columns(row.columns, (column,), row.naming)
    texts = {name: cell for name in shown if isinstance(cell := row.columns[name], str) and not cell.isdigit()}
    if not texts:
        return ""
    best = max(texts, key=lambda name: len(texts[name].split()))
    return f'; say --column {shlex.quote(best)} (in a config, text = "{best}")'


def check_output(path: Path, excel: Excel | None = None) -> None:
    """Raise for an output that cannot be written; ask before the work, not after it."""
    if str(path) == "-":
        raise ConfigError("- names no file; to see answers on the screen, or pass them on, leave --output out")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name a file, such as {path / 'output.csv'}")
    format = _known(path)
    if format is None or format.write is None:
        raise ConfigError(f"{path}: {unknown_type(path, 'output', WRITABLE)}")
    if excel is not None and suffix_of(path) != ".csv":
        raise ConfigError(f"{path}: only .csv can be written for Excel in this way")


def check_apart(input: Path | None, output: Path) -> None:
    """Raise where what is written would take the place of what is read."""
    if input is not None and output.exists() and input.exists() and output.samefile(input):
        raise ConfigError(f"{output} is the file that is read, and would be lost; name another with --output")


def shape_of(path: Path) -> TableShape:
    """What can be written into a file of this suffix; asked after `check_output`."""
    return FORMATS[suffix_of(path)].shape


def write_rows(
    path: Path, rows: Iterable[Mapping[str, Any]], excel: Excel | None = None, header: Header = tuple
) -> int:
    """Write rows as the suffix says, and return how many; a table gets the columns of all of them.

    A table without rows gets those of `header`, so that whoever reads it finds them. For Excel, see `write_excel_csv`.
    In tables `{"a": {"b": 1}}` becomes the column `a.b`, and what is nested further is JSON in a cell.
    """
    check_output(path, excel)
    write = FORMATS[suffix_of(path)].write
    assert write is not None  # `check_output` has looked
    written = 0

    def counted() -> Iterator[Mapping[str, Any]]:
        nonlocal written
        for row in rows:
            written += 1
            yield row

    with replacing(path) as temporary:
        try:
            if excel is None:
                write(temporary, counted(), header)
            else:
                write_excel_csv(temporary, counted(), excel, header)
        except UnicodeEncodeError:
            raise DataError("a cell holds half a character (a lone surrogate), which no file can hold") from None
    return written
