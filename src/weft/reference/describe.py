"""Everything that can be written into a config: rooms, their kinds, and the options of each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weft.losses import Loss
from weft.reference.examples import example_document, to_toml
from weft.reference.rooms import ROOMS, Place
from weft.reference.shapes import SectionTable, Shape, shape_of
from weft.reference.words import allowed_words, plain, type_words
from weft.spec import Spec
from weft.tasks import Task

NAMES = {place.spec: place.name for place in ROOMS}
_ANSWERS = {"label": "one label", "labels": "several labels", "score": "a score"}


@dataclass(frozen=True)
class Option:
    """One key of a table."""

    name: str
    shape: Shape
    required: bool
    default: Any  # plain data; None where it is unset
    explained: str  # what stands below it in the source

    @property
    def type(self) -> str:
        """What to write."""
        return type_words(self.shape, NAMES)

    @property
    def allowed(self) -> str:
        """Which values, where not all of the type are allowed."""
        return allowed_words(self.shape)

    @property
    def default_words(self) -> str:
        """The default as TOML, or that there is none."""
        if self.required:
            return "required"
        if isinstance(self.shape, SectionTable) and self.default == {}:
            return "its defaults"
        return "unset" if self.default is None else plain(self.default)


@dataclass(frozen=True)
class DescribedKind:
    """One choice of a room, or a section of the config that has no kinds."""

    name: str
    summary: str  # one sentence
    details: str  # paragraphs, empty where one sentence says all
    options: tuple[Option, ...]
    idle: Mapping[str, str]  # options that it inherits and that do nothing here, with why
    facts: tuple[str, ...]  # what else follows from its class
    example: str  # a config, as TOML


@dataclass(frozen=True)
class Room:
    """A place in the config, with the kinds that can stand there; a section has one, of its own name."""

    name: str
    written: str  # where it stands in a config
    summary: str
    kinds: Mapping[str, DescribedKind]
    has_kinds: bool


def describe_rooms() -> dict[str, Room]:
    """Every room by name, in the order in which people meet them."""
    return {place.name: describe_room(place) for place in ROOMS}


def describe_room(place: Place) -> Room:
    """A room with all its kinds, those of installed plugins included."""
    has_kinds = place.spec._root is place.spec
    found = place.spec.kinds() if has_kinds else {place.name: place.spec}
    kinds = {name: describe_kind(name, spec) for name, spec in found.items()}
    return Room(place.name, place.written, place.summary, kinds, has_kinds)


def describe_kind(name: str, spec: type[Spec]) -> DescribedKind:
    """One Spec with its options in the order of its own first, then those that it inherits."""
    _, _, details = inspect.cleandoc(spec.__doc__ or "").partition("\n\n")
    idle = idle_options(spec)
    options = tuple(option for option in describe_options(spec) if option.name not in ("kind", *idle))
    example = to_toml(example_document(spec))
    return DescribedKind(name, summary_of(spec), details, options, idle, tuple(_facts(spec)), example)


def summary_of(spec: type[Spec]) -> str:
    """The first sentence of a class, which says what a kind is."""
    return one_line(inspect.cleandoc(spec.__doc__ or "").partition("\n\n")[0])


def describe_options(spec: type[Spec]) -> list[Option]:
    """Every option, that of its kind included; those of its own class come before what it inherits."""
    explained = spec.explained()
    depth = {name: index for index, base in enumerate(spec.__mro__) for name in vars(base).get("__annotations__", ())}
    return [
        Option(
            name=field.alias or name,
            shape=shape_of(field),
            required=field.is_required(),
            default=None
            if field.is_required()
            else plain_data(field.get_default(call_default_factory=True, validated_data={})),
            explained=explained.get(name, ""),
        )
        for name, field in sorted(spec.model_fields.items(), key=lambda item: depth.get(item[0], 0))
    ]


def idle_options(spec: type[Spec]) -> dict[str, str]:
    """The options that do nothing for a kind of task, with why."""
    if not issubclass(spec, Task) or not builds_from_defaults(spec):
        return {}
    return {name: remedy.split("; ")[0] for name, remedy in spec().idle_options().items()}


def _facts(spec: type[Spec]) -> Iterator[str]:
    """What follows from the class itself: what a loss is for, what a task is measured by and learns with."""
    if issubclass(spec, Loss):
        yield f"For tasks that answer with {' or '.join(_ANSWERS[target] for target in spec.target_types)}."
        if spec.reads == "features":
            yield "For a phase, not for a task."
    if issubclass(spec, Task) and builds_from_defaults(spec):
        yield from dict.fromkeys(_metrics(spec))
        yield f"`loss` is `{spec().target().default_loss.to_dict()['kind']}` if unset."


def _metrics(spec: type[Task]) -> Iterator[str]:
    told: set[tuple[str, ...]] = set()
    for options in spec.variants():
        target = spec(**options).target()
        if target.metrics not in told:
            told.add(target.metrics)
            when = ", ".join(f"`{name} = {plain(value)}`" for name, value in options.items())
            others = ", ".join(f"`{metric}`" for metric in target.metrics if metric != target.default_metric)
            yield f"{f'With {when}, ' if when else ''}`metric` is `{target.default_metric}` if unset; others: {others}."


def builds_from_defaults(spec: type[Spec]) -> bool:
    """Whether its name alone will do, as no option is required."""
    return not any(field.is_required() for field in spec.model_fields.values())


def plain_data(value: Any) -> Any:
    """A default as plain data: a kind by its name where its options are the defaults, no table where all are."""
    if isinstance(value, Spec):
        table = value.to_dict()
        return table["kind"] if "kind" in table and value == type(value)() else {} if value == type(value)() else table
    return [plain_data(one) for one in value] if isinstance(value, list | tuple) else value


def one_line(text: str) -> str:
    """A paragraph without its line breaks."""
    return re.sub(r"\s+", " ", text).strip()
