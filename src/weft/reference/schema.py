"""The config as JSON Schema, by which editors complete and check TOML.

Draft 4, which all of them read: a limit that is itself not allowed is a flag beside the limit, and a single value a
list of one. What stands beside a `$ref` would be passed over, so references stand in an `allOf`.
"""

from __future__ import annotations

from typing import Any

from weft.config.experiment import Experiment
from weft.reference.describe import Option, builds_from_defaults, describe_options, idle_options, one_line, summary_of
from weft.reference.rooms import ROOMS
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
from weft.reference.words import FAR
from weft.spec import Spec

Schema = dict[str, Any]


def config_schema() -> Schema:
    """What weft reads of a config file; older names of options are left out, so that editors do not offer them."""
    definitions: dict[str, Schema] = {}
    for place in ROOMS:
        if place.spec._root is place.spec:
            definitions[place.name] = _kinds(place.name, place.spec, definitions)
        elif place.spec is not Experiment:
            definitions[place.name] = _table(place.spec)
    del definitions["grid"]  # a file of another kind
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "title": "weft config",
        **_table(Experiment),
        "definitions": dict(sorted(definitions.items())),
    }


def _kinds(room: str, root: type[Spec], definitions: dict[str, Schema]) -> Schema:
    """Any kind of a room: its name alone where it needs nothing else, or a table. Each table is a definition.

    The kinds stand here once more, so that an editor can say of a misspelt one which there are.
    """
    kinds = root.kinds()
    for kind, spec in kinds.items():
        definitions[f"{room}.{kind}"] = _table(spec)
    alone = [kind for kind, spec in kinds.items() if builds_from_defaults(spec)]
    return {
        "type": ["string", "object"],
        "properties": {"kind": {"enum": list(kinds)}},
        "required": ["kind"],
        "oneOf": [{"type": "string", "enum": alone}, *(_ref(f"{room}.{kind}") for kind in kinds)],
    }


def _table(spec: type[Spec]) -> Schema:
    """A table with the options of a Spec, and no others."""
    idle = idle_options(spec)
    properties: dict[str, Schema] = {}
    for option in describe_options(spec):
        if option.name not in idle:
            properties[option.name] = _property(option)
        elif option.default is not None:  # a config that was written out whole has it
            why = f"Does nothing here: {idle[option.name]}."
            properties[option.name] = {"description": why, "enum": [option.default]}
    required = [option.name for option in describe_options(spec) if option.required or option.name == "kind"]
    needed = {"required": required} if required else {}
    return {
        "type": "object",
        "description": summary_of(spec),
        "properties": properties,
        **needed,
        "additionalProperties": False,
    }


def _property(option: Option) -> Schema:
    described = {"description": one_line(option.explained)} if option.explained else {}
    default = {} if option.required or option.default is None else {"default": option.default}
    return {**described, **default, **_of_shape(option.shape)}


def _of_shape(shape: Shape) -> Schema:
    match shape:
        case AnyText():
            return {"type": "string"}
        case Flag():
            return {"type": "boolean"}
        case Choice(values):
            return {"enum": list(values)}
        case Numeral(whole, bounds):
            return {"type": "integer" if whole else "number", **_range(bounds)}
        case ListOf(item, shortest, longest):
            least = {"minItems": shortest} if shortest else {}
            most = {} if longest is None else {"maxItems": longest}
            return {"type": "array", "items": _of_shape(item), **least, **most}
        case TableOf(item, smallest):
            least = {"minProperties": smallest} if smallest else {}
            return {"type": "object", "additionalProperties": _of_shape(item), **least}
        case KindOf(spec) | SectionTable(spec):
            return {"allOf": [_ref(_NAMES[spec])]} if spec in _NAMES else _table(spec)
        case OneOf(parts):
            return {"anyOf": [_of_shape(part) for part in parts]}
        case _:
            return {}


def _range(bounds: NumberRange) -> Schema:
    found: Schema = {}
    for limit, excluded, name in ((bounds.ge, bounds.gt, "minimum"), (bounds.le, bounds.lt, "maximum")):
        if excluded is not None and excluded < FAR:
            found |= {name: excluded, f"exclusive{name.capitalize()}": True}
        elif limit is not None:
            found |= {name: limit}
    return found


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


_NAMES = {place.spec: place.name for place in ROOMS}
