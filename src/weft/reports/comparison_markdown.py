"""A comparison as a Markdown page, from what its CSV holds: pages of results are made again from committed files."""

from __future__ import annotations

from collections.abc import Sequence

from weft.reports.card import code, escaped
from weft.reports.comparison_record import CellRecord, ComparisonRecord
from weft.reports.comparison_sentences import (
    amount,
    amounts,
    cautions,
    decidable,
    most_seeds,
    p_words,
    sentences,
    unit,
    verdict_words,
)
from weft.reports.record import BASELINES
from weft.reports.summary import interval_in_words, number
from weft.reports.svg import FORBIDDEN

READING = (
    "The difference is that to the first variant, over the same seeds and the same rows; above 0 is better, whichever"
    " way the metric counts. Intervals are 95 % intervals over {over}; p is corrected for all"
    " comparisons of this page (Holm). `equivalent` means that the whole interval of the difference lies within"
    " ±{region}; `cannot tell` means that none of the other three words has been shown. Seconds are those of training,"
    " the mean of the runs; parameters are those beside the encoder."
)


def render_markdown(record: ComparisonRecord, title: str = "") -> str:
    """The page of a record, or of a CSV that was read back: a sentence and a table per task."""
    found, over = sentences(record), "seeds and rows at once" if most_seeds(record) > 1 else "rows alone"
    parts = [
        f"# {escaped(title or record.name or 'Comparison')}",
        *(f"> **{escaped(caution)}**" for caution in cautions(record)),
        "\n".join(f"- {escaped(sentence)}" for sentence in found.values()),
        "\n".join(f"- {escaped(note)}." for note in record.notes),
        *(part for task in record.tasks for part in _section(record, task)),
        "## How to read this",
        READING.format(region=_regions(record), over=over),
        escaped(decidable(record)),
    ]
    return FORBIDDEN.sub("�", "\n\n".join(filter(None, parts))) + "\n"


def _section(record: ComparisonRecord, task: str) -> list[str]:
    cells = record.of(task)
    baselines = [
        f"{BASELINES.get(name, name)} {number(value)}" for name, value in record.baselines.get(task, {}).items()
    ]
    below = f"{code(cells[0].metric)} on {cells[0].rows:,} rows." if cells[0].rows else f"{code(cells[0].metric)}."
    beside = f" Beside it: {escaped(', '.join(baselines))}." if baselines else ""
    return [f"## {code(task)}", _table(cells), below + beside]


def _table(cells: Sequence[CellRecord]) -> str:
    sized = any(cell.size is not None for cell in cells)
    counts = ("rows",) if sized else ()
    headings = (
        *("variant", *counts, "seeds", "mean", "95 % interval"),
        *(f"difference ({unit(cells[0])})", "95 % interval", "p", "verdict", "seconds", "parameters"),
    )
    rule = ["---"] + ["---:"] * (len(headings) - 4) + ["---", "---:", "---:"]
    lines = [headings, rule, *(_line(cell, sized) for cell in cells)]
    return "\n".join("| " + " | ".join(words.replace("|", "\\|") for words in line) + " |" for line in lines)


def _line(cell: CellRecord, sized: bool) -> list[str]:
    return [
        code(cell.variant),
        *(["all" if cell.size is None else f"{cell.size:,}"] if sized else []),
        str(cell.seeds),
        number(cell.mean),
        interval_in_words(cell.interval),
        amount(cell, cell.difference),
        amounts(cell, cell.difference_interval),
        p_words(cell.p),
        f"**{cell.verdict}**" if cell.verdict else verdict_words(cell),
        "–" if cell.seconds is None else f"{cell.seconds:,.1f}",
        f"{cell.parameters:,}",
    ]


def _regions(record: ComparisonRecord) -> str:
    """The region of practical equivalence of every metric, as `0.5 points`."""
    regions = (f"{amount(cell, cell.equivalence, sign=False)} {unit(cell)}" for cell in record.cells)
    return " or ".join(dict.fromkeys(regions)) or "the region of practical equivalence"
