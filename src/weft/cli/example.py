"""`weft example`: data and a config that run at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from weft.examples import PackagedExample


def example(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which one; without it, all are listed.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder to make; NAME if unset.")] = None,
) -> None:
    """Write an example that runs at once: a config and its data.

    Example: [cyan]weft example topic --output first[/]

    There is one for every kind of task, and one with several at once.
    The rows are invented and free to use. Nothing is overwritten.
    """
    from weft.examples import all_examples
    from weft.spec import nearest

    known = all_examples()
    if name is None:
        if output is not None:
            raise typer.BadParameter("--output needs the NAME of an example; weft example lists them")
        _list(list(known.values()))
        return
    if name not in known:
        raise typer.BadParameter(f"there is no example {name!r}; there are {', '.join(known)}{nearest(name, known)}")
    target = output or Path(name)
    known[name].write(target)
    _say_what_next(known[name], target)


def _list(examples: list[PackagedExample]) -> None:
    """A line for each: name, rows, kinds and what it shows."""
    from weft.cli.screen import console

    lines = [("name", "rows", "kinds of task", "what it shows")]
    lines += [(one.name, str(one.count_rows()), ", ".join(one.kinds), one.shows) for one in examples]
    name, rows, kinds = (max(len(line[column]) for line in lines) for column in range(3))
    for line in lines:
        typer.echo(f"{line[0]:<{name}} {line[1]:>{rows}}  {line[2]:<{kinds}}  {line[3]}")
    console.print("\nNext: weft example topic", markup=False)


def _say_what_next(example: PackagedExample, folder: Path) -> None:
    import shlex

    from weft.cli.screen import console

    config = example.config.name
    typer.echo(f"{folder}: {', '.join([config, *(file.name for file in example.data)])}")
    console.print("\nNext:")
    for command in (
        f"cd {shlex.quote(str(folder))}",
        f"weft check {config}",
        f"weft train {config} --output model",
        example.question,
    ):
        console.print(f"  {command}", markup=False, soft_wrap=True)
