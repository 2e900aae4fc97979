"""The reference as pages: an index, and one page per room."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping

from weft.reference.describe import DescribedKind, Option, Room, one_line

_HEAD = "<!-- Made by python -m docs.reference; change the docstrings of the options instead. -->"
_PAGE = re.compile(r"\bdocs/([\w/]+\.md)")  # beside the reference, on the site as in the tree
_CODE = re.compile(r"`([^`]*\|[^`]*)`")  # in a cell: a pipe would end it, and a backslash before it would be shown


def render_pages(rooms: Mapping[str, Room]) -> dict[str, str]:
    """The text of every page, by name; `README` is the index."""
    return {"README": "\n".join(_index(rooms)) + "\n", **{name: _page(room) for name, room in rooms.items()}}


def _index(rooms: Mapping[str, Room]) -> Iterator[str]:
    yield from (_HEAD, "", "# What a config can say", "")
    yield "The same stands in a terminal: `weft kinds`, `weft kinds ROOM`, `weft kinds ROOM KIND`. Editors complete and"
    yield "check a config by the JSON Schema that `weft schema` writes."
    yield from ("", "| room | written as | what it says | kinds |", "|---|---|---|---|")
    for room in rooms.values():
        kinds = ", ".join(f"[{kind}]({room.name}.md#{kind})" for kind in room.kinds) if room.has_kinds else ""
        yield f"| [{room.name}]({room.name}.md) | `{room.written}` | {room.summary} | {kinds} |"


def _page(room: Room) -> str:
    lines = [_HEAD, "", f"# {room.name}", "", f"`{room.written}`: {room.summary} ([all rooms](README.md))"]
    for kind in room.kinds.values():
        lines += ["", *([f"## {kind.name}", ""] if room.has_kinds else []), *_kind(kind, room.summary)]
    return "\n".join(lines) + "\n"


def _kind(kind: DescribedKind, told: str) -> Iterator[str]:
    """What a page says of a kind, but for the sentence that its room told already."""
    if kind.summary != told:
        yield from (kind.summary, "")
    for paragraph in filter(None, kind.details.split("\n\n")):
        yield from (_linked(one_line(paragraph)), "")
    yield from ("```toml", kind.example.rstrip(), "```")
    if kind.facts:
        yield from ("", *(f"- {fact}" for fact in kind.facts))
    if kind.options:
        yield from ("", "| option | type | default | allowed | what it is |", "|---|---|---|---|---|")
    for option in kind.options:
        yield _row(option)
    if kind.idle:
        yield from ("", *(f"- `{name}` does nothing here: {why}." for name, why in kind.idle.items()))


def _row(option: Option) -> str:
    bare = option.required or option.default is None or option.default == {}
    default = option.default_words if bare else f"`{option.default_words}`"
    cells = (f"`{option.name}`", option.type, default, option.allowed, _linked(one_line(option.explained)))
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _linked(words: str) -> str:
    """Words in which the name of a page leads to it."""
    return _PAGE.sub(r"[\g<0>](../\1)", words)


def _cell(words: str) -> str:
    """What a cell of a table says, its pipes as entities, which code can hold only in HTML."""
    spans = _CODE.sub(lambda found: f"<code>{html.escape(found[1], quote=False)}</code>", words)
    return spans.replace("|", "&#124;")
