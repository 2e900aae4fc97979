"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.model.devices import Device

DeviceChoice = Annotated[Device, typer.Option(help="Where to compute; auto takes a GPU where there is one.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change one value of the config, e.g. training.epochs=5. Repeatable."
    ),
]


def _check_encoding(name: str | None) -> str | None:
    from weft.data.opening import check_encoding

    try:
        return None if name is None else check_encoding(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


FileEncoding = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        callback=_check_encoding,
        help="Encoding of the file, e.g. cp1252 for Excel's CSV.",
    ),
]
TextColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="[TASK=]NAME",
        help="Read the text in this column, instead of the one a task was trained with; without TASK= all tasks that "
        "read one text. Repeatable; of a pair TASK=NAME,NAME.",
    ),
]
DataFolder = Annotated[
    Path | None, typer.Option("--data", help="Folder of the tasks' files, instead of the config's own.")
]
