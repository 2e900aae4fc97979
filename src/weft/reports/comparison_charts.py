"""Charts of a comparison: values with their intervals in a row each, and scores over a cost or a number of rows.

A verdict has a colour and a shape and its word stands beside it; a variant has a colour, a shape and a dash, so that
nothing is said by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weft.reports.charts import DASHES, SHAPES
from weft.reports.comparison_record import CellRecord, Verdict
from weft.reports.svg import (
    FONT,
    INK,
    LINE,
    MUTED,
    PALETTE,
    colour,
    drawing,
    fit,
    line,
    lines_of_legend,
    marker,
    nice_ticks,
    path,
    plain,
    text,
    text_width,
)

WIDTH = 440  # narrower than a column, so that words stay readable on a telephone
STEP = 38  # pixels of a row: its words, and its value below
CROWD = 7  # variants from which their intervals are drawn faint
DECADES = 30.0  # the ratio from which an axis is logarithmic


@dataclass(frozen=True)
class Mark:
    """How a verdict looks."""

    shape: str
    ink: str
    hollow: bool = False


MARKS: dict[Verdict, Mark] = {
    "better": Mark("triangle", "var(--good,#00664a)"),
    "worse": Mark("nabla", "var(--bad,#a83f00)"),
    "equivalent": Mark("square", "var(--c0,#0072B2)"),
    "cannot tell": Mark("circle", MUTED, hollow=True),
    "": Mark("diamond", INK),
}


@dataclass(frozen=True)
class ChartRow:
    """A value with its interval, the words at its right end, and the values it is the mean of (drawn faint)."""

    name: str
    value: float
    interval: tuple[float, float] | None
    words: str
    verdict: Verdict = ""
    parts: Sequence[float] = ()


@dataclass(frozen=True)
class Spot:
    """A value at a place of the x axis."""

    x: float
    cell: CellRecord


@dataclass(frozen=True)
class Axis:
    """Where values lie between 0 and 1, and the words of its ticks."""

    place: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]


def interval_chart(
    rows: Sequence[ChartRow], title: str, x_label: str, region: float = 0.0, zero: bool = False,
    reach: Sequence[float] = (),
) -> str:  # fmt: skip
    """A row per value: its name and words, below them the value and a whisker.

    The `region` around 0 is shaded; the axis holds 0 if `zero` says so, and all values of `reach`.
    """
    values = [x for row in rows for x in (row.value, *(row.interval or ()), *row.parts)]
    around = [*reach, *([0.0, -region, region] if zero else [])]
    ticks = nice_ticks(min([*values, *around], default=0.0), max([*values, *around], default=1.0), 6)
    top, bottom = 4.0, 4.0 + STEP * len(rows)
    left, right = 16.0, WIDTH - 16.0

    def across(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (right - left)

    parts = [part for index in range(len(rows)) for part in _band(top + index * STEP, ticks, across, region, zero)]
    parts += [text(across(tick), bottom + 15, plain(tick), anchor="middle", fill=MUTED) for tick in ticks]
    parts.append(text((left + right) / 2, bottom + 32, x_label, anchor="middle", fill=MUTED))
    for index, row in enumerate(rows):
        parts += _row(row, top + index * STEP, across)
    return drawing(WIDTH, bottom + 38, title, parts)


def spot_chart(series: Sequence[tuple[str, Sequence[Spot]]], title: str, x_label: str, y_label: str, axis: Axis) -> str:
    """Scores with their intervals over an axis, the spots of a variant joined by its line."""
    entries = [(name, _swatch(number, len(spots) > 1)) for number, (name, spots) in enumerate(series)]
    names, top = lines_of_legend(entries, 40, WIDTH)
    ends = [
        end for _, spots in series for spot in spots for end in (spot.cell.mean, spot.cell.low, spot.cell.high)
        if end is not None
    ]  # fmt: skip
    ticks = nice_ticks(min(ends), max(ends))
    left, right = 12 + max(text_width(plain(tick), FONT) for tick in ticks), WIDTH - 14.0
    bottom = top + 210

    def across(x: float) -> float:
        return left + 14 + axis.place(x) * (right - left - 28)

    def down(y: float) -> float:
        return bottom - (y - ticks[0]) / (ticks[-1] - ticks[0]) * (bottom - top)

    parts = [names, text(0, top - 13, y_label, fill=MUTED)]
    for tick in ticks:
        parts.append(line(left, down(tick), right, down(tick), LINE))
        parts.append(text(left - 7, down(tick) + 4, plain(tick), anchor="end", fill=MUTED))
    for x, words in axis.ticks:
        parts.append(line(across(x), bottom, across(x), bottom + 4, MUTED))
        parts.append(text(across(x), bottom + 17, words, anchor="middle", fill=MUTED))
    parts.append(text((left + right) / 2, bottom + 34, x_label, anchor="middle", fill=MUTED))
    for number, (_, spots) in enumerate(series):
        pixels = [across(spot.x) + _aside(series, number, spot.x) for spot in spots]
        whiskers = 0.25 if len(series) > CROWD else 1.0
        parts += _spots(number, [spot.cell for spot in spots], pixels, down, whiskers)
    return drawing(WIDTH, bottom + 40, title, parts)


def legend_of_verdicts(verdicts: Sequence[Verdict]) -> str:
    """The shapes of the verdicts that occur, as a small drawing."""
    entries = [(verdict, _mark(mark, 12, 0)) for verdict, mark in MARKS.items() if verdict and verdict in verdicts]
    if not entries:
        return ""
    names, height = lines_of_legend(entries, 16, WIDTH)
    return drawing(WIDTH, height, "Shapes of the verdicts", [names])


def axis_of(values: Sequence[float]) -> Axis:
    """From 0, or in powers of ten where values are further apart than 1 to 30."""
    low, high = min(values), max(values)
    if low > 0 and high / low > DECADES:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        powers = range(first, last + 1, 1 + (last - first) // 6)
        return Axis(
            lambda value: (math.log10(value) - first) / (last - first),
            [(10.0**power, _short(10.0**power)) for power in powers],
        )
    ticks = nice_ticks(0.0, high or 1.0, 6)
    return Axis(lambda value: value / ticks[-1], [(tick, _short(tick)) for tick in ticks])


def axis_of_sizes(sizes: Sequence[int | None]) -> Axis:
    """A place for each size, at equal distances."""
    last = max(len(sizes) - 1, 1)
    words = ["all" if size is None else f"{size:,}" for size in sizes]
    return Axis(lambda place: place / last, list(enumerate(words)))


def _band(top: float, ticks: Sequence[float], across: Callable[[float], float], region: float, zero: bool) -> list[str]:
    """What lies behind a row's value: the region around 0, and a line at each tick; none of it behind the words."""
    above, below = top + 17, top + STEP - 3
    left, right = across(-region), across(region)
    box = f'x="{left:.1f}" y="{above:.1f}" width="{right - left:.1f}" height="{below - above:.1f}"'
    shade = [f'<rect {box} fill="var(--c0,#0072B2)" opacity="0.14"/>'] if region else []
    inks = [MUTED if zero and tick == 0 else LINE for tick in ticks]
    lines = [line(across(tick), above, across(tick), below, ink) for tick, ink in zip(ticks, inks, strict=True)]
    return [*shade, *lines]


def _row(row: ChartRow, top: float, across: Callable[[float], float]) -> list[str]:
    mark, y = MARKS[row.verdict], top + 26
    name = fit(row.name, WIDTH - 14 - 1.1 * text_width(row.words, 12), 12)  # the words are bold
    parts = [text(0, top + 13, name, size=12, tip=row.name)]
    parts.append(text(WIDTH, top + 13, row.words, anchor="end", size=12, weight=600, fill=mark.ink))
    parts += [
        f'<circle cx="{across(x):.1f}" cy="{y:.1f}" r="2.2" fill="{mark.ink}" opacity="0.35"/>' for x in row.parts
    ]
    ends = ""
    if row.interval:
        low, high = map(across, row.interval)
        parts.append(line(low, y, high, y, mark.ink, width=2))
        parts += [line(end, y - 4, end, y + 4, mark.ink, width=2) for end in (low, high)]
        ends = f", 95 % interval {row.interval[0]:.4g} to {row.interval[1]:.4g}"
    tip = f"{row.name}: {row.value:.4g}{ends}{f', {row.verdict}' if row.verdict else ''}"
    return [*parts, _mark(mark, across(row.value), y, tip)]


def _aside(series: Sequence[tuple[str, Sequence[Spot]]], number: int, x: float) -> float:
    """Pixels to move by, so that variants at one place stand side by side."""
    here = [other for other, (_, spots) in enumerate(series) if any(spot.x == x for spot in spots)]
    return (here.index(number) - (len(here) - 1) / 2) * min(8.0, 26 / len(here))


def _spots(
    number: int, cells: Sequence[CellRecord], pixels: Sequence[float], down: Callable[[float], float], whiskers: float
) -> list[str]:
    """A variant's line, spots and intervals, the latter as faint as `whiskers` says."""
    ink = colour(number)
    known = [(x, down(cell.mean), cell) for x, cell in zip(pixels, cells, strict=True) if cell.mean is not None]
    parts = [path([(x, y) for x, y, _ in known], ink, 1.8, _dash(number))]
    for x, y, cell in known:
        ends = ""
        if cell.interval:
            interval = line(x, down(cell.interval[0]), x, down(cell.interval[1]), ink, width=1.4)
            parts.append(f'<g opacity="{whiskers:g}">{interval}</g>')
            ends = f" ({cell.interval[0]:.3f} to {cell.interval[1]:.3f})"
        seconds = "" if cell.seconds is None else f", {cell.seconds:,.1f} s"
        tip = f"{cell.variant}: {cell.metric} {cell.mean:.3f}{ends}{seconds}, {cell.parameters:,} parameters"
        parts.append(marker(_shape(number), x, y, 4.4, ink, hollow=number >= len(PALETTE), tip=tip))
    return parts


def _mark(mark: Mark, x: float, y: float, tip: str = "") -> str:
    return marker(mark.shape, x, y, 5, mark.ink, mark.hollow, tip)


def _swatch(number: int, joined: bool) -> str:
    dashed = line(0, 0, 24, 0, colour(number), width=1.8, dash=_dash(number)) if joined else ""
    return dashed + marker(_shape(number), 12, 0, 4.4, colour(number), hollow=number >= len(PALETTE))


def _shape(number: int) -> str:
    """Beyond the colours the shapes go on by one, so that no two variants share both."""
    return SHAPES[(number + number // len(PALETTE)) % len(SHAPES)]


def _dash(number: int) -> str:
    return DASHES[(number + number // len(PALETTE)) % len(DASHES)]


def _short(value: float) -> str:
    """A tick of a cost: 20, 1.5 k, 3 M."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return plain(value)
