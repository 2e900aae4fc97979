"""`weft init`: from labelled files to a commented config."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.options import FileEncoding

if TYPE_CHECKING:
    from weft.drafting.checked import CheckedDraft
    from weft.drafting.draft import Draft

_STANDARD_OUTPUT = Path("-")


def init(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Labelled rows: .csv, .tsv, .jsonl, .parquet, .conll; or a folder."),
    ],
    text: Annotated[
        list[str] | None, typer.Option("--text", metavar="COLUMN", help="Column of the text; twice for a pair.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="COLUMN", help="Column of an answer. Repeatable.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Kind of task, such as similarity; seen in the data by default.")
    ] = None,
    task: Annotated[str | None, typer.Option(metavar="NAME", help="What to call the task.")] = None,
    encoder: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoder to name: a folder or a Hub id; minilm by default.")
    ] = None,
    encoding: FileEncoding = "utf-8",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Config to write, - to print it; by default NAME.toml, here.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a config that is there.")] = False,
) -> None:
    """Draft a config from looking at labelled files.

    Example: [cyan]weft init messages.csv[/], then [cyan]weft train messages.toml[/]

    Finds the texts, the labels and the kind of task, checks the config as
    [cyan]weft check[/] does, and says why it chose what, and what it is
    unsure of. Files called train, dev and test belong together.
    """
    from weft.drafting.draft import draft
    from weft.drafting.question import Hints
    from weft.errors import ConfigError

    found = draft(files, Hints(tuple(text or ()), tuple(label or ()), kind, task, encoder, encoding))
    target = output or Path(f"{found.name}.toml")
    if target != _STANDARD_OUTPUT and target.exists() and not force:
        raise ConfigError(f"{target} is there already; add --force to write over it, or --output for another name")
    _make_folder(target.parent)
    checked = _check(found, target)
    _write(checked, target)
    _say(found, checked, target)
    if checked.faults:
        raise typer.Exit(1)


def _make_folder(folder: Path) -> None:
    """Make the folder of the config before it is checked: the paths in it begin there."""
    from weft.errors import ConfigError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make the folder {folder}: {error.strerror}; name another with --output") from None


def _check(found: Draft, target: Path) -> CheckedDraft:
    """The draft after `weft check` has looked at it; a sign of life, since that may take a few seconds."""
    from weft.cli.check import working
    from weft.drafting.checked import check_draft

    home = Path() if target == _STANDARD_OUTPUT else target.parent
    name = f"{found.name}.toml" if target == _STANDARD_OUTPUT else str(target)
    with working():
        return check_draft(found, home, name)


def _write(checked: CheckedDraft, target: Path) -> None:
    from weft.cli.screen import output
    from weft.data.atomic import write_atomically

    if target == _STANDARD_OUTPUT:
        output.out(checked.text, highlight=False, end="")
    else:
        write_atomically(target, lambda path: path.write_text(checked.text, encoding="utf-8"))


def _say(found: Draft, checked: CheckedDraft, target: Path) -> None:
    """What was drafted, what is in doubt, what keeps it from being trained, and what to do next."""
    import shlex

    from weft.cli.screen import console
    from weft.training.run import default_output

    def line(words: str, style: str = "") -> None:
        console.print(words, style=style, markup=False, soft_wrap=True)

    for task in found.tasks:
        line(f"{task.name}: {task.question.summary}")
    for title, sentences in (("unsure of", found.unsure), ("to be mended", [one.full for one in checked.faults])):
        if sentences:
            line(f"{title}:", "yellow")
            for sentence in sentences:
                line(f"- {sentence}")
    line(f"check: {checked.report.verdict}", "bold red" if checked.faults else "bold green")
    if target == _STANDARD_OUTPUT:
        return
    line(f"wrote {target}; read it, its remarks say why. Next:")
    pair = ' --text-pair "…"' if any(one.question.reads_pairs for one in found.tasks) else ""
    config, run = (shlex.quote(str(path)) for path in (target, default_output(target)))
    then = () if checked.faults else (f"weft train {config}", f'weft predict {run} --text "…"{pair}')
    for command in (f"weft check {config}", *then):
        line(f"  {command}")
