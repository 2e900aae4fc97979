"""Rows from files, one at a time: CSV, TSV, JSON Lines, Parquet, plain text and CoNLL columns.

Every reader yields `Row`s with the line they came from, so that whoever finds fault with one can say where. Files are
UTF-8; nothing is guessed and nothing is skipped except blank lines, which in plain text are empty texts.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.data.redact import shown_columns, shown_value
from weft.errors import DataError


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: its columns, and its line counted from 1 (in Parquet: its row)."""

    line: int
    columns: dict[str, Any]
    tabular: bool = field(default=False, compare=False)  # whether a header names the columns of all rows at once


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, read as its suffix says."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"unknown file type {path.suffix!r}; allowed: {', '.join(READERS)}", file=path)
    if not path.is_file():
        raise DataError("this is a folder, not a file" if path.is_dir() else "there is no such file", file=path)
    return reader(path)


def read_column(path: Path, column: str) -> Iterator[str]:
    """The texts of one column, which every row must have."""
    for row in read_rows(path):
        value = row.columns.get(column)
        if not isinstance(value, str):
            raise DataError(
                f"has {shown_value(value)}, but a text is needed; {shown_columns(row.columns, (column,), row.tabular)}",
                file=path,
                line=row.line,
                column=column,
            )
        if holds_half_character(value):
            raise DataError(
                "holds half a character (a lone surrogate); write the file anew from its source",
                file=path,
                line=row.line,
                column=column,
            )
        yield value


def holds_half_character(text: str) -> bool:
    """Whether a text holds a lone surrogate, which JSON can spell and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines with their line ends, decoded one by one so that a bad one can be named."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror}", file=path) from None
    with file:
        yield from _decoded(file, path)


def _decoded(file: Iterable[bytes], path: Path) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(file, 1):
        if b"\0" in raw:
            raise DataError(
                "holds a NUL byte, so this is not plain text; save the file as UTF-8", file=path, line=number
            )
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise DataError(
                f"is not UTF-8 (byte {byte:#04x} at position {error.start + 1}); convert the file, for example "
                "with: iconv -f WINDOWS-1252 -t UTF-8",
                file=path,
                line=number,
            ) from None


def read_stream(file: Iterable[bytes], name: Path) -> Iterator[Row]:
    """The lines of an open stream as texts, each as soon as it is there; `name` is what errors call it."""
    for number, line in _decoded(file, name):
        yield Row(number, {"text": line.rstrip("\r\n")})


def _read_txt(path: Path) -> Iterator[Row]:
    for number, line in _lines(path):
        yield Row(number, {"text": line.rstrip("\r\n")})


def _read_jsonl(path: Path) -> Iterator[Row]:
    for number, line in _lines(path):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(
                f"is not valid JSON: {error.msg} at position {error.colno}", file=path, line=number
            ) from None
        except (ValueError, RecursionError):
            raise DataError("holds a number too long or brackets too deep to read", file=path, line=number) from None
        if not isinstance(value, dict):
            raise DataError(f"holds a JSON {type(value).__name__}, but must hold an object", file=path, line=number)
        yield Row(number, value)


def _read_csv(path: Path) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)  # a text may be long; a quote that never closes is found by `strict` all the same
    reader = csv.reader((line for _, line in _lines(path)), strict=True)
    header: list[str] | None = None
    while True:
        begins = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise DataError(
                "the row that begins here has a quote that is not closed or not doubled, or a carriage return outside "
                f"quotes ({error})",
                file=path,
                line=begins,
            ) from None
        if fields is None:
            break
        if not fields:
            continue
        if header is None:
            header = _check_header(fields, path, begins)
        else:
            cells = _match(header, fields, path, begins, "put a field with commas or quotes into quotes")
            yield Row(begins, cells, tabular=True)


def _read_tsv(path: Path) -> Iterator[Row]:
    """Tabs separate, and quotes are ordinary characters unless they enclose a whole field as spreadsheets do."""
    header: list[str] | None = None
    for number, line in _lines(path):
        line = line.rstrip("\r\n")
        if not line:
            continue
        fields = [_unquote(field) for field in line.split("\t")]
        if header is None:
            header = _check_header(fields, path, number)
        else:
            cells = _match(header, fields, path, number, "a field may hold neither tabs nor line ends")
            yield Row(number, cells, tabular=True)


def _read_conll(path: Path) -> Iterator[Row]:
    from weft.data.conll import read_conll  # which needs `Row` from here

    return read_conll(_lines(path), path)


def _read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        _check_header(file.schema_arrow.names, path)
        number = 0
        for batch in file.iter_batches(batch_size=1024):
            for columns in batch.to_pylist():
                number += 1
                yield Row(number, columns, tabular=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"is not a readable Parquet file ({type(error).__name__}); copy or write it anew", file=path
        ) from None


def _check_header(fields: list[str], path: Path, line: int | None = None) -> list[str]:
    first: dict[str, int] = {}
    for number, name in enumerate(fields, 1):
        if first.setdefault(name, number) != number:
            raise DataError(f"the header gives columns {first[name]} and {number} one name", file=path, line=line)
    return fields


def _match(header: list[str], fields: list[str], path: Path, line: int, remedy: str) -> dict[str, Any]:
    if len(fields) != len(header):
        raise DataError(
            f"has {len(fields)} fields, but the header has {len(header)}; {remedy}",
            file=path,
            line=line,
        )
    return dict(zip(header, fields, strict=True))


def _unquote(field: str) -> str:
    inner = field[1:-1]
    enclosed = len(field) >= 2 and field[0] == field[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if enclosed else field


READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".txt": _read_txt,
    **dict.fromkeys((".conll", ".bio", ".iob", ".iob2", ".bioes", ".conllu"), _read_conll),
}
