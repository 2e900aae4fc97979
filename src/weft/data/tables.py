"""Rows that are in memory already: a frame, an Arrow table, a dataset, or any iterable of dicts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np

from weft.data.columns import check_header
from weft.data.formats import Row, read_rows
from weft.data.header import with_naming
from weft.data.labelled_dataset import LabelledDataset, dataset_rows
from weft.data.opening import EncodedFile
from weft.data.row_files import RowFiles
from weft.errors import IN_MEMORY, DataError, kind_of

_NO_NAME = re.compile(r"__index_level_\d+__")  # what Arrow calls the index of a frame that has no name


@runtime_checkable
class Table(Protocol):
    """What pandas, polars and Arrow tables have in common: the Arrow stream interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


@runtime_checkable
class Frame(Protocol):
    """What frames had before that interface: their rows as a list of dicts."""

    @property
    def columns(self) -> Any: ...
    def to_dict(self, orient: Any) -> Any: ...


RowSource = str | os.PathLike[str] | Table | Frame | Iterable[Mapping[str, Any]]


class RowsInMemory:
    """Rows that a config holds instead of the name of a file; equal where they are the same object.

    A plain class, whose `repr` shows nothing of them: they are users' texts. They can be gone through again and again,
    also where an iterator gave them. A process that they are sent to again and again, with every run of a comparison,
    holds them once.
    """

    def __init__(self, rows: Table | Frame | Iterable[Mapping[str, Any]], name: str | None = None) -> None:
        self.rows = list(rows) if isinstance(rows, Iterator) else rows
        self.name = name or uuid4().hex  # by which another process knows them again

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (self.rows, self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowsInMemory) and other.rows is self.rows

    def __hash__(self) -> int:
        return id(self.rows)


_known: WeakValueDictionary[str, RowsInMemory] = WeakValueDictionary()  # that were sent to this process


def _received(rows: Any, name: str) -> RowsInMemory:
    return _known.setdefault(name, RowsInMemory(rows, name))


def are_rows(value: object) -> bool:
    """Whether something can be gone through as rows: a table, a frame, or an iterable that is no text and no dict."""
    return isinstance(value, Table | Frame | Iterable) and not isinstance(value, str | bytes | Mapping)


def is_frame(value: object) -> bool:
    """Whether something is a table by its columns; a Series or an array has none, though it speaks Arrow as well."""
    return isinstance(value, Table | Frame | LabelledDataset) and _columns(value) is not None


def _columns(value: object) -> list[str] | None:
    """The names of the columns; a frame calls them `columns`, where a table's are its columns themselves."""
    names = getattr(value, "column_names", None)
    names = getattr(value, "columns", None) if names is None else names
    return None if names is None or callable(names) else [str(name) for name in names]


def open_rows(source: RowSource | RowsInMemory | RowFiles) -> tuple[Path, Iterator[Row]]:
    """What errors call a source, and its rows; a file is opened once, when the first row is asked for.

    Rows in memory have the lines 1, 2 and so on, which errors count from 0, as Python does. A missing value of a
    frame, such as NaN, is None.
    """
    if isinstance(source, RowsInMemory):
        source = source.rows
    if isinstance(source, RowFiles):
        return source.paths[0], source.rows()
    if isinstance(source, EncodedFile):
        return source.path, read_rows(source.path, source.encoding)
    if isinstance(source, str | os.PathLike):
        return Path(source), read_rows(Path(source))
    if isinstance(source, Table):
        return IN_MEMORY, _table_rows(source)
    if isinstance(source, Frame):
        return IN_MEMORY, _frame_rows(source)
    if isinstance(source, LabelledDataset):
        return IN_MEMORY, _rows(dataset_rows(source), tabular=True)
    if not are_rows(source):
        raise DataError(f"received {kind_of(source)}, but needs a file's path, a table, or rows as dicts")
    return IN_MEMORY, _rows(source, tabular=False)


def _table_rows(table: Table) -> Iterator[Row]:
    import pyarrow as pa

    check_header(_columns(table) or (), IN_MEMORY)
    try:
        whole = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:  # what it says might hold a cell
        if isinstance(table, Frame):  # whose columns may hold values of several types, which Arrow's do not
            return _frame_rows(table)
        kind = type(table).__name__
        raise DataError(
            f"received a {kind} that is no table ({type(error).__name__}); give a table with columns, or rows as dicts"
        ) from None
    named = whole.select([name for name in whole.column_names if not _NO_NAME.fullmatch(name)])
    rows = (columns for batch in named.to_batches(max_chunksize=1024) for columns in batch.to_pylist())
    return _rows(map(_without_missing, rows), tabular=True)


def _frame_rows(frame: Frame) -> Iterator[Row]:
    check_header(_columns(frame) or (), IN_MEMORY)
    rows = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")  # as polars has it, and pandas
    return _rows(map(_without_missing, rows), tabular=True)


def _rows(rows: Iterable[Mapping[str, Any]], tabular: bool) -> Iterator[Row]:
    plain = (_as_in_files(number, columns) for number, columns in enumerate(rows, 1))
    for number, (naming, columns) in enumerate(with_naming(plain, lambda columns: columns, tabular), 1):
        yield Row(number, columns, naming, optional=not tabular)


def _as_in_files(number: int, columns: Any) -> dict[str, Any]:
    if not isinstance(columns, Mapping):
        raise DataError(f"is {kind_of(columns)}, but a row must be a dict of its columns", file=IN_MEMORY, line=number)
    return {str(name): _plain(value) for name, value in columns.items()}


def _without_missing(columns: Mapping[Any, Any]) -> dict[Any, Any]:
    """The cells with None for what a frame calls missing, which is not equal to itself."""
    return {name: None if is_missing(value) else value for name, value in columns.items()}


def _plain(value: object) -> object:
    """A cell as a file would hold it: numpy's numbers and arrays as Python's, a tuple as a list."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def is_missing(value: object) -> bool:
    """Whether a value stands for none: None, NaN, and what pandas calls NA and NaT."""
    if isinstance(value, float | np.floating):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")
