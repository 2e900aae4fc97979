"""A comparison as tables in a terminal, finished or with what is known so far."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from weft.reports.comparison_record import CellRecord, ComparisonRecord, Verdict
from weft.reports.comparison_sentences import amount, amounts, cautions, p_words, unit, verdict_words
from weft.reports.record import BASELINES
from weft.reports.summary import interval_in_words, number

STYLES: dict[Verdict, str] = {"better": "green", "worse": "red", "equivalent": "cyan", "cannot tell": "yellow", "": ""}
WIDE = 100  # columns of a terminal that has room for all


def comparison_table(record: ComparisonRecord, width: int = WIDE) -> Group:
    """A table per task; in a terminal of less than 100 columns without the scores' intervals, seeds and seconds."""
    marks = [Text(caution, style="bold yellow") for caution in cautions(record)]
    tables = [part for task in record.tasks for part in (_task(record, task, width >= WIDE), Text())]
    return Group(*marks, *tables[:-1])


def _task(record: ComparisonRecord, task: str, wide: bool) -> Table:
    cells = record.of(task)
    sized = any(cell.size is not None for cell in cells)
    title = Text.assemble((task, "bold"), f"  {cells[0].metric}, differences in {unit(cells[0])}")
    known = [f"{BASELINES.get(name, name)} {number(value)}" for name, value in record.baselines.get(task, {}).items()]
    below = Text(f"without an encoder: {', '.join(known)}", style="dim") if known else None
    table = Table(box=None, header_style="bold", pad_edge=False, title=title, title_justify="left", title_style="")
    table.caption, table.caption_justify, table.caption_style = below, "left", ""
    table.add_column("variant", overflow="fold")
    shown = (*["rows"] * sized, *["seeds"] * wide, "mean", *["95 % interval"] * wide)
    for heading in (*shown, "difference", "95 % interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    if wide:
        table.add_column("seconds", justify="right", no_wrap=True)
    for cell in cells:
        table.add_row(*_line(cell, sized, wide))
    return table


def _line(cell: CellRecord, sized: bool, wide: bool) -> list[str | Text]:
    return [
        Text(cell.variant),
        *["all" if cell.size is None else f"{cell.size:,}"] * sized,
        *[str(cell.seeds)] * wide,
        number(cell.mean),
        *[interval_in_words(cell.interval)] * wide,
        amount(cell, cell.difference),
        amounts(cell, cell.difference_interval),
        p_words(cell.p),
        Text(verdict_words(cell), style=STYLES[cell.verdict]),
        *["–" if cell.seconds is None else f"{cell.seconds:,.1f}"] * wide,
    ]
