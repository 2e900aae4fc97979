"""The `weft` command: gathers the verbs and turns errors into messages and exit codes."""

from __future__ import annotations

import gc
import os
import platform
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from weft.cli import (
    check,
    compare,
    completion,
    demo,
    embed,
    evaluate,
    example,
    info,
    init,
    inspect,
    kinds,
    predict,
    schema,
    train,
    vocab,
)
from weft.errors import WeftError


class _Commands(TyperGroup):
    """The commands; what is wrong with an argument is said without the words of whoever looked at it."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    cls=_Commands,
    name="weft",
    help="One encoder, many tasks, few labels.\n\nExample: [cyan]weft demo[/], and then [cyan]weft example[/]",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


VERBOSE = 5.0  # seconds between lines of progress
_BESIDE = "Every command also takes --quiet, --verbose and --log-file FILE."


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weft {version('weft')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but results and errors.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Say what runs where, and more often how far it is.")
    ] = False,
    log_file: Annotated[
        Path | None,
        typer.Option("--log-file", help="Also append what is said, with times, to this file. It holds no texts."),
    ] = None,
) -> None:
    """One encoder, many tasks, few labels: turn a pretrained BERT into a model for many text tasks at once."""
    _listen(context.invoked_subcommand, quiet, verbose, log_file)


app.command("demo", epilog=_BESIDE)(demo.demo)
app.command("example", epilog=_BESIDE)(example.example)
app.command("init", epilog=_BESIDE)(init.init)
app.command("check", epilog=_BESIDE)(check.check)
app.command("train", epilog=_BESIDE)(train.train)
app.command("compare", epilog=_BESIDE)(compare.compare)
app.command("evaluate", epilog=_BESIDE)(evaluate.evaluate)
app.command("predict", epilog=_BESIDE)(predict.predict)
app.command("inspect", epilog=_BESIDE)(inspect.inspect)
app.command("embed", epilog=_BESIDE)(embed.embed)
app.command("info", epilog=_BESIDE)(info.info)
app.command("vocab", epilog=_BESIDE)(vocab.vocab)
app.command("kinds", epilog=_BESIDE)(kinds.kinds)
app.command("schema", epilog=_BESIDE)(schema.schema)
app.command("completion", epilog=_BESIDE)(completion.completion)


def _listen(command: str | None, quiet: bool, verbose: bool, log_file: Path | None) -> None:
    """Set up what is said while a command runs; its arguments may hold texts, so a log has its name alone."""
    from weft.cli.screen import console
    from weft.reports.status import EVERY

    if quiet and verbose:
        raise typer.BadParameter("choose --quiet or --verbose")
    console.quiet = quiet
    console.end_log()
    if log_file is not None:
        console.log_to(log_file)
    console.every = VERBOSE if verbose else EVERY
    about = f"weft {version('weft')} {command}, Python {platform.python_version()}, {os.cpu_count()} cores"
    if verbose:
        console.print(about, style="dim", markup=False)
    else:
        console.write_down(about)


def with_options_first(words: Sequence[str]) -> list[str]:
    """The words of a command line with the options of all commands before the command, where they are looked for.

    What follows `--` stays as it is.
    """
    moved, rest, remaining = list[str](), list[str](), list(words)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            rest += [word, *remaining]
            break
        if word in ("--quiet", "--verbose") or word.startswith("--log-file="):
            moved.append(word)
        elif word == "--log-file" and remaining:
            moved += [word, remaining.pop(0)]
        else:
            rest.append(word)
    return [*moved, *rest]


def _say(text: str, colour: str) -> None:
    """A line on standard error, in colour unless `NO_COLOR` is set, and in the log."""
    from weft.cli.screen import console

    typer.secho(text, fg=colour, err=True, color=False if os.environ.get("NO_COLOR") else None)
    console.write_down(text)


def _end_log() -> None:
    screen = sys.modules.get("weft.cli.screen")  # nothing was said where it was not imported
    if screen is not None:
        screen.console.end_log()


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Write a warning as a note, without the line of our source that it came from."""
    from weft.cli.screen import console

    if not console.quiet:
        _say(f"weft: {message}", "yellow")


def main() -> None:
    """Run the command. Exit 0 when done, 1 for a WeftError, and by typer 2 for wrong usage, 130 when interrupted."""
    warnings.showwarning = _show_warning
    gc.set_threshold(50_000, 20, 20)  # what imports make is no garbage; to look for it takes a tenth of their time
    try:
        app(with_options_first(sys.argv[1:]))
    except WeftError as error:
        _say(f"weft: {error}", "red")
        sys.exit(error.exit_code)
    finally:
        _end_log()
