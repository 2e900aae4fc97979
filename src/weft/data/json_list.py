"""JSON: one list of objects, whose keys are the columns; read whole, so for files that fit into memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from weft.data.columns import Header
from weft.data.opening import UTF8, open_text, read_lines
from weft.errors import DataError, kind_of


def read_json_list(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a list, counted from 1."""
    text = "".join(line for _, line in read_lines(path, encoding))
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg} at position {error.colno}"
        if error.msg == "Extra data":
            problem += "; a file with an object in every line is called .jsonl"
        raise DataError(problem, file=path, line=error.lineno) from None
    except (ValueError, RecursionError):
        raise DataError("holds a number too long or brackets too deep to read", file=path) from None
    if not isinstance(rows, list):
        raise DataError(f"holds {kind_of(rows)}, but must hold a list of objects", file=path)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            problem = f"entry {number} of the list is {kind_of(row)}, but must be an object"
            raise DataError(problem, file=path)
        yield number, row


def write_json_list(path: Path, rows: Iterable[Mapping[str, Any]], header: Header = tuple) -> None:
    """The rows as a list, an object in every line; what JSON has no word for becomes text. No header."""
    with open_text(path) as file:
        before = "[\n"
        for row in rows:
            file.write(before + json.dumps(row, ensure_ascii=False, default=str))
            before = ",\n"
        file.write("\n]\n" if before != "[\n" else "[]\n")
