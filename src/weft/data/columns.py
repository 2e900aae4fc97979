"""The columns of tables: no two of one name, and nested values as plain cells."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from weft.errors import DataError

Header = Callable[[], Iterable[str]]  # the columns of a table that no row may bring, once all rows have been seen


def check_header(names: Iterable[str], path: Path, line: int | None = None) -> list[str]:
    """The names of columns, of which no two may be alike."""
    first: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if first.setdefault(name, number) != number:
            message = f"the header gives columns {first[name]} and {number} one name; rename one of them"
            raise DataError(message, file=path, line=line)
    return list(first)


def under_one_name(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns without second names: in CoNLL files `column1` is also called `tokens`, and is one and the same."""
    first: dict[int, str] = {}
    return {
        name: cell
        for name, cell in columns.items()
        if not isinstance(cell, list) or first.setdefault(id(cell), name) == name
    }


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
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
