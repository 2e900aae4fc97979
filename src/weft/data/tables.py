"""Rows that are in memory already: a table of pandas, polars or Arrow, or any iterable of dicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from weft.data.formats import Row, read_rows
from weft.errors import DataError

IN_MEMORY = Path("the rows given")  # what errors call rows that come from no file


@runtime_checkable
class Table(Protocol):
    """What pandas, polars and Arrow tables have in common: the Arrow stream interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


RowSource = str | os.PathLike[str] | Table | Iterable[Mapping[str, Any]]


def open_rows(source: RowSource) -> tuple[Path, Iterator[Row]]:
    """What errors call a source, and its rows; a file is opened once, when the first row is asked for."""
    if isinstance(source, str | os.PathLike):
        return Path(source), read_rows(Path(source))
    if isinstance(source, Table):
        return IN_MEMORY, _table_rows(source)
    if not isinstance(source, Iterable):
        raise DataError(f"received a {type(source).__name__}, but needs a file's path, a table, or rows as dicts")
    return IN_MEMORY, _dict_rows(source)


def _table_rows(table: Table) -> Iterator[Row]:
    import pyarrow as pa

    batches = pa.table(table).to_batches(max_chunksize=1024)
    return _dict_rows(columns for batch in batches for columns in batch.to_pylist())


def _dict_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    for number, columns in enumerate(rows, 1):
        if not isinstance(columns, Mapping):
            raise DataError(
                f"is a {type(columns).__name__}, but a row must be a dict of its columns", file=IN_MEMORY, line=number
            )
        yield Row(number, dict(columns))
