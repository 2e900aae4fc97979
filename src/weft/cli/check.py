"""`weft check`: what is wrong or odd about a config and its files, before any training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from weft.checks.findings import Finding, Part, Severity
    from weft.tasks import Task

_COLOURS = {"error": "red", "warning": "yellow", "note": "dim"}
_PATIENCE = 2.0  # seconds without a sign of life
_SHOWN = 12  # labels per task; the rest are counted together


def check(
    config: Annotated[Path, typer.Argument(help="The experiment, or the grid of a comparison, a TOML file.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="Set one key, as [bold]training.epochs=5[/]; may be repeated.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the tasks' files, instead of the config's own.")
    ] = None,
) -> None:
    """Look for everything that is wrong or odd about a config and its files; exit 1 where training is impossible.

    Example: [cyan]weft check experiment.toml --set tasks.urgency.dev=0.2[/]
    """
    from rich.console import Console
    from rich.text import Text

    from weft.checks.findings import SEVERITIES
    from weft.checks.run import run_checks
    from weft.config.document import data_folder, is_grid, read_document, read_experiment
    from weft.training.prepare import prepare

    out = Console(highlight=False)
    if is_grid(read_document(config)):
        _check_grid(config, overrides or (), data, out)
        return
    experiment = read_experiment(config, overrides or ())
    with working():
        report = run_checks(prepare(experiment, data_folder(config.parent, experiment, data)))
    found = report.findings
    for name, parts in report.parts.items():
        if any(part.rows for part in parts.values()):
            out.print(_count_table(name, experiment.tasks[name], parts))
    counts = report.counts
    for severity in SEVERITIES:
        if counts[severity]:
            out.print(_finding_table(severity, [finding for finding in found if finding.severity == severity]))
    out.print(Text(report.verdict, style="bold red" if counts["error"] else "bold green"))
    if counts["error"]:
        raise typer.Exit(1)


def _check_grid(grid: Path, overrides: Sequence[str], data: Path | None, out: Console) -> None:
    """What a comparison would run; its faults, those of all variants, come as one error."""
    from rich.text import Text

    from weft.comparison.grid import read_grid
    from weft.comparison.plan import describe_plan, expand

    with working():
        plan = expand(read_grid(grid, overrides), data)
    for sentence in describe_plan(plan):
        out.print(Text(sentence))
    out.print(Text("no faults: ready to compare", style="bold green"))


@contextmanager
def working() -> Iterator[None]:
    """A sign of life on standard error where checking takes longer than two seconds."""
    from rich.console import Console

    status = Console(stderr=True).status("reading and checking the tasks' files")
    timer = Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _finding_table(severity: Severity, findings: list[Finding]) -> Table:
    from rich.table import Table
    from rich.text import Text

    colour = _COLOURS[severity]
    table = Table(title=f"{severity}s", title_style=colour, title_justify="left", border_style="dim", expand=False)
    table.add_column("place", overflow="fold", style=colour, max_width=32)
    table.add_column("message", overflow="fold", style="dim" if severity == "note" else "")
    for finding in findings:
        table.add_row(Text(finding.path), Text(finding.full))
    return table


def _count_table(name: str, task: Task, parts: dict[str, Part]) -> Table:
    """Rows per split, and per label or, for scores, their range."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=name, title_style="bold", title_justify="left", border_style="dim")
    table.add_column("", overflow="fold")
    for split in parts:
        table.add_column(split, justify="right")
    for first, *cells in [("rows", *(f"{len(part.rows):,}" for part in parts.values())), *_answer_rows(task, parts)]:
        table.add_row(Text(first), *cells)
    return table


def _answer_rows(task: Task, parts: dict[str, Part]) -> list[tuple[str, ...]]:
    from weft.checks.labels import has_labels, label_names
    from weft.data.redact import shown_label
    from weft.tasks.base.examples import labels_of

    message = [task.target().summarise([row.gold for row in part.rows]) for part in parts.values()]
    if any(message):
        return [(name, *(one[name] for one in message)) for name in message[0]]
    counts = [Counter(labels_of(task.target(), part.rows)) for part in parts.values()]
    rows = [row for part in parts.values() for row in part.rows]
    if not has_labels(task, rows):
        return [("different answers", *(f"{len(some):,}" for some in counts))]
    total: Counter[str] = sum(counts, Counter())
    labels = [label for label, _ in total.most_common()]
    names = label_names(task, rows)
    listed = [(shown_label(label, names), *(f"{some[label]:,}" for some in counts)) for label in labels[:_SHOWN]]
    rest = labels[_SHOWN:]
    more = (f"… {len(rest)} more labels", *(f"{sum(some[label] for label in rest):,}" for some in counts))
    return [*listed, more] if rest else listed
