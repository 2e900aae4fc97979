"""Parquet: a table with types, read and written a chunk at a time."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from weft.data.columns import Header, check_header, flatten
from weft.data.opening import UTF8
from weft.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK = 1024  # rows


def read_parquet(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file, counted from 1; such files are in one encoding."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        check_header(file.schema_arrow.names, path)
        number = 0
        for batch in file.iter_batches(batch_size=_CHUNK):
            for columns in batch.to_pylist():
                number += 1
                yield number, columns
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"is not a readable Parquet file ({type(error).__name__}); copy or write it anew", file=path
        ) from None


def write_parquet(path: Path, rows: Iterable[Mapping[str, Any]], header: Header = tuple) -> None:
    """Every row under all columns that any row has, in the order they first appear; without rows, the header's.

    A column has the type that holds all its values: whole numbers beside fractions are fractions. Values of types that
    none holds, such as numbers beside texts, are a DataError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = map(flatten, rows)
    schema = pa.schema([])
    try:
        # The last chunk may bring a new column or a wider type, so chunks wait in a file until all are known.
        with tempfile.TemporaryFile(dir=path.parent) as waiting:
            while chunk := list(islice(flat, _CHUNK)):
                table = _table(chunk)
                schema = pa.unify_schemas([schema, table.schema], promote_options="permissive")
                _put(table, waiting)
            waiting.seek(0)
            schema = schema if len(schema) else pa.schema([(name, pa.null()) for name in header()])
            with pq.ParquetWriter(path, schema) as file:
                for table in _taken(waiting):
                    file.write_table(_under(schema, table))
    except pa.ArrowException as error:
        raise DataError(
            f"a column holds values of several types ({type(error).__name__}), which Parquet does not; write .jsonl"
        ) from None


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def _put(table: pa.Table, file: IO[bytes]) -> None:
    import pyarrow as pa

    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    content = buffer.getvalue()
    file.write(struct.pack("<q", content.size))
    file.write(content)


def _taken(file: IO[bytes]) -> Iterator[pa.Table]:
    import pyarrow as pa

    while size := file.read(8):
        yield pa.ipc.open_stream(file.read(struct.unpack("<q", size)[0])).read_all()


def _under(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """The table with all columns of the schema, of its types."""
    import pyarrow as pa

    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
