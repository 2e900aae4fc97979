"""Overrides of a config document: table into table."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any


def nest(override: Mapping[str, Any]) -> dict[str, Any]:
    """An override with its dotted keys (`"training.epochs" = 3`) as tables."""
    nested: dict[str, Any] = {}
    for key, value in override.items():
        nested = merge(nested, _as_table(key, value))
    return nested


def set_twice(override: Mapping[str, Any]) -> list[str]:
    """The keys that an override sets more than once: as a dotted key and in a table."""
    tables = [_as_table(key, value) for key, value in override.items()]
    return [path for one, other in combinations(tables, 2) if (path := _common(one, other))]


def merge(base: Any, override: Any) -> Any:
    """What a config says with an override: tables are merged, anything else is replaced.

    A table that names another `kind` than the base's replaces it whole: options of one kind mean nothing to another. A
    kind given by its name alone takes options too. In a list, a table of numbers changes the entries of these numbers.
    """
    if not isinstance(override, Mapping):
        return override
    if isinstance(base, str):
        base = {"kind": base}
    if isinstance(base, list | tuple) and override and all(_is_entry(key, len(base)) for key in override):
        return [merge(entry, override[str(i)]) if str(i) in override else entry for i, entry in enumerate(base)]
    if not isinstance(base, Mapping) or override.get("kind", base.get("kind")) != base.get("kind"):
        base = {}
    merged = dict(base)
    for key, value in override.items():
        merged[key] = merge(base.get(key), value)
    return merged


def _is_entry(key: str, count: int) -> bool:
    return key in map(str, range(count))


def _as_table(key: str, value: Any) -> dict[str, Any]:
    first, _, rest = key.partition(".")
    return {first: _as_table(rest, value) if rest else value}


def _common(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The dotted key that both of two tables set; nothing where there is none."""
    for key in other:
        if key not in one:
            continue
        if not (isinstance(one[key], Mapping) and isinstance(other[key], Mapping)):
            return key
        if inner := _common(one[key], other[key]):
            return f"{key}.{inner}"
    return ""
