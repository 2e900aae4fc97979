"""The differences of a comparison as a picture of its own, from what its CSV holds; and what any such picture needs."""

from __future__ import annotations

from weft.reports.comparison_charts import ChartRow, interval_chart
from weft.reports.comparison_figures import SYMBOLS
from weft.reports.comparison_record import CellRecord, ComparisonRecord
from weft.reports.comparison_sentences import amount, size_words
from weft.reports.style import DARK, LIGHT

_LOOK = f"<style>svg{{{LIGHT};background:var(--paper)}}@media (prefers-color-scheme:dark){{svg{{{DARK}}}}}</style>"


def differences(record: ComparisonRecord) -> str:
    """Every cell's difference to the base of its task, in points; nothing where no cell has one."""
    cells = [cell for cell in record.cells if cell.difference is not None and cell.in_points]
    if not cells:
        return ""
    rows = [_row(cell, len(record.tasks) > 1, len(record.sizes(cell.task)) > 1) for cell in cells]
    label = "points; right of 0 is better"
    return by_itself(interval_chart(rows, "Differences to the base", label, 100 * cells[0].equivalence, zero=True))


def by_itself(drawing: str) -> str:
    """A drawing as a file of its own, with colours for light and for dark screens."""
    return drawing.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(">", f">{_LOOK}", 1) + "\n"


def _row(cell: CellRecord, several: bool, sized: bool) -> ChartRow:
    parts = [cell.task] * several + [size_words(cell.size)] * sized + [cell.variant]
    ends = cell.difference_interval
    words = f"{amount(cell, cell.difference)} {SYMBOLS[cell.verdict]} {cell.verdict}".rstrip()
    scaled = None if ends is None else (100 * ends[0], 100 * ends[1])
    return ChartRow(" · ".join(parts), 100 * (cell.difference or 0.0), scaled, words, cell.verdict)
