"""`--set key=value`: one value of a config document changed from outside."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from weft.errors import ConfigError


def apply_override(document: dict[str, Any], override: str) -> dict[str, Any]:
    """The document with one dotted `key=value` set; the value is read as TOML, else taken as text.

    A number in the key names an entry of a list: `phases.0.epochs`; the number after the last adds an entry.
    """
    key, separator, text = override.partition("=")
    if not separator or not all(part.strip() for part in key.split(".")):
        shown = override if len(override) <= 80 else override[:79] + "…"
        lacking = "an empty key" if separator else "no value"
        raise ConfigError(f"--set {shown!r} has {lacking}; write it as key=value, for example training.epochs=5")
    changed: dict[str, Any] = _with_value(document, key.strip().split("."), _read_value(text), "")
    return changed


def _read_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, or more than the parser takes
        return text


def _with_value(table: Any, path: list[str], value: Any, outer: str) -> Any:
    """The table or list with the value at a path inside it; `outer` is the path to it, for messages."""
    if isinstance(table, str):  # a kind given by name alone takes options too
        table = {"kind": table}
    here, inner = path[0], path[1:]
    shown = f"{outer}.{here}" if outer else here
    if isinstance(table, list | tuple):
        index = _index(table, here, outer)
        content = _with_value(table[index] if index < len(table) else {}, inner, value, shown) if inner else value
        return [*table[:index], content, *table[index + 1 :]]
    if not isinstance(table, dict):
        raise ConfigError(f"--set {shown}: {here!r} is inside something that is not a table")
    if not inner:
        return {**table, here: value}
    absent: Any = [] if inner[0] == "0" and outer + here != "tasks" else {}
    return {**table, here: _with_value(table.get(here, absent), inner, value, shown)}


def _index(entries: Sequence[Any], name: str, outer: str) -> int:
    """The entry of a list that a number names; the number after the last is for a new one."""
    if name.isascii() and name.isdigit() and len(name) < 10 and int(name) <= len(entries):
        return int(name)
    allowed = f"0 to {len(entries) - 1}, or {len(entries)}" if entries else "0"
    raise ConfigError(
        f"--set: {outer} is a list of {len(entries)}; name an entry by its number, {allowed} for a new one"
    )
