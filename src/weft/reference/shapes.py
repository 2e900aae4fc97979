"""Shapes: what a config may hold in one place, read from the type of an option.

Words for people (`words`) and JSON Schema for editors (`schema`) are both made from these, so that they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BeforeValidator, InstanceOf
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticUndefined

from weft.spec import Spec


@dataclass(frozen=True)
class NumberRange:
    """Where a number may lie; None is no limit on that side."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None


@dataclass(frozen=True)
class AnyText:
    """Any text."""


@dataclass(frozen=True)
class Flag:
    """True or false."""


@dataclass(frozen=True)
class Numeral:
    """A number."""

    whole: bool
    bounds: NumberRange = NumberRange()


@dataclass(frozen=True)
class Choice:
    """One of these values."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class ListOf:
    """A list; of fixed length where both lengths are the same."""

    item: Shape
    shortest: int = 0
    longest: int | None = None


@dataclass(frozen=True)
class TableOf:
    """A table with names of the user's own."""

    item: Shape
    smallest: int = 0


@dataclass(frozen=True)
class KindOf:
    """One of the kinds of a room: its name alone, or a table with its options."""

    root: type[Spec]


@dataclass(frozen=True)
class SectionTable:
    """A table with the options of a Spec."""

    spec: type[Spec]


@dataclass(frozen=True)
class OneOf:
    """Any of several shapes."""

    parts: tuple[Shape, ...]


@dataclass(frozen=True)
class Anything:
    """What is not looked into here."""


Shape = AnyText | Flag | Numeral | Choice | ListOf | TableOf | KindOf | SectionTable | OneOf | Anything

_PLAIN: Mapping[Any, Shape] = {str: AnyText(), bool: Flag(), int: Numeral(True), float: Numeral(False), Any: Anything()}


def shape_of(field: FieldInfo) -> Shape:
    """What an option takes; that it may be left out is no part of it."""
    return _shape(field.annotation, field.metadata)


def _shape(annotation: Any, metadata: Iterable[Any] = ()) -> Shape:
    found = list(_flat(metadata))
    for one in found:
        if isinstance(one, BeforeValidator) and one.json_schema_input_type is not PydanticUndefined:
            return _shape(one.json_schema_input_type)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _shape(inner[0], [*found, *inner[1:]])
    if origin in (Union, UnionType):
        return _one_of(_shape(part, found) for part in inner if part is not NoneType and not _hidden(part))
    if origin is Literal:
        return Choice(inner)
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        return KindOf(annotation) if annotation._root is annotation else SectionTable(annotation)
    if origin in (tuple, list):
        return _list(inner, found)
    if origin is dict:
        return TableOf(_shape(inner[1]), _limit(found, MinLen, "min_length") or 0)
    plain = _PLAIN.get(annotation, Anything())  # a plugin may ask for more than we know
    return Numeral(plain.whole, _bounds(found)) if isinstance(plain, Numeral) else plain


def _list(inner: tuple[Any, ...], metadata: list[Any]) -> ListOf:
    if len(inner) > 1 and inner[1] is not ...:
        return ListOf(_one_of(map(_shape, inner)), len(inner), len(inner))
    longest = _limit(metadata, MaxLen, "max_length")
    return ListOf(_shape(inner[0]), _limit(metadata, MinLen, "min_length") or 0, longest)


def _one_of(parts: Iterable[Shape]) -> Shape:
    flat: list[Shape] = []
    for part in parts:
        flat += part.parts if isinstance(part, OneOf) else [part]
    different = tuple(dict.fromkeys(flat))
    return different[0] if len(different) == 1 else OneOf(different)


def _hidden(annotation: Any) -> bool:
    """Whether a config file cannot hold it, as rows in memory."""
    hidden = (SkipJsonSchema, InstanceOf)
    return any(isinstance(one, hidden) or one in hidden for one in getattr(annotation, "__metadata__", ()))


def _flat(metadata: Iterable[Any]) -> Iterable[Any]:
    """What is said about a type, also that which stands inside a `Field`."""
    for one in metadata:
        yield from _flat(one.metadata) if isinstance(one, FieldInfo) else (one,)


def _bounds(metadata: list[Any]) -> NumberRange:
    kinds = {"ge": Ge, "gt": Gt, "le": Le, "lt": Lt}
    return NumberRange(**{field.name: _limit(metadata, kinds[field.name], field.name) for field in fields(NumberRange)})


def _limit(metadata: list[Any], kind: type, name: str) -> Any:
    return next((getattr(one, name) for one in metadata if isinstance(one, kind)), None)
