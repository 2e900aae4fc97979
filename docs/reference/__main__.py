"""Every page of this folder, made anew from the Specs; no sentence on a page is written by hand.

    python -m docs.reference

Kinds that installed plugins add are left out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from weft.reference.describe import describe_rooms
from weft.reference.markdown import render_pages
from weft.reference.rooms import ROOMS

FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """The text of every page, by name."""
    own = {
        place.name: {kind for kind, spec in place.spec.kinds().items() if spec.__module__.startswith("weft.")}
        for place in ROOMS
        if place.spec._root is place.spec
    }
    rooms = {
        name: replace(room, kinds={kind: told for kind, told in room.kinds.items() if kind in own.get(name, {kind})})
        for name, room in describe_rooms().items()
    }
    return render_pages(rooms)


def main() -> None:
    for name, text in pages().items():
        (FOLDER / f"{name}.md").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
