"""`weft info`: what a model folder is."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def info(
    model: Annotated[
        str, typer.Argument(help="Folder that `weft train` wrote, [bold]minilm[/], or an encoder's folder.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON, for programs.")] = False,
) -> None:
    """Say what a model is: tasks, figures, encoder, size.

    Example: [cyan]weft info triage[/]

    The figures are those of the end of training; [cyan]weft evaluate[/] measures anew.
    """
    from weft.cli.screen import output
    from weft.reports.model_info import read_model_info
    from weft.reports.model_info_terminal import info_screen

    found = read_model_info(model)
    if as_json:
        output.out(json.dumps(found.to_dict(), indent=2, ensure_ascii=False), highlight=False)
    else:
        output.print(info_screen(found))
