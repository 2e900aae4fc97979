"""Tasks against tasks: what each gains by being trained with another, and how far their gradients agree."""

from __future__ import annotations

from collections.abc import Sequence

from weft.reports.comparison_figures import SYMBOLS
from weft.reports.comparison_record import CellRecord, ComparisonRecord, PairRecord, Verdict
from weft.reports.comparison_sentences import amount, amounts, size_words
from weft.reports.html import breakable
from weft.reports.summary import listed
from weft.reports.svg import clean

ALL = "together"  # the variant of all tasks at once
STYLE = """
.pairs { width: auto; min-width: min(100%, 560px) }
.pairs th { vertical-align: bottom }
.pairs th, .pairs td { padding: 9px 14px; border: 1px solid var(--line); min-width: 104px }
.pairs tbody th { position: sticky; left: 0; background: var(--paper); min-width: 0; max-width: 220px;
  color: var(--ink); vertical-align: middle; overflow-wrap: anywhere }
.pairs thead th { max-width: 200px; color: var(--ink); overflow-wrap: anywhere }
.pairs th:first-child, .pairs td:first-child { padding-left: 0; border-left: 0 }
.pairs td { vertical-align: top; white-space: nowrap }
.pairs td:not(.quiet) { color: inherit }
.pairs td.better { background: color-mix(in srgb, var(--good) 12%, var(--paper)) }
.pairs td.worse { background: color-mix(in srgb, var(--bad) 12%, var(--paper)) }
.pairs b { font-size: 17px }
.pairs small { display: block }
@media (max-width: 640px) { .pairs tbody th { max-width: 30vw } }
@media print {
  .pairs { font-size: 8.5pt }
  .pairs th, .pairs td { min-width: 0; padding: 5px 7px }
}
"""


def matrix_section(record: ComparisonRecord) -> str:
    """A table per number of training rows, and the grouping that follows; nothing where no tasks were paired."""
    if not record.matrix:
        return ""
    sizes = list(dict.fromkeys(pair.size for pair in record.matrix))
    tables = "".join(_table(record, size, len(sizes) > 1) for size in sizes)
    return (
        '<section id="together">\n<h2>Alone or together</h2>\n'
        f'<p class="note">What the task of a line gains by being trained together with that of a column, against being'
        " trained alone. Below it, how far the gradients of the two agree: the mean cosine, from −1 (pull apart) to 1"
        f" (pull together).</p>\n{tables}{_grouping(record)}</section>\n"
    )


def _table(record: ComparisonRecord, size: int | None, several: bool) -> str:
    pairs = {(pair.task, pair.other): pair for pair in record.matrix if pair.size == size}
    tasks = list(dict.fromkeys(task for pair in pairs for task in pair))
    whole = {cell.task: cell for cell in record.cells if cell.variant == ALL and cell.size == size}
    every = len(tasks) > 2 and any(task in whole for task in tasks)
    names = [f"with {task}" for task in tasks] + ["with all"] * every
    head = "".join(f'<th scope="col">{breakable(name)}</th>' for name in names)
    lines = "".join(
        f'<tr><th scope="row">{breakable(task)}</th>'
        f"{''.join(_pair(record, pairs.get((task, other)), task == other) for other in tasks)}"
        f"{_whole(whole.get(task)) if every else ''}</tr>\n"
        for task in tasks
    )
    caption = f"<h3>With {size_words(size)}</h3>" if several else ""
    return (
        f'{caption}<div class="across"><table class="pairs"><thead><tr><th></th>{head}</tr></thead>\n'
        f"<tbody>{lines}</tbody></table></div>\n"
    )


def _pair(record: ComparisonRecord, pair: PairRecord | None, itself: bool) -> str:
    if itself or pair is None or pair.difference is None:
        return f'<td class="quiet">{"alone" if itself else "–"}</td>'
    cell = record.of(pair.task)[0]  # says in which units
    ends = None if pair.low is None or pair.high is None else (pair.low, pair.high)
    agreement = "" if pair.agreement is None else f"gradients {pair.agreement:+.2f}".replace("-", "−")
    tip = f"{pair.task} with {pair.other}: 95 % interval {amounts(cell, ends)}"
    return _entry(amount(cell, pair.difference), amounts(cell, ends), pair.verdict, agreement, tip)


def _whole(cell: CellRecord | None) -> str:
    if cell is None or cell.difference is None:
        return '<td class="quiet">–</td>'
    ends = amounts(cell, cell.difference_interval)
    return _entry(amount(cell, cell.difference), ends, cell.verdict, "", f"{cell.task} with all: 95 % interval {ends}")


def _entry(gain: str, ends: str, verdict: Verdict, agreement: str, tip: str) -> str:
    look = verdict.replace(" ", "-")
    words = f'<span class="verdict {look}">{SYMBOLS[verdict]} {verdict}</span>' if verdict else ""
    beside = f"<small>{clean(agreement)}</small>" if agreement else ""
    return f'<td class="{look}" title="{clean(tip)}"><b>{gain}</b> <small>{ends}</small>{words}{beside}</td>'


def _grouping(record: ComparisonRecord) -> str:
    if not record.grouping:
        return ""
    groups = [_group(group) for group in record.grouping]
    return f'<p class="finding under">Grouping this would choose: {breakable("; ".join(groups))}.</p>\n'


def _group(tasks: Sequence[str]) -> str:
    return f"{tasks[0]} alone" if len(tasks) == 1 else f"{listed(tasks)} together"
