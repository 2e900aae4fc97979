"""Tables with a header and a separator: CSV, with quotes as RFC 4180 has them, also as Excel has it, and TSV."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from weft.data.columns import Header, check_header, flatten
from weft.data.numbers import with_decimal_comma
from weft.data.opening import UTF8, open_text, read_lines
from weft.errors import DataError

Cells = tuple[int, dict[str, Any]]  # the line a row begins on, and its columns

Excel = Literal["comma", "semicolon"]

_LINE_END = re.compile(r"[\r\n]*")
_OTHERS = ("\t", ";", "|")  # that separate where a header has them and no comma, the surest first
_UNQUOTED = {separator: re.compile(rf"[^{separator}\r\n]*") for separator in (",", *_OTHERS)}
_QUOTED = re.compile(r'"[^"]*"?')
_SAID = re.compile(r"sep=([,;\t|])[\r\n]*")  # how Excel lets a file say what separates


def read_csv(path: Path, encoding: str = UTF8) -> Iterator[Cells]:
    """The rows of a CSV file with the lines they begin on; fields may be of any length.

    Semicolons separate where the header holds such and no comma, as Excel writes where numbers have a decimal comma;
    so do tabs, and bars as databases write them.
    """
    return _under_header(_csv_records(path, encoding), path, "put a field with separators or quotes into quotes")


def read_tsv(path: Path, encoding: str = UTF8) -> Iterator[Cells]:
    """Tabs separate, and quotes are ordinary characters unless they enclose a whole field as spreadsheets do."""
    lines = ((number, line.rstrip("\r\n")) for number, line in read_lines(path, encoding))
    records = ((number, [_unquote(field) for field in line.split("\t")]) for number, line in lines if line)
    return _under_header(records, path, "a field may hold neither tabs nor line ends")


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], header: Header = tuple) -> None:
    """Every row under all columns that any row has, in the order they first appear; where there is none, a header."""
    _write(path, rows, header, ",")


def write_excel_csv(path: Path, rows: Iterable[Mapping[str, Any]], separator: Excel, header: Header = tuple) -> None:
    """As `write_csv`, with the mark by which Excel knows UTF-8; with semicolons, fractions have a decimal comma."""
    _write(path, rows, header, ";" if separator == "semicolon" else ",", "utf-8-sig", separator == "semicolon")


def write_tsv(path: Path, rows: Iterable[Mapping[str, Any]], header: Header = tuple) -> None:
    """As `write_csv`, with tabs."""
    _write(path, rows, header, "\t")


def split_record(lines: Iterator[str], separator: str = ",") -> list[str]:
    """The fields of the record that begins with the next line, taking as many lines as it spans.

    As `csv.reader` with `strict`, but for fields of any length; raises csv.Error.
    """
    fields: list[str] = []
    line, position = next(lines), 0
    while True:
        if line.startswith('"', position):
            field, line, position = _quoted(line, position + 1, lines, separator)
        else:
            field, position = _unquoted(line, position, separator)
        fields.append(field)
        if not line.startswith(separator, position):
            return fields
        position += 1


def _under_header(records: Iterable[tuple[int, list[str]]], path: Path, remedy: str) -> Iterator[Cells]:
    header: list[str] | None = None
    for line, fields in records:
        if header is None:
            header = check_header(fields, path, line)
        elif len(fields) != len(header):
            problem = f"has {len(fields)} fields, but the header has {len(header)}; {remedy}"
            raise DataError(problem, file=path, line=line)
        else:
            yield line, dict(zip(header, fields, strict=True))


def _csv_records(path: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a file and the lines they begin on, blank ones left out.

    The csv module reads them, but for those with a field beyond its limit: that limit is the whole process's, so it
    stays what it is, and such records are read by `split_record`.
    """
    lines, begins, separator = _separated(read_lines(path, encoding))
    record: list[str] = []  # the lines of what is being read

    def recorded() -> Iterator[str]:
        for _, line in lines:
            record.append(line)
            yield line

    reader = csv.reader(recorded(), strict=True, delimiter=separator)
    while True:
        try:
            fields = next(reader, None)
            if fields is None:
                return
        except csv.Error as error:
            if sum(map(len, record)) <= csv.field_size_limit():
                raise _broken(error, path, begins) from None
            fields = _long_record(chain(list(record), recorded()), separator, path, begins)
            reader = csv.reader(recorded(), strict=True, delimiter=separator)
        if fields:
            yield begins, fields
        begins += len(record)
        record.clear()


def _separated(lines: Iterator[tuple[int, str]]) -> tuple[Iterator[tuple[int, str]], int, str]:
    """The lines from the header on, the number of the first of them, and what separates fields in them."""
    first = next(lines, None)
    if first is None:
        return lines, 1, ","
    if said := _SAID.fullmatch(first[1]):
        return lines, 2, said[1]
    names = _QUOTED.sub("", first[1])
    found = [separator for separator in _OTHERS if separator in names]
    return chain([first], lines), 1, found[0] if found and "," not in names else ","


def _long_record(lines: Iterator[str], separator: str, path: Path, begins: int) -> list[str]:
    try:
        return split_record(lines, separator)
    except csv.Error as error:
        raise _broken(error, path, begins) from None


def _broken(error: csv.Error, path: Path, begins: int) -> DataError:
    if "new-line character" in str(error):
        problem = "has a carriage return outside quotes, with which lines end in files of old Macs; save the file with "
        return DataError(f"{problem}ordinary line ends, as CSV in UTF-8 has them", file=path, line=begins)
    problem = "has a quote that is not closed or not doubled"
    return DataError(f"the row that begins here {problem} ({error})", file=path, line=begins)


def _quoted(line: str, position: int, following: Iterator[str], separator: str) -> tuple[str, str, int]:
    """The field whose text begins at a position, the line it ends on, and where it ends there."""
    parts: list[str] = []
    while True:
        quote = line.find('"', position)
        parts.append(line[position : quote if quote >= 0 else None])
        if quote < 0:
            if (further := next(following, None)) is None:
                raise csv.Error("unexpected end of data")
            line, position = further, 0
        elif line.startswith('"', quote + 1):
            parts.append('"')
            position = quote + 2
        elif line.startswith(separator, quote + 1) or _LINE_END.fullmatch(line, quote + 1):
            return "".join(parts), line, quote + 1
        else:
            raise csv.Error(f"{separator!r} expected after '\"'")


def _unquoted(line: str, position: int, separator: str) -> tuple[str, int]:
    """The field that begins at a position, and where it ends."""
    field = _UNQUOTED[separator].match(line, position)
    assert field is not None  # it may be empty
    if not line.startswith(separator, field.end()) and not _LINE_END.fullmatch(line, field.end()):
        raise csv.Error("new-line character seen in unquoted field")
    return field[0], field.end()


def _unquote(field: str) -> str:
    inner = field[1:-1]
    enclosed = len(field) >= 2 and field[0] == field[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if enclosed else field


def _write(
    path: Path,
    rows: Iterable[Mapping[str, Any]],
    header: Header,
    separator: str,
    encoding: str = UTF8,
    decimal_comma: bool = False,
) -> None:
    """The last row may bring a new column, so rows wait in a file until all columns are known."""
    columns: dict[str, None] = {}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", dir=path.parent) as waiting,
        open_text(path, encoding) as file,
    ):
        for row in map(flatten, rows):
            columns.update(dict.fromkeys(row))
            waiting.write(json.dumps(row, default=str) + "\n")
        columns = columns or dict.fromkeys(header())
        waiting.seek(0)
        writer = csv.DictWriter(file, list(columns), delimiter=separator, restval="")
        if columns:
            writer.writeheader()
        writer.writerows(map(_with_decimal_commas if decimal_comma else dict, map(json.loads, waiting)))


def _with_decimal_commas(row: dict[str, Any]) -> dict[str, Any]:
    return {name: with_decimal_comma(cell) if isinstance(cell, float) else cell for name, cell in row.items()}
