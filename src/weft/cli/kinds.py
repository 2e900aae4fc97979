"""`weft kinds`: everything that can be written into a config."""

from __future__ import annotations

from typing import Annotated

import typer


def kinds(
    room: Annotated[
        str | None, typer.Argument(metavar="ROOM", help="A place in the config, as tasks, losses or training.")
    ] = None,
    kind: Annotated[str | None, typer.Argument(metavar="KIND", help="One choice of it, as classification.")] = None,
) -> None:
    """Say what can be written into a config.

    Example: [cyan]weft kinds tasks classification[/]

    Without ROOM it lists the rooms, with a ROOM its kinds or options, with
    both all about one kind. Kinds of installed plugins are among them.
    The same stands in docs/reference; editors get it by [cyan]weft schema[/].
    """
    from weft.cli.screen import console, output
    from weft.errors import ConfigError
    from weft.reference.describe import describe_rooms
    from weft.reference.find import find_kind, find_room
    from weft.reference.terminal import kind_page, kinds_table, rooms_table

    if room is None:
        output.print(rooms_table(describe_rooms()))
        console.print("\nNext: weft kinds ROOM, for example weft kinds tasks", markup=False)
        return
    try:
        found = find_room(room)
        chosen = None if kind is None else find_kind(found, kind)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None
    if chosen is not None or not found.has_kinds:
        output.print(kind_page(chosen or found.kinds[found.name]))
        return
    output.print(f"{found.written}: {found.summary}\n", markup=False)
    output.print(kinds_table(found))
    console.print(f"\nNext: weft kinds {found.name} KIND", markup=False)
