"""One task of a comparison as a section of a page: its sentence, tables and charts."""

from __future__ import annotations

from collections.abc import Sequence

from weft.reports.comparison_figures import (
    SYMBOLS,
    class_figures,
    cost_figures,
    difference_figure,
    learning_curves,
    score_figure,
)
from weft.reports.comparison_record import CellRecord, ComparisonRecord
from weft.reports.comparison_sentences import amount, amounts, p_words, size_words, unit, verdict_words
from weft.reports.html import breakable, number_cell, raw_cell, table
from weft.reports.record import BASELINES
from weft.reports.summary import interval_in_words, number
from weft.reports.svg import clean


def task_section(record: ComparisonRecord, index: int, task: str, sentence: str) -> str:
    """The section, under its sentence if it is given one; tables of fewer training rows are folded."""
    *smaller, size = record.sizes(task)
    cells = record.at(task, size)
    folded = "".join(
        f"<details><summary>With {size_words(one)}</summary>{_table(record.at(task, one))}</details>"
        for one in reversed(smaller)
    )
    headline = f'<p class="finding">{sentence_markup(sentence)}</p>\n' if sentence else ""
    trained = f"<h3>With {size_words(size)}</h3>\n" if smaller else ""
    charts = [score_figure(cells), difference_figure(cells), learning_curves(record, task), *cost_figures(cells)]
    return (
        f'<section id="task-{index}">\n<h2>{breakable(task)}</h2>\n{headline}'
        f"{trained}{_table(cells)}{folded}"
        f'<p class="note under">{clean(_measured(record, cells))}</p>\n'
        f'<div class="columns">{"".join(charts)}</div>\n{class_figures(cells)}</section>\n'
    )


def sentence_markup(sentence: str) -> str:
    """A sentence whose names may break and whose percentages do not."""
    return breakable(sentence.replace(" %", "\u00a0%"))


def verdict_markup(cell: CellRecord) -> str:
    """The word of a cell with its shape."""
    if not cell.verdict:
        return f'<span class="quiet">{verdict_words(cell)}</span>'
    look = cell.verdict.replace(" ", "-")
    return f'<span class="verdict {look}">{SYMBOLS[cell.verdict]}\u00a0{cell.verdict.replace(" ", chr(160))}</span>'


def _table(cells: Sequence[CellRecord]) -> str:
    """A line per variant; the seeds are a column only while some variants lack some."""
    counted = len({cell.seeds for cell in cells}) > 1
    headings = (
        *(
            "Variant",
            *["Seeds"] * counted,
            "Mean",
            "95 % interval",
            f"Difference, {unit(cells[0])}",
            "Its 95 % interval",
        ),
        *("p", "Verdict", "Seconds", "Parameters"),
    )
    lines = [_line(cell, counted, headings) for cell in cells]
    return f'<div class="across">{table(headings, lines, "stack", (0, len(headings) - 3))}</div>'


def _line(cell: CellRecord, counted: bool, headings: Sequence[str]) -> list[str]:
    seconds = "–" if cell.seconds is None else f"{cell.seconds:,.1f}"
    mean, interval, difference, its_interval, p, verdict, cost, parameters = headings[-8:]
    return [
        f'<td class="strong variant">{breakable(cell.variant)}</td>',
        *[number_cell(str(cell.seeds), "", "Seeds")] * counted,
        number_cell(number(cell.mean), "strong", mean),
        number_cell(interval_in_words(cell.interval), "", interval),
        number_cell(amount(cell, cell.difference), "strong", difference),
        number_cell(amounts(cell, cell.difference_interval), "", its_interval),
        _p_cell(cell, p),
        raw_cell(verdict_markup(cell), "", verdict),
        number_cell(seconds, "", cost),
        number_cell(f"{cell.parameters:,}", "", parameters),
    ]


def _p_cell(cell: CellRecord, heading: str) -> str:
    """The p value; pointed at, what it was made from."""
    each = {"seeds, by sign flips": cell.p_seeds, "seeds and rows": cell.p_crossed, "rows alone": cell.p_rows}
    parts = [f"{name} {p_words(p)}" for name, p in each.items() if p is not None]
    tip = f' title="{clean("before the correction: " + ", ".join(parts))}"' if parts else ""
    return raw_cell(f"<span{tip}>{clean(p_words(cell.p))}</span>", "number", heading)


def _measured(record: ComparisonRecord, cells: Sequence[CellRecord]) -> str:
    first = cells[0]
    down = ", of which less is better," if first.lower_is_better else ""
    rows = f" on {first.rows:,} rows" if first.rows else ""
    held = record.baselines.get(first.task, {})
    beside = ", ".join(f"{BASELINES.get(name, name)} {number(value)}" for name, value in held.items())
    return f"{first.metric}{down}{rows}.{f' Beside it: {beside}.' if beside else ''}"
