"""The figures of one task of a comparison: scores, differences, learning curves, costs and labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.reports.comparison_charts import (
    Axis,
    ChartRow,
    Spot,
    axis_of,
    axis_of_sizes,
    interval_chart,
    legend_of_verdicts,
    spot_chart,
)
from weft.reports.comparison_record import CellRecord, ClassDifference, ComparisonRecord, Verdict
from weft.reports.comparison_sentences import amount, points, unit
from weft.reports.html import figure
from weft.reports.summary import number

SYMBOLS: dict[Verdict, str] = {"better": "▲", "worse": "▼", "equivalent": "■", "cannot tell": "○", "": ""}
MOVERS = 10  # classes shown, of many
UNFOLDED = 4  # variants whose classes are shown at once


def score_figure(cells: Sequence[CellRecord]) -> str:
    """Each variant's score; nothing where none was measured."""
    rows = [
        ChartRow(cell.variant, cell.mean, cell.interval, number(cell.mean), cell.verdict)
        for cell in cells
        if cell.mean is not None
    ]
    chart = interval_chart(rows, f"Scores on {cells[0].task}", _scale(cells[0]))
    return figure("Scores with 95 % intervals", chart) if rows else ""


def difference_figure(cells: Sequence[CellRecord]) -> str:
    """Each variant's difference to the base, over the region of practical equivalence; nothing without a variant."""
    compared = [cell for cell in cells if cell.difference is not None]
    if not compared:
        return ""
    first, scale = compared[0], 100 if compared[0].in_points else 1
    base = next((cell.variant for cell in cells if cell.is_base), "the base")
    title, label = f"Differences to {base} on {first.task}", f"{unit(first)}; right of 0 is better"
    rows = [_difference(cell, scale) for cell in compared]
    chart = interval_chart(rows, title, label, first.equivalence * scale, zero=True)
    legend = legend_of_verdicts([cell.verdict for cell in compared])
    region = f"±{amount(first, first.equivalence, sign=False)} {unit(first)}"
    note = f"Bars: 95 % intervals. Shaded: differences too small to matter ({region})."
    dots = " Faint dots: each seed." if any(cell.by_seed for cell in compared) else ""
    return figure(f"Differences to {base}", legend + chart, note + dots)


def _difference(cell: CellRecord, scale: float) -> ChartRow:
    ends = cell.difference_interval
    parts = [scale * value for value in cell.by_seed if value is not None]
    words = f"{amount(cell, cell.difference)} {SYMBOLS[cell.verdict]} {cell.verdict}".rstrip()
    scaled = None if ends is None else (scale * ends[0], scale * ends[1])
    return ChartRow(cell.variant, scale * (cell.difference or 0.0), scaled, words, cell.verdict, parts)


def _scale(cell: CellRecord) -> str:
    return f"{cell.metric} (less is better)" if cell.lower_is_better else cell.metric


def learning_curves(record: ComparisonRecord, task: str) -> str:
    """Scores over training rows, where several numbers of rows were tried."""
    sizes = record.sizes(task)
    if len(sizes) < 2:
        return ""
    names = dict.fromkeys(cell.variant for cell in record.of(task))
    series = [
        (name, [Spot(sizes.index(cell.size), cell) for cell in record.of(task) if cell.variant == name])
        for name in names
    ]
    return _spots(series, "Learning curves", f"{task} over training rows", "training rows", axis_of_sizes(sizes))


def cost_figures(cells: Sequence[CellRecord]) -> Iterable[str]:
    """Scores over seconds and over parameters, where variants differ in them."""
    timed = [(cell, cell.seconds) for cell in cells if cell.seconds is not None]
    yield _cost_figure(timed, "Score against training time", "seconds of a run")
    sized = [(cell, float(cell.parameters)) for cell in cells]
    yield _cost_figure(sized, "Score against added parameters", "parameters beside the encoder")


def _cost_figure(costs: Sequence[tuple[CellRecord, float]], caption: str, label: str) -> str:
    if len({cost for _, cost in costs}) < 2:
        return ""
    series = [(cell.variant, [Spot(cost, cell)]) for cell, cost in costs]
    return _spots(series, caption, f"{costs[0][0].task} over {label}", label, axis_of([cost for _, cost in costs]))


def _spots(series: Sequence[tuple[str, Sequence[Spot]]], caption: str, title: str, label: str, axis: Axis) -> str:
    known = [(name, spots) for name, spots in series if any(spot.cell.mean is not None for spot in spots)]
    return figure(caption, spot_chart(known, title, label, _scale(known[0][1][0].cell), axis)) if known else ""


def class_figures(cells: Sequence[CellRecord]) -> str:
    """Each variant's difference to the base in the F1 of each label, largest first."""
    held = [cell for cell in cells if cell.per_class and not cell.is_base]
    held.sort(key=lambda cell: cell.verdict not in ("better", "worse"))  # a stable sort: the order of the file remains
    reach = [end for cell in held for row in _movers(cell)[0] for end in (row.value, *(row.interval or ()))]
    figures = [_class_figure(cell, reach) for cell in held]
    if not figures:
        return ""
    more = ""
    if rest := figures[UNFOLDED:]:
        unfolded = f'<div class="columns">{"".join(rest)}</div>'
        more = f"<details><summary>{len(rest)} more variants</summary>{unfolded}</details>"
    return (
        f'<h3 class="part">Differences by label</h3><p class="note">F1 of each label against the base, in points. These'
        " are many looks at few rows each, without correction: hints where to look, not findings.</p>"
        f'<div class="columns">{"".join(figures[:UNFOLDED])}</div>{more}\n'
    )


def _class_figure(cell: CellRecord, reach: Sequence[float]) -> str:
    """The labels that move most, over an axis that all variants share."""
    rows, left = _movers(cell)
    note = f"The {MOVERS} labels that move most; {left} others move less." if left else ""
    title = f"{cell.variant}: differences by label"
    return figure(cell.variant, interval_chart(rows, title, "points of F1", zero=True, reach=reach), note)


def _movers(cell: CellRecord) -> tuple[list[ChartRow], int]:
    """A row for each of the labels that move most, from gain to loss, and how many others there are."""
    known = [(label, one, one.difference) for label, one in cell.per_class.items() if one.difference is not None]
    known.sort(key=lambda item: -abs(item[2]))
    shown = sorted(known[:MOVERS], key=lambda item: -item[2])
    return [_class_row(label, one, difference) for label, one, difference in shown], len(known) - len(shown)


def _class_row(label: str, one: ClassDifference, difference: float) -> ChartRow:
    ends = None if one.low is None or one.high is None else (100 * one.low, 100 * one.high)
    return ChartRow(label, 100 * difference, ends, points(difference))
