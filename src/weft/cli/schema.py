"""`weft schema`: the JSON Schema by which editors complete and check a config."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def schema(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSON file to write; on standard output if unset.")
    ] = None,
) -> None:
    """Write the JSON Schema of a config, for editors.

    Example: [cyan]weft schema --output weft.schema.json[/]

    A config then begins with the line [cyan]#:schema ./weft.schema.json[/], which
    Taplo (Even Better TOML) reads. Kinds of installed plugins are in it, so
    write it anew after installing one.
    """
    from weft.cli.screen import console
    from weft.cli.screen import output as screen
    from weft.data.atomic import write_atomically
    from weft.errors import ConfigError
    from weft.reference.schema import config_schema

    if output is not None and output.suffix.lower() != ".json":  # or a config would be lost to a slip of the finger
        raise ConfigError(f"--output {str(output)!r} is no JSON file; name one, such as weft.schema.json")
    text = json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        screen.out(text, highlight=False, end="")
        return
    write_atomically(output, lambda path: path.write_text(text, encoding="utf-8"))
    console.print(f"Next: put this line first in a config: #:schema {output}", markup=False, soft_wrap=True)
