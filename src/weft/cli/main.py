"""The `weft` command: gathers the verbs and turns errors into messages and exit codes."""

from __future__ import annotations

import gc
import sys
import warnings
from importlib.metadata import version
from typing import Annotated

import typer

from weft.cli import check, compare, demo, embed, evaluate, example, inspect, predict, train, vocab
from weft.errors import WeftError

app = typer.Typer(
    name="weft",
    help="One encoder, many tasks, few labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weft {version('weft')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """One encoder, many tasks, few labels: turn a pretrained BERT into a model for many text tasks at once."""


app.command("demo")(demo.demo)
app.command("example")(example.example)
app.command("check")(check.check)
app.command("train")(train.train)
app.command("compare")(compare.compare)
app.command("evaluate")(evaluate.evaluate)
app.command("predict")(predict.predict)
app.command("inspect")(inspect.inspect)
app.command("embed")(embed.embed)
app.command("vocab")(vocab.vocab)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Write a warning as a note, without the line of our source that it came from."""
    typer.secho(f"weft: {message}", fg="yellow", err=True)


def main() -> None:
    """Run the command. Exit 0 when done, 1 for a WeftError, and by typer 2 for wrong usage, 130 when interrupted."""
    warnings.showwarning = _show_warning
    gc.set_threshold(50_000, 20, 20)  # what imports make is no garbage; to look for it takes a tenth of their time
    try:
        app()
    except WeftError as error:
        typer.secho(f"weft: {error}", fg="red", err=True)
        sys.exit(error.exit_code)
