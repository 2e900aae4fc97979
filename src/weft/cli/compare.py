"""`weft compare`: which method helps, on this data, by how much, how surely."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli.options import DataFolder, DeviceChoice


def compare(
    file: Annotated[Path, typer.Argument(help="The grid: a base config and its variants, as a TOML file.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder to make (comparisons/NAME if unset); with --use a file."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only see it run: at most 3 seeds, 200 rows per task.")
    ] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at once, sharing the cores.")] = None,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Where runs are made: this machine, or a Ray cluster.")
    ] = "local",
    keep: Annotated[
        Literal["none", "best", "all"], typer.Option(help="Trained models that stay: none, each task's best, or all.")
    ] = "none",
    use: Annotated[
        str | None, typer.Option("--use", metavar="NAME", help="Train nothing: write this variant's config as TOML.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change the grid, e.g. seeds=10 or base.training.epochs=5."),
    ] = None,
    data: DataFolder = None,
    device: DeviceChoice = "auto",
) -> None:
    """Compare methods on your own data: same rows, same seeds, and a verdict that can be trusted.

    Example: [cyan]weft compare grid.toml --jobs 2[/]; then [cyan]weft compare grid.toml --use NAME -o best.toml[/]

    Prints first how long it will take and what so many seeds can decide. Ctrl-C
    is safe: the same command goes on where it stopped, and after a change only
    what changed runs again.
    """
    from rich.markup import escape

    from weft.cli.screen import console
    from weft.cli.screen import output as screen

    if use is not None:
        _write_config(file, use, overrides or (), data, output)
        return
    from weft.comparison.progress import LiveTable
    from weft.comparison.run import compare as run
    from weft.reports.comparison_terminal import comparison_table

    found = run(
        file,
        output,
        overrides=overrides or (),
        data=data,
        quick=quick,
        jobs=jobs,
        engine=engine,
        keep=keep,
        device=device,
        callback=LiveTable(console),
    )
    screen.print(comparison_table(found.record, screen.width))
    for sentence in found.sentences.values():
        screen.print(sentence, markup=False)
    folder, page = (escape(str(path)) for path in (found.folder, found.folder / "compare.html"))
    console.print(f"\ntables and page: [bold]{folder}[/] (open {page})", soft_wrap=True)


def _write_config(grid: Path, name: str, overrides: Sequence[str], data: Path | None, output: Path | None) -> None:
    """A variant's config as a file, or on standard output."""
    from weft.cli.screen import console
    from weft.cli.screen import output as screen
    from weft.comparison.run import variant_toml
    from weft.data.atomic import write_atomically
    from weft.errors import ConfigError

    if output is not None and output.exists():
        raise ConfigError(f"{output} exists already; name another file with --output")
    text = variant_toml(grid, name, overrides=overrides, data=data)
    if output is None:
        screen.out(text, highlight=False, end="")
    else:
        write_atomically(output, lambda path: path.write_text(text, encoding="utf-8"))
        console.print(f"Next: weft train {shlex.quote(str(output))}", markup=False, soft_wrap=True)
