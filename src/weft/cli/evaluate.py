"""`weft evaluate`: how good a model is on gold rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceChoice, FileEncoding, TextColumn


def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder that `weft train` wrote.")],
    task: Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task. Repeatable.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="File of gold rows for the tasks; by default the test (or dev) files of the config."
        ),
    ] = None,
    column: TextColumn = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="[TASK=]NAME",
            help="Read the answers in this column, instead of the one a task was trained with. Repeatable.",
        ),
    ] = None,
    find: Annotated[
        str | None,
        typer.Option("--find", metavar="LABEL", help="Also show how much of this label is seen by workload."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write all scores to this file: {task: {metric: number}}.")
    ] = None,
    details: Annotated[
        Path | None,
        typer.Option("--details", help="Also write scores with intervals, rows, baselines and labels, as JSON."),
    ] = None,
    per_label: Annotated[bool, typer.Option("--per-label", help="Also show the figures of each label.")] = False,
    page: Annotated[Path | None, typer.Option("--page", help="Also write a report to this file (.html).")] = None,
    encoding: FileEncoding = "utf-8",
    device: DeviceChoice = "auto",
) -> None:
    """Measure a model on gold rows, with 95 % intervals.

    Example: [cyan]weft evaluate triage --data new.csv --json scores.json[/]

    Rows need the columns the tasks were trained with, or --column (of the text)
    and --label (of the answer) say which stand for them.

    With costs, it also shows what decisions cost and what they find. Baselines
    are those of the training run, and known for the rows that it reported on.
    """
    from rich.table import Table

    from weft.cli.screen import console, output
    from weft.data.opening import EncodedFile
    from weft.metrics.sections import ClassTable, DecisionTable
    from weft.model.evaluate import evaluate_data
    from weft.model.folder import gold_files, learned_from, reported_on
    from weft.model.inputs import choose_tasks
    from weft.model.model import load
    from weft.model.other_columns import read_answer_columns, read_text_columns
    from weft.reports.evaluation import evaluation_record, results_document
    from weft.reports.record import read_record, to_json
    from weft.reports.run_page import render
    from weft.reports.terminal import class_table, decision_table

    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"--page {page}: the report is a page, .html")
    network = load(model, device=device).network
    names = choose_tasks(network, task)
    sources = EncodedFile(data, encoding) if data else gold_files(model, names)
    others, answers = read_text_columns(network, column or ()), read_answer_columns(network, label or (), names)
    results, notes = evaluate_data(network, sources, task, find, columns=others, answers=answers)
    if data and (own := learned_from(model, data, list(results))):
        notes.append(f"{', '.join(own)}: learned from these very rows, so the figures say what is remembered")
    for note in notes:
        console.print(note, style="yellow", soft_wrap=True, markup=False)
    table = Table("task", "metric", "value", "95 % interval", "rows")
    for name, result in results.items():
        for metric, value in result.measures.scores.items():
            low, high = result.measures.intervals.get(metric, (None, None))
            span = f"{low:.3f} … {high:.3f}" if low is not None else ""
            table.add_row(name, metric, f"{value:.3f}", span, f"{result.rows:,}")
    output.print(table)
    kinds = {name: network.tasks[name].to_dict()["kind"] for name in results}
    uncalibrated = [name for name in results if network.targets[name].weighs_uncalibrated]
    same = [name for name in reported_on(model, data, list(results)) if name not in {*others, *answers}]
    record = evaluation_record(results, kinds, read_record(model).of_tasks(same) if same else None, uncalibrated)
    for name, shown in record.tasks.items():
        for section in shown.shown_sections:
            if isinstance(section, DecisionTable):
                output.print(*decision_table(name, section), sep="\n")
            if per_label and isinstance(section, ClassTable):
                output.print(class_table(name, section))
    if json_file:
        _write(json_file, to_json({name: result.measures.scores for name, result in results.items()}))
    if details:
        _write(details, to_json(results_document(record)))
    if page:
        _write(page, render(record, "Evaluation"))


def _write(path: Path, text: str) -> None:
    from weft.data.atomic import write_atomically

    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
