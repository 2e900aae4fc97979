"""Rows to files, one at a time: CSV, TSV, JSON Lines and Parquet; a file is complete or absent."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from weft.data.atomic import replacing
from weft.errors import ConfigError, DataError

Rows = Iterable[dict[str, Any]]

_CHUNK = 1024


def check_output(path: Path) -> None:
    """Raise for an output that cannot be written; ask before the work, not after it."""
    if path.suffix.lower() not in WRITERS:
        raise ConfigError(f"{path}: unknown output type {path.suffix!r}; allowed: {', '.join(WRITERS)}")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name a file")


def write_rows(path: Path, rows: Rows) -> int:
    """Write rows as the suffix says, and say how many; all have the same keys, nested values become JSON in a cell."""
    check_output(path)
    written = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal written
        for row in rows:
            written += 1
            yield row

    with replacing(path) as temporary:
        WRITERS[path.suffix.lower()](temporary, counted())
    return written


def flatten(row: dict[str, Any]) -> dict[str, Any]:
    """The row with `{"a": {"b": 1}}` as `{"a.b": 1}`, and lists as JSON, for files that have only plain cells."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": _plain(cell) for inner, cell in value.items()}
        else:
            flat[key] = _plain(value)
    return flat


def _plain(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else value


def _separated(separator: str) -> Callable[[Path, Rows], None]:
    def write(path: Path, rows: Rows) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            flat = (flatten(row) for row in rows)
            first = next(flat, None)
            if first is None:
                return
            writer = csv.DictWriter(file, list(first), delimiter=separator, restval="", extrasaction="ignore")
            writer.writeheader()
            writer.writerows(chain([first], flat))

    return write


def _jsonl(path: Path, rows: Rows) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


def _parquet(path: Path, rows: Rows) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = (flatten(row) for row in rows)
    writer: pq.ParquetWriter | None = None
    try:
        for chunk in _chunks(flat):
            table = pa.Table.from_pylist(chunk) if writer is None else pa.Table.from_pylist(chunk, writer.schema)
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
    except pa.ArrowException as error:
        raise DataError(
            f"a column holds values of several types ({type(error).__name__}), which Parquet does not; write .jsonl"
        ) from None
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        pq.write_table(pa.table({}), path)


def _chunks(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    remaining = iter(rows)
    while chunk := list(islice(remaining, _CHUNK)):
        yield chunk


WRITERS: dict[str, Callable[[Path, Rows], None]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
