"""Files of vectors: NPY, Parquet or JSON Lines, written a chunk at a time and complete or absent."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from weft.data.atomic import replacing
from weft.errors import ConfigError


class PlacedVectors(Protocol):
    """The vectors of a text: one for a sentence, else one per word or token with the characters it covers."""

    @property
    def vectors(self) -> NDArray[np.float32]: ...  # (n, H)
    @property
    def spans(self) -> Sequence[tuple[int, int]]: ...  # characters [start, end) of each vector, empty for a sentence
    @property
    def dropped(self) -> int: ...  # tokens that did not fit


Chunk = list[tuple[int, PlacedVectors]]  # input row and its vectors
Write = Callable[[Chunk], None]

_CHUNK = 512


def write_vectors(path: Path, rows: Iterable[PlacedVectors], width: int, level: str) -> None:
    """Write the vectors of many texts, in order, as the suffix says.

    `.npy` holds one float32 row per text and so takes sentences only. `.parquet` and `.jsonl` hold `row` (the text's
    index in the input), `vector`, `dropped` (tokens that did not fit) and, for words and tokens, `start` and `end`.
    """
    check_target(path, level)
    numbered = enumerate(rows)
    with replacing(path) as temporary, _WRITERS[path.suffix.lower()](temporary, width, level != "sentence") as write:
        while chunk := list(islice(numbered, _CHUNK)):
            write(chunk)


def check_target(path: Path, level: str) -> None:
    """Raise for an output that cannot hold such vectors; ask before the work, not after it."""
    if path.is_dir():
        raise ConfigError(
            f"{path}: this is a folder, but a file to write is needed, such as {path / 'vectors.parquet'}"
        )
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        unknown = (
            f"unknown output type {suffix!r}" if suffix else f"the name ends in no type, as {path.name}.parquet does"
        )
        raise ConfigError(f"{path}: {unknown}; allowed: {', '.join(_WRITERS)}")
    if suffix == ".npy" and level != "sentence":
        raise ConfigError(f"{path}: .npy holds one vector per text; for {level} vectors name a .parquet or .jsonl file")


@contextmanager
def _npy(path: Path, width: int, spans: bool) -> Iterator[Write]:
    """The row count is known only at the end, so a header of fixed size is written first and filled in last."""
    rows = 0
    with path.open("wb") as file:
        file.write(_npy_header(0, width))

        def write(chunk: Chunk) -> None:
            nonlocal rows
            for _, text in chunk:
                file.write(np.ascontiguousarray(text.vectors, "<f4").tobytes())
            rows += len(chunk)

        yield write
        file.seek(0)
        file.write(_npy_header(rows, width))


def _npy_header(rows: int, width: int) -> bytes:
    text = repr({"descr": "<f4", "fortran_order": False, "shape": (rows, width)}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117) + b"\n"


@contextmanager
def _parquet(path: Path, width: int, spans: bool) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"row": pa.int64()}
    if spans:
        columns |= {"start": pa.int64(), "end": pa.int64()}
    schema = pa.schema({**columns, "dropped": pa.int64(), "vector": pa.list_(pa.float32(), width)})
    with pq.ParquetWriter(path, schema) as file:

        def write(chunk: Chunk) -> None:
            flat = np.concatenate([text.vectors for _, text in chunk]).ravel()
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float32()), width)
            plain = [cells for row, text in chunk for cells in _cells(row, text, spans)]
            data = {name: pa.array([cells[name] for cells in plain], kind) for name, kind in columns.items()}
            data["dropped"] = pa.array([cells["dropped"] for cells in plain], pa.int64())
            file.write_table(pa.table({**data, "vector": vectors}, schema))

        yield write


@contextmanager
def _jsonl(path: Path, width: int, spans: bool) -> Iterator[Write]:
    with path.open("w", encoding="utf-8") as file:

        def write(chunk: Chunk) -> None:
            for row, text in chunk:
                for cells, vector in zip(_cells(row, text, spans), text.vectors.tolist(), strict=True):
                    file.write(json.dumps({**cells, "vector": vector}) + "\n")

        yield write


def _cells(row: int, text: PlacedVectors, spans: bool) -> list[dict[str, Any]]:
    bounds = [{"start": start, "end": end} for start, end in text.spans] if spans else [{}]
    return [{"row": row, **characters, "dropped": text.dropped} for characters in bounds]


_WRITERS = {".npy": _npy, ".parquet": _parquet, ".jsonl": _jsonl}
