"""`weft inspect`: what a model looked at, word by word, on the screen and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.cli.options import FileEncoding, TextColumn

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from weft.data.predictions import PredictedSpan
    from weft.model.inspection import Inspection, ReadRow, ReadText, Word
    from weft.model.network import Network

_SHADES = ("", "#1c2126 on #e9e2f7", "#1c2126 on #d0c1ee", "#1c2126 on #b39be2", "#ffffff on #7a5cbf")
_COLOURS = ("#3a9bdc", "#e8710a", "#1fae83", "#d99800", "#cc79a7", "#56b4e9", "#8a8f98")  # of spans, for any screen
_TOP = 6  # words named below a text
_MOST = 40  # spans in the table below a text


def inspect(
    model: Annotated[Path, typer.Argument(help="Folder that `weft train` wrote.")],
    task: Annotated[str | None, typer.Option("--task", "-t", help="The task to look at; needed of several.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="One text.")] = None,
    text_pair: Annotated[str | None, typer.Option("--text-pair", help="The second text of a pair.")] = None,
    input: Annotated[
        Path | None,
        typer.Option("--input", "-i", help="File of texts (.csv, .tsv, .jsonl, .parquet, .txt), or - for lines."),
    ] = None,
    beside: Annotated[Path | None, typer.Option("--beside", help="Another model, to be shown beside this one.")] = None,
    layer: Annotated[int | None, typer.Option("--layer", help="Whose attention: 0 the lowest; last if unset.")] = None,
    heads: Annotated[Literal["mean", "max"], typer.Option(help="Mean over the heads, or each word's strongest.")] = (
        "mean"
    ),
    leave_out: Annotated[
        bool, typer.Option("--leave-out/--no-leave-out", help="Also ask what is answered without each word.")
    ] = True,
    limit: Annotated[int, typer.Option(min=1, help="Most rows of a file to show.")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write a page (.html); it holds the texts.")
    ] = None,
    column: TextColumn = None,
    encoding: FileEncoding = "utf-8",
) -> None:
    """Show where a task looked in a text, which labels pulled, and which words spoke for the answer.

    Example: [cyan]weft inspect triage --task urgency --text "I can hardly breathe" --output page.html[/]

    Attention is not an explanation; beside it stand gradient × input, and what
    becomes of the answer when each word is left out, with how far these two
    agree.
    """
    from weft.cli.screen import console, counting
    from weft.data.atomic import write_atomically
    from weft.model.inputs import read_inputs
    from weft.model.inspect import check_layer
    from weft.model.inspect import inspect as look
    from weft.model.model import load
    from weft.model.other_columns import read_text_columns
    from weft.reports.inspect_page import render_attention

    if (text is None) == (input is None) or (text_pair is not None and text is None):
        raise typer.BadParameter("give either --text (with --text-pair, where the task reads two) or --input")
    if output:
        _check_page(output)
    folders = [model, beside] if beside else [model]
    networks = [load(folder, device="cpu").network for folder in folders]
    task = _choose(task, networks, folders)
    others = read_text_columns(networks[0], column or ())
    inputs = read_inputs(
        networks[0], [task], text=text, text_pair=text_pair, file=input, encoding=encoding, columns=others
    )
    for network in networks:
        depth = network.encoder.config.num_hidden_layers
        check_layer(depth - 1 if layer is None else layer, depth)
    asked = (read[task] for _, read in islice(inputs, limit))
    inspections = [
        [look(network, task, input, layer, heads, leave_words_out=leave_out) for network in networks]
        for input in counting(asked, None, "rows")
    ]
    titles = _titles(folders)
    for number, row in enumerate(inspections, 1):
        _show(row, titles, number if len(inspections) > 1 else None)
    if output:
        page = render_attention(inspections, titles)
        write_atomically(output, lambda path: path.write_text(page, encoding="utf-8"))
        console.print(f"page with the texts → {output}", markup=False, soft_wrap=True)
    if left := sum(1 for _ in inputs.rows):
        console.print(f"{left:,} more rows are not shown; --limit takes more", style="yellow")


def _check_page(output: Path) -> None:
    from weft.errors import ConfigError

    if output.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--output {output}: unknown type {output.suffix!r}; the page is .html")
    if output.is_dir():
        raise ConfigError(f"--output {output} is a folder; name a file")


def _choose(task: str | None, networks: Sequence[Network], folders: Sequence[Path]) -> str:
    """The task that all models have: the one asked for, or the only one of the first."""
    from weft.errors import ConfigError
    from weft.model.inputs import choose_tasks

    first = list(networks[0].tasks)
    if task is None and len(first) > 1:
        raise typer.BadParameter(f"{folders[0]} has several tasks; name one with --task: {', '.join(first)}")
    chosen = task or first[0]
    for network, folder in zip(networks, folders, strict=True):
        try:
            choose_tasks(network, [chosen])
        except ConfigError as error:
            raise ConfigError(*(f"{folder}: {fault}" for fault in error.faults)) from None
    return chosen


def _titles(folders: Sequence[Path]) -> list[str]:
    """The folders' names, or their paths where the names are the same."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


def _show(row: Sequence[Inspection], titles: Sequence[str], number: int | None) -> None:
    from rich.text import Text

    from weft.cli.screen import output
    from weft.reports.inspect_facts import strongest

    if number is not None:
        output.rule(f"row {number}", align="left", style="dim")
    most = strongest(row)
    for inspection, title in zip(row, titles, strict=True):
        line = Text(f"{title}: " if len(row) > 1 else "", style="dim")
        line.append(f"{inspection.task} ", style="default not dim")
        line.append(inspection.prediction.in_words(), style="bold not dim")
        line.append(f"   attention of layer {inspection.layer}, {inspection.heads} over heads")
        output.print(line)
        if inspection.prediction.spans is not None:
            _show_spans(inspection.prediction.spans, inspection.rows[0].texts[0].text)
        for part in inspection.rows:
            for text in part.texts:
                output.print(_paint(text, most))
            for sentence in _sentences(inspection, part):
                output.print(Text(sentence.replace("\u00a0", ""), style="dim"))  # else `3 %` breaks at a line's end
        output.print()


def _show_spans(spans: Sequence[PredictedSpan], text: str) -> None:
    """The text with its spans underlined, and a table of them."""
    from weft.cli.screen import output

    labels = sorted({span.label for span in spans})
    colours = {label: _COLOURS[index % len(_COLOURS)] for index, label in enumerate(labels)}
    if spans:
        output.print(_underline(spans, text, colours))
        output.print(_table(spans, colours))
    if len(spans) > _MOST:
        output.print(f"… and {len(spans) - _MOST:,} more spans", style="dim")


def _underline(spans: Sequence[PredictedSpan], text: str, colours: dict[str, str]) -> Text:
    """The text, its spans underlined in their labels' colours, and bold where they lie in another."""
    from rich.text import Text

    from weft.reports.spans import PaintedPiece, PaintedSpan, stack, visible

    painted = Text(visible(text))

    def style(pieces: Sequence[PaintedPiece], look: str) -> None:
        for piece in pieces:
            painted.stylize(f"{look} {colours[piece.span.label]}", piece.start, piece.end)
            style(piece.inner, "bold underline2")

    style(stack([PaintedSpan(*span.gold) for span in spans], len(text)), "underline")
    return painted


def _table(spans: Sequence[PredictedSpan], colours: dict[str, str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from weft.reports.spans import visible

    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("start", "end", "text", "label", "score"):
        table.add_column(heading, justify="left" if heading in ("text", "label") else "right", overflow="fold")
    for span in spans[:_MOST]:
        words = " ".join(visible(span.text).split())
        label = Text(span.label, style=colours[span.label])
        table.add_row(str(span.start), str(span.end), Text(words), label, f"{span.score:.3f}")
    return table


def _paint(text: ReadText, most: float) -> Text:
    from rich.text import Text

    from weft.reports.spans import visible

    painted = Text()
    for piece in text.pieces():
        share = piece.word.attention / most if piece.word and most else 0.0
        style = "dim strike" if not piece.read else _SHADES[round(share * (len(_SHADES) - 1))]
        painted.append(visible(piece.text), style=style)
    return painted if painted.plain.strip() else Text("(no words)", style="dim")


def _sentences(inspection: Inspection, row: ReadRow) -> list[str]:
    from weft.reports.inspect_facts import cut, percent
    from weft.reports.spans import visible

    words = [(visible(text.text[word.start : word.end]), word) for text in row.texts for word in text.words]

    def named(key: str, sign: int) -> str:
        ranked = sorted(words, key=lambda item: sign * float(getattr(item[1], key)))[:_TOP]
        return ", ".join(_name(name, word, key) for name, word in ranked if sign * getattr(word, key) < 0)

    sentences = []
    if looked := named("attention", -1):
        sentences.append(f"looked at: {looked}; special tokens {percent(row.special_attention)}")
    about = " + ".join(inspection.explained)
    if inspection.prediction.spans is not None and about:
        about = "its spans" if inspection.prediction.spans else f"{about} (likeliest, but not given)"
    if attribution := named("attribution", -1):
        sentences.append(f"for {about or 'a higher score'}: {attribution}")
    if against := named("attribution", 1):
        sentences.append(f"{f'against {about}' if about else 'for a lower score'}: {against}")
    return sentences + _left_out(inspection, words) + cut(row)


def _left_out(inspection: Inspection, words: Sequence[tuple[str, Word]]) -> list[str]:
    """What becomes of the answer without the words that matter most, and how far gradient × input agrees."""
    from weft.reports.inspect_facts import agreement, change_without

    drops = [(name, word.left_out) for name, word in words if word.left_out]
    ranked = sorted(drops, key=lambda item: -abs(item[1]))[:_TOP]
    if not ranked:
        return []
    together = f" ({inspection.left_out_together} words at a time)" if inspection.left_out_together > 1 else ""
    named = ", ".join(f"{name} {change_without(inspection, drop)}" for name, drop in ranked)
    what = "probability" if inspection.explained else "score"
    return [f"change of the {what} when left out{together}: {named}", *agreement(inspection)]


def _name(name: str, word: Word, key: str) -> str:
    from weft.reports.inspect_facts import percent

    share = percent(abs(getattr(word, key)))
    pulled = (
        f" ← {word.winning_label} {percent(word.label_shares[word.winning_label])}"
        if word.winning_label and key == "attention"
        else ""
    )
    return f"{name} {share}{pulled}"
