"""Rows in and out of files, by suffix; a format is a file of this folder and a line in `FORMATS`.

Every reader yields rows with the line they came from, so that whoever finds fault with one can say where. Files are
UTF-8; nothing is guessed and nothing is skipped except blank lines, which in plain text are empty texts. A file that is
written is complete or absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from weft.data.atomic import replacing
from weft.data.conll import SUFFIXES as CONLL
from weft.data.conll import WRITTEN as CONLL_WRITTEN
from weft.data.conll import read_conll, write_conll
from weft.data.delimited import read_csv, read_tsv, write_csv, write_tsv
from weft.data.json_lines import read_json_lines, write_json_lines
from weft.data.parquet import read_parquet, write_parquet
from weft.data.plain_text import decode_lines, read_plain_text
from weft.data.redact import shown_columns, shown_value
from weft.data.unicode import holds_half_character
from weft.errors import ConfigError, DataError

Shape = Literal["flat", "nested", "words"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: its columns, and its line counted from 1 (in Parquet and in memory: its row)."""

    line: int
    columns: dict[str, Any]
    tabular: bool = field(default=False, compare=False)  # whether a header names the columns of all rows at once
    optional: bool = field(default=False, compare=False)  # whether it may leave out what a table would leave blank


@dataclass(frozen=True)
class Format:
    """How files of one suffix are read and written."""

    read: Callable[[Path], Iterator[tuple[int, dict[str, Any]]]]  # lines, and columns with their cells
    write: Callable[[Path, Iterable[Mapping[str, Any]]], None] | None = None
    tabular: bool = False
    optional: bool = False
    shape: Shape = "flat"  # of what can be written: plain cells, cells that hold more, or words and their tags


FORMATS: dict[str, Format] = {
    ".csv": Format(read_csv, write_csv, tabular=True),
    ".tsv": Format(read_tsv, write_tsv, tabular=True),
    ".jsonl": Format(read_json_lines, write_json_lines, optional=True, shape="nested"),
    ".parquet": Format(read_parquet, write_parquet, tabular=True),
    ".txt": Format(read_plain_text),
    **dict.fromkeys(CONLL, Format(read_conll)),
    **dict.fromkeys(CONLL_WRITTEN, Format(read_conll, write_conll, shape="words")),
}
READABLE = tuple(FORMATS)
WRITABLE = tuple(suffix for suffix, format in FORMATS.items() if format.write is not None)


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, read as its suffix says."""
    format = FORMATS.get(path.suffix.lower())
    if format is None:
        raise DataError(f"unknown file type {path.suffix!r}; allowed: {', '.join(READABLE)}", file=path)
    if not path.is_file():
        raise DataError("this is a folder, not a file" if path.is_dir() else "there is no such file", file=path)
    tabular, optional = format.tabular, format.optional
    return (Row(line, columns, tabular, optional) for line, columns in format.read(path))


def read_stream(file: Iterable[bytes], name: Path) -> Iterator[Row]:
    """The lines of an open stream as texts, each as soon as it is there; `name` is what errors call it."""
    for number, line in decode_lines(file, name):
        yield Row(number, {"text": line.rstrip("\r\n")})


def read_column(path: Path, column: str) -> Iterator[str]:
    """The texts of one column, which every row must have."""
    for row in read_rows(path):
        value = row.columns.get(column)
        if not isinstance(value, str):
            problem = f"has {shown_value(value)}, but a text is needed"
            problem += f"; {shown_columns(row.columns, (column,), row.tabular)}"
        elif holds_half_character(value):
            problem = "holds half a character (a lone surrogate); write the file anew from its source"
        else:
            yield value
            continue
        raise DataError(problem, file=path, line=row.line, column=column)


def check_output(path: Path) -> None:
    """Raise for an output that cannot be written; ask before the work, not after it."""
    if path.suffix.lower() not in WRITABLE:
        raise ConfigError(f"{path}: unknown output type {path.suffix!r}; allowed: {', '.join(WRITABLE)}")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name a file")


def shape_of(path: Path) -> Shape:
    """What can be written into a file of this suffix; asked after `check_output`."""
    return FORMATS[path.suffix.lower()].shape


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as the suffix says, and return how many; a table gets the columns of all of them.

    In tables `{"a": {"b": 1}}` becomes the column `a.b`, and what is nested further is JSON in a cell.
    """
    check_output(path)
    write = FORMATS[path.suffix.lower()].write
    assert write is not None  # `check_output` has looked
    written = 0

    def counted() -> Iterator[Mapping[str, Any]]:
        nonlocal written
        for row in rows:
            written += 1
            yield row

    with replacing(path) as temporary:
        try:
            write(temporary, counted())
        except UnicodeEncodeError:
            raise DataError("a cell holds half a character (a lone surrogate), which no file can hold") from None
    return written
