"""Shapes in plain words: what to write, and which values are allowed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from weft.reference.shapes import (
    AnyText,
    Choice,
    Flag,
    KindOf,
    ListOf,
    NumberRange,
    Numeral,
    OneOf,
    SectionTable,
    Shape,
    TableOf,
)
from weft.spec import Spec

Names = Mapping[type[Spec], str]  # of the rooms that explain a Spec
_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four"}
FAR = 2**31  # beyond this a limit is that of the file format, and nobody's concern


def type_words(shape: Shape, names: Names, several: bool = False) -> str:
    """What to write, as `whole number`, `list of texts` or `kind of heads`; `several` gives the plural."""
    s = "s" * several
    match shape:
        case AnyText() | Choice():
            return f"text{s}"
        case Flag():
            return "true or false"
        case Numeral(whole):
            return f"whole number{s}" if whole else f"number{s}"
        case ListOf(item, shortest, longest):
            count = f"{_NUMBERS.get(shortest, shortest)} " if shortest == longest else ""
            return f"list{s} of {count}{type_words(item, names, True)}"
        case TableOf(item):
            inner = type_words(item, names, True).removesuffix(", by name")
            return f"table{s} of {inner}, by name"
        case KindOf(root):
            return f"kind{s} of {names.get(root, root.__name__)}"
        case SectionTable(spec):
            return f"table{s} ({names.get(spec, spec.__name__)})"
        case OneOf(parts):
            return " or ".join(dict.fromkeys(type_words(part, names, several) for part in parts))
        case _:
            return f"value{s}"


def allowed_words(shape: Shape) -> str:
    """Which values are allowed, as `"a", "b"` or `from 0 to below 1`; empty where all of the type are."""
    match shape:
        case Choice(values):
            return ", ".join(map(plain, values))
        case Numeral(_, bounds):
            return _range(bounds)
        case ListOf(item, shortest, longest):
            least = f"at least {_NUMBERS.get(shortest, shortest)}" if shortest and longest is None else ""
            return "; ".join(filter(None, (allowed_words(item), least)))
        case TableOf(item):
            return allowed_words(item)
        case OneOf(parts):
            return ", or ".join(filter(None, map(allowed_words, parts)))
        case _:
            return ""


def _range(bounds: NumberRange) -> str:
    above, below = bounds.gt is not None, bounds.lt is not None and bounds.lt < FAR
    low, high = bounds.gt if above else bounds.ge, bounds.lt if below else bounds.le
    start = "" if low is None else f"{'above' if above else 'from'} {number(low)}"
    if high is None:
        return f"{start} on" if start and not above else start
    end = f"{'below' if below else 'to'} {number(high)}"
    return f"{start} and {end}" if start and below else f"{start} {end}".strip()


def number(value: float) -> str:
    """A number as a config has it: 5e-5, and no 5e-05."""
    return re.sub(r"e([+-])0+", r"e\1", str(value))


def plain(value: Any) -> str:
    """A value as TOML has it, tables inline."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(str(name))} = {plain(one)}" for name, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain, value))}]"
    return number(value)


def toml_key(name: str) -> str:
    """A name as a key, in quotes where it needs them."""
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
