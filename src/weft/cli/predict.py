"""`weft predict`: answers of a model for a text, for standard input, or for a file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from weft.cli.options import DeviceChoice, FileEncoding, TextColumn
from weft.errors import CheckpointError
from weft.model.devices import Device

if TYPE_CHECKING:
    from weft.model.forms import AnswerForm
    from weft.model.model import Model
    from weft.model.network import Network


def predict(
    model: Annotated[
        str,
        typer.Argument(
            help="Folder that `weft train` wrote; or with --labels an encoder: [bold]minilm[/], a folder, a Hub id."
        ),
    ],
    task: Annotated[list[str] | None, typer.Option("--task", "-t", help="Only this task. Repeatable.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="One text.")] = None,
    text_pair: Annotated[str | None, typer.Option("--text-pair", help="The second text of a pair.")] = None,
    input: Annotated[
        Path | None,
        typer.Option(
            "--input", "-i", help="File of texts (.csv, .tsv, .jsonl, .json, .parquet, .txt, .gz), or - for lines."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write .csv, .tsv, .jsonl, .json, .parquet, .conll, .gz; JSON lines to the screen if unset.",
        ),
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
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Also give the likeliest other labels, N labels in all.")
    ] = 1,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="TASK[=LABEL]=P",
            help="No answer that is less likely than P; or this label from P on, else the best other. Repeatable.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B,…", help="Write these columns, of input and answers, in this order."),
    ] = None,
    excel: Annotated[
        Literal["comma", "semicolon"] | None,
        typer.Option(
            "--excel",
            help="Write .csv that Excel opens without asking: marked as UTF-8; [bold]semicolon[/] also with decimal "
            "commas, for where numbers have such.",
        ),
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="A row for every span, in plain columns.")] = False,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="Answer without training, by what these labels are called: a list with commas, or a file with a label "
            "per line (`label: description`). Needs an encoder as MODEL; --task names the answer.",
        ),
    ] = None,
    column: TextColumn = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="With --labels: also keep the model, in this new folder.")
    ] = None,
    encoding: FileEncoding = "utf-8",
    device: DeviceChoice = "auto",
) -> None:
    """Answer all tasks for each text, in one pass of the encoder where they read the same.

    Example: [cyan]weft predict triage --input new.csv --output answers.csv[/]

    A file needs the columns the tasks were trained with, or --column says
    which stand for them. The input's own columns are kept; one that is called
    as an answer becomes `input.NAME`. `truncated` says where a text was too
    long to be read whole, `empty` where there was nothing to read, so that
    the answers mean nothing.

    Tables get plain columns: TASK and TASK_score; with --scores
    TASK_score_LABEL; with --top TASK_2, TASK_2_score and so on. Several labels
    are joined, and spans are JSON in one cell. JSON lines keep answers nested.
    --long writes a row per span, with start, end, text, label and score;
    .conll words and their tags.

    --sort writes nothing before all rows are answered; rows that rank equal keep
    their order. An --output that exists is replaced when all rows are answered.

    Before anything is labelled:
    [cyan]weft predict minilm --labels "billing, refund, lost card" --text "…"[/]
    """
    from weft.cli.screen import console, counting, show_answers
    from weft.data.formats import check_apart, check_output, write_rows
    from weft.model.answers import Tally
    from weft.model.inputs import read_inputs
    from weft.model.limits import read_limits
    from weft.model.other_columns import read_text_columns
    from weft.model.predict import passes_note, predict_rows
    from weft.model.ranking import highest_first, ranked_rows, row_order
    from weft.model.zero_shot import uncalibrated_note

    if (text is None) == (input is None) or (text_pair is not None and text is None):
        raise typer.BadParameter("give either --text (with --text-pair, where a task reads two) or --input")
    if excel is not None and output is None:
        raise typer.BadParameter("--excel is for an --output of .csv")
    if output:
        check_output(output, excel)
        check_apart(input, output)
    network = _open(model, labels, task, column, save, device).network
    others = read_text_columns(network, column or ()) if labels is None else {}
    inputs = read_inputs(network, task, text=text, text_pair=text_pair, file=input, encoding=encoding, columns=others)
    for sentence in inputs.notes:
        console.print(sentence, style="yellow", soft_wrap=True, markup=False)
    order = None if sort is None else row_order(network, sort, inputs.columns)
    limits = read_limits(network, threshold or (), inputs.columns)
    form = choose_form(network, list(inputs.columns), output, scores, top, long, columns)
    if note := passes_note(network, inputs):
        console.print(note, style="dim", markup=False)
    if note := uncalibrated_note(network):
        console.print(note, style="yellow", soft_wrap=True, markup=False)
    tally = Tally()
    answers: Iterable[dict[str, Any]] = predict_rows(network, inputs, form, tally, limits)
    if order is not None:
        ranked = ranked_rows(network, inputs, order, form, tally, limits)
        answers = highest_first(counting(ranked, None, "rows"))
    if output:
        replaced = " (replaced)" if output.exists() else ""
        rows = write_rows(output, counting(answers, None, "rows"), excel, form.header)
        console.print(f"{rows:,} row{'' if rows == 1 else 's'} → {output}{replaced}", markup=False, soft_wrap=True)
    else:
        show_answers(answers)
    for sentence in (*form.notes(), *map(str, tally.warnings(network))):
        console.print(sentence, style="yellow", markup=False)


def choose_form(
    network: Network,
    answered: Sequence[str],
    output: Path | None,
    scores: bool,
    top: int,
    long: bool,
    columns: str | None,
) -> AnswerForm:
    """How answers are written: as the output's suffix has it, unless a row per span is asked for."""
    from weft.data.formats import TableShape, shape_of
    from weft.data.opening import suffix_of
    from weft.model.forms import ChosenColumns, ConllForm, FlatForm, LongForm, NestedForm, span_tasks

    shape: TableShape = "nested" if output is None else shape_of(output)
    form: AnswerForm
    if shape == "words":
        if long or columns is not None:
            raise typer.BadParameter(f"{output} holds words and their tags; leave out --long and --columns")
        return ConllForm(network=network, tasks=span_tasks(network, answered, str(output)))
    short = output is not None and suffix_of(output) in (".csv", ".tsv")
    if long:
        form = LongForm(scores, top, span_tasks(network, answered, "--long"), short=short)
    else:
        form = FlatForm(scores, top, short=short) if shape == "flat" else NestedForm(scores, top)
    return form if columns is None else ChosenColumns(form, _names(columns))


def _names(columns: str) -> tuple[str, ...]:
    """The names in a list with commas; one with a comma in it stands in quotes."""
    wanted = tuple(name.strip() for names in csv.reader([columns], skipinitialspace=True) for name in names)
    if not wanted or not all(wanted) or len(set(wanted)) < len(wanted):
        raise typer.BadParameter(f"--columns needs names with commas between, each once, but received {columns!r}")
    return wanted


def _open(
    model: str, labels: str | None, task: list[str] | None, column: list[str] | None, save: Path | None, device: Device
) -> Model:
    """The trained model, or with labels an encoder that answers by their words."""
    from weft.checkpoints.source import refuse_unfinished
    from weft.model.folder import DOCUMENT
    from weft.model.model import load

    trained = (Path(model) / DOCUMENT).is_file()
    if trained and not (labels is None and save is None):
        raise typer.BadParameter(
            f"{model} is a trained model, which has labels of its own; leave out --labels and --save, or name an "
            "encoder, such as minilm"
        )
    if trained:
        return load(model, device=device)
    if labels is None:
        refuse_unfinished(Path(model))
        raise _needs_labels(model)
    return _open_encoder(model, labels, task, column, save, device)


def _open_encoder(
    model: str, labels: str, task: list[str] | None, column: list[str] | None, save: Path | None, device: Device
) -> Model:
    from weft.data.atomic import refuse_existing
    from weft.data.label_list import read_labels
    from weft.model.zero_shot import zero_shot

    if task is not None and len(task) > 1:
        raise typer.BadParameter(f"--labels answers one task, but received {len(task)} names for it; give one --task")
    if save is not None:
        refuse_existing(save, "name another with --save", but_empty=True)
    if column is not None and len(column) > 1:
        raise typer.BadParameter(f"--labels reads one column, but received {len(column)}; give one --column")
    named = {"task": task[0]} if task else {}
    text = column[0].removeprefix(f"{task[0] if task else 'label'}=") if column else "text"
    found = zero_shot(model, read_labels(labels), **named, text=text, device=device)
    if save is not None:
        found.save(save)
    return found


def _needs_labels(model: str) -> CheckpointError:
    """What is wrong with a model that was not trained, where no labels are given."""
    from weft.checkpoints.hf import CONFIG
    from weft.checkpoints.source import DEFAULT
    from weft.data.redact import nearest_name

    problem = "is no weft model (it has no weft.json)" if Path(model).exists() else "does not exist"
    if model == DEFAULT or (Path(model) / CONFIG).is_file():
        problem = "is an encoder, which has no labels of its own"
    near = "" if Path(model).exists() or model == DEFAULT else nearest_name(model, [DEFAULT])
    return CheckpointError(
        f"{model} {problem}; name a folder that `weft train` wrote, or give an encoder ({DEFAULT}, a folder, a Hub id) "
        f'labels to choose among: --labels "billing, refund, lost card"{near}'
    )
