"""`weft predict`: answers of a model for a text, for standard input, or for a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli.options import DeviceChoice


def predict(
    model: Annotated[Path, typer.Argument(help="Folder that `weft train` wrote.")],
    task: Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task. Repeatable.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="One text.")] = None,
    text_pair: Annotated[str | None, typer.Option("--text-pair", help="The second text of a pair.")] = None,
    input: Annotated[
        Path | None,
        typer.Option("--input", "-i", help="File of texts (.csv, .tsv, .jsonl, .parquet, .txt), or - for lines."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write .csv, .tsv, .jsonl or .parquet; JSON lines to the screen if unset."),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            metavar="TASK[=LABEL]",
            help="Highest score, costliest to overlook, or likeliest to have the label first.",
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Also give the probability of every label.")] = False,
    device: DeviceChoice = "auto",
) -> None:
    """Answer all tasks for each text, in one pass of the encoder where they read the same.

    A file needs the columns the tasks were trained with. The input's own columns are kept; `truncated` says where a
    text was too long to be read whole, `empty` where there was nothing to read, so that the answers mean nothing.
    `--sort` writes nothing before all rows are answered; rows that rank equal keep their order.

    Example: [cyan]weft predict triage --input new.csv --output answers.csv[/]
    """
    from weft.cli.screen import console, counting, show_answers
    from weft.data.formats import check_output, write_rows
    from weft.model.inputs import read_inputs
    from weft.model.model import load
    from weft.model.predict import Tally, passes_note, predict_rows
    from weft.model.ranking import highest_first, ranked_rows, row_order

    if (text is None) == (input is None) or (text_pair is not None and text is None):
        raise typer.BadParameter("give either --text (with --text-pair, where a task reads two) or --input")
    if output:
        check_output(output)
    network = load(model, device=device).network
    inputs = read_inputs(network, task, text=text, text_pair=text_pair, file=input)
    order = None if sort is None else row_order(network, sort, inputs.columns)
    for sentence in inputs.notes:
        console.print(sentence, style="yellow", markup=False)
    if note := passes_note(network, inputs):
        console.print(note, style="dim", markup=False)
    tally = Tally()
    answers: Iterable[dict[str, Any]] = predict_rows(network, inputs, scores, tally)
    if order is not None:
        answers = highest_first(counting(ranked_rows(network, inputs, order, scores, tally), None, "rows"))
    if output:
        rows = write_rows(output, counting(answers, None, "rows"))
        console.print(f"{rows:,} rows → {output}", markup=False, soft_wrap=True)
    else:
        show_answers(answers)
    for warning in tally.warnings(network):
        console.print(str(warning), style="yellow", markup=False)
