"""Rooms, kinds and options in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from weft.reference.describe import DescribedKind, Option, Room, one_line


def rooms_table(rooms: Mapping[str, Room]) -> Table:
    """Each room with where it stands in a config, and one line."""
    table = _table("room", "written as", "what it says")
    for room in rooms.values():
        table.add_row(Text(room.name, style="bold"), Text(room.written), Text(room.summary))
    return table


def kinds_table(room: Room) -> Table:
    """Each kind of a room with its one sentence."""
    table = _table("kind", "what it is")
    for kind in room.kinds.values():
        table.add_row(Text(kind.name, style="bold"), Text(kind.summary))
    return table


def kind_page(kind: DescribedKind) -> Group:
    """All that is known of a kind: sentences, options, and an example."""
    return Group(*_parts(kind))


def _parts(kind: DescribedKind) -> Iterator[RenderableType]:
    yield Text(kind.summary)
    for paragraph in (*filter(None, kind.details.split("\n\n")), *kind.facts):
        yield from ("", Text(one_line(paragraph)))
    if kind.options:
        yield ""
    for option in kind.options:
        yield _heading(option)
        yield Padding(Text(one_line(option.explained)), (0, 0, 0, 4))
    if kind.idle:
        yield ""
    for name, why in kind.idle.items():
        yield Text(f"{name} does nothing here: {why}.", style="dim")
    yield from ("", Text("example", style="bold"), Padding(Text(kind.example.rstrip()), (0, 0, 0, 4)))


def _heading(option: Option) -> Text:
    """Name, type, allowed values and default, on one line where it is wide enough."""
    told = "; ".join(filter(None, (option.type, option.allowed)))
    plain = option.required or option.default is None
    return Text.assemble((option.name, "bold"), f"  {told} ({'' if plain else 'default '}{option.default_words})")


def _table(*headings: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading == "kind")
    return table
