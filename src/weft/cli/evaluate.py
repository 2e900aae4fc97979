"""`weft evaluate`: how good a model is on gold rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceChoice, FileEncoding


def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder that `weft train` wrote.")],
    task: Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task. Repeatable.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="File of gold rows for the tasks; by default the test (or dev) files of the config."
        ),
    ] = None,
    find: Annotated[
        str | None,
        typer.Option("--find", metavar="LABEL", help="Also show how much of this label is seen by workload."),
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write all metrics to this file.")] = None,
    encoding: FileEncoding = "utf-8",
    device: DeviceChoice = "auto",
) -> None:
    """Measure a model on gold rows, with 95 % intervals; with costs, also what decisions cost and what they find.

    Example: [cyan]weft evaluate triage --data new-messages.csv --json scores.json[/]
    """
    from rich.table import Table

    from weft.cli.screen import console, output
    from weft.data.atomic import write_atomically
    from weft.data.opening import EncodedFile
    from weft.metrics.sections import DecisionTable
    from weft.model.evaluate import evaluate_data
    from weft.model.folder import gold_files
    from weft.model.inputs import choose_tasks
    from weft.model.model import load
    from weft.reports.terminal import decision_table

    network = load(model, device=device).network
    names = choose_tasks(network, task)
    sources = EncodedFile(data, encoding) if data else gold_files(model, names)
    results, notes = evaluate_data(network, sources, task, find)
    for note in notes:
        console.print(note, style="yellow", markup=False)
    table = Table("task", "metric", "value", "95 % interval", "rows")
    for name, result in results.items():
        for metric, value in result.measures.scores.items():
            low, high = result.measures.intervals.get(metric, (None, None))
            span = f"{low:.3f} … {high:.3f}" if low is not None else ""
            table.add_row(name, metric, f"{value:.3f}", span, f"{result.rows:,}")
    output.print(table)
    for name, result in results.items():
        for section in result.sections:
            if isinstance(section, DecisionTable):
                output.print(*decision_table(name, section), sep="\n")
    if json_file:
        scores = {name: result.measures.scores for name, result in results.items()}
        text = json.dumps(scores, indent=2) + "\n"
        write_atomically(json_file, lambda path: path.write_text(text, encoding="utf-8"))
