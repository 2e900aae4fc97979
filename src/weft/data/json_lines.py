"""JSON Lines: an object in every line, whose keys are the columns; an object may leave keys out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from weft.data.columns import Header
from weft.data.opening import UTF8, open_text, read_lines
from weft.errors import DataError, kind_of


def read_json_lines(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their lines; blank lines are passed over."""
    for number, line in read_lines(path, encoding):
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
            raise DataError(f"holds {kind_of(value)}, but must hold an object", file=path, line=number)
        yield number, value


def write_json_lines(path: Path, rows: Iterable[Mapping[str, Any]], header: Header = tuple) -> None:
    """Each row as an object with its own keys; what JSON has no word for becomes text. No header."""
    with open_text(path) as file:
        file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
