"""Charts as SVG text: pure functions of numbers and names.

Series differ in colour, dash and marker, so that they stay apart in grey print.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from weft.reports.svg import (
    FONT,
    LINE,
    MUTED,
    WIDTH,
    Point,
    colour,
    drawing,
    finite,
    line,
    lines_of_legend,
    marker,
    nice_ticks,
    path,
    plain,
    shorten,
    text,
    text_width,
    tip_of,
)

DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 3", "12 4")
SHAPES = ("circle", "square", "diamond", "triangle", "cross", "plus", "nabla")
HOLLOW = ("diamond", "square", "triangle", "circle")  # of the marks beside a dot


@dataclass(frozen=True)
class Series:
    """A line: its points, the noisy ones it was smoothed from (drawn faint), and the x of points to ring."""

    name: str
    points: Sequence[Point]
    raw: Sequence[Point] = ()
    rings: Sequence[float] = ()


@dataclass(frozen=True)
class Dot:
    """A value with its interval, and other values to hold it against, by name."""

    name: str
    detail: str
    value: float
    interval: tuple[float, float] | None = None
    marks: Mapping[str, float] = field(default_factory=dict)


def line_chart(
    series: Sequence[Series], title: str, x_label: str, y_label: str, zero: bool = False, height: int = 290
) -> str:
    """Lines with markers over a common x axis; points that are not finite are left out, `zero` takes y to 0."""
    series = [Series(curve.name, finite(curve.points), finite(curve.raw), curve.rings) for curve in series]
    points = [point for curve in series for point in (*curve.points, *curve.raw)] or [(0.0, 0.0)]
    xs, ys = [x for x, _ in points], [y for _, y in points] + ([0.0] if zero else [])
    x_ticks, y_ticks = nice_ticks(min(xs), max(xs), 7, whole=True), nice_ticks(min(ys), max(ys))
    entries = [(curve.name, _swatch(number)) for number, curve in enumerate(series)]
    names, top = lines_of_legend(entries, 42)
    left, right, bottom = _axis_width(y_ticks), WIDTH - 14, top + height - 60
    x_low, x_high = x_ticks[0], max(xs) if max(xs) > min(xs) else x_ticks[-1]

    def to_pixels(point: Point) -> Point:
        across = left + (point[0] - x_low) / (x_high - x_low) * (right - left)
        return across, bottom - (point[1] - y_ticks[0]) / (y_ticks[-1] - y_ticks[0]) * (bottom - top)

    parts = [names, text(0, top - 13, y_label, fill=MUTED)]
    for tick in y_ticks:
        y = to_pixels((x_low, tick))[1]
        parts.append(line(left, y, right, y, MUTED if tick == 0 else LINE))
        parts.append(text(left - 7, y + 4, plain(tick), anchor="end", fill=MUTED))
    for tick in x_ticks:
        if x_low <= tick <= x_high:
            x = to_pixels((tick, 0))[0]
            parts += [line(x, bottom, x, bottom + 4, MUTED)]
            parts += [text(x, bottom + 17, plain(tick), anchor="middle", fill=MUTED)]
    parts.append(text((left + right) / 2, bottom + 34, x_label, anchor="middle", fill=MUTED))
    parts += [
        _faint(number, [to_pixels(point) for point in curve.raw]) for number, curve in enumerate(series) if curve.raw
    ]
    for number, curve in enumerate(series):
        parts += _series(number, curve, [to_pixels(point) for point in curve.points])
    return drawing(WIDTH, bottom + 40, title, parts)


def dot_chart(dots: Sequence[Dot], title: str, dot_name: str = "this model, 95 % interval") -> str:
    """A row per dot: the value, a whisker for its interval, hollow marks for what it is held against; all finite."""
    marks = list(dict.fromkeys(name for dot in dots for name in dot.marks))
    solid = line(0, 0, 24, 0, colour(0), width=2) + marker("circle", 12, 0, 4.5, colour(0))
    hollow = [(name, marker(HOLLOW[i % 4], 12, 0, 4.5, MUTED, hollow=True)) for i, name in enumerate(marks)]
    names, top = lines_of_legend([(dot_name, solid), *hollow], 18)
    values = [x for dot in dots for x in (dot.value, *(dot.interval or ()), *dot.marks.values())]
    ticks = nice_ticks(min([0.0, *values]), max([1.0, *values]))
    longest = max((text_width(shorten(dot.name, 20), 13) for dot in dots), default=0.0)
    left, right, step = max(90.0, longest + 16), WIDTH - 52.0, 42
    bottom = top + step * len(dots)

    def across(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (right - left)

    parts = [names]
    for tick in ticks:
        parts.append(line(across(tick), top, across(tick), bottom, MUTED if tick == 0 else LINE))
        parts.append(text(across(tick), bottom + 16, plain(tick), anchor="middle", fill=MUTED))
    for index, dot in enumerate(dots):
        y = top + (index + 0.5) * step
        parts.append(text(0, y - 1, shorten(dot.name, 20), size=13, tip=dot.name))
        parts.append(text(0, y + 13, shorten(dot.detail, 20), fill=MUTED, size=10.5, tip=dot.detail))
        if dot.interval:
            low, high = map(across, dot.interval)
            parts.append(line(low, y, high, y, colour(0), width=2.2))
            parts += [line(end, y - 5, end, y + 5, colour(0), width=2.2) for end in (low, high)]
        for number, name in enumerate(marks):
            if name in dot.marks:
                tip = f"{name} {dot.marks[name]:.3f}"
                parts.append(marker(HOLLOW[number % 4], across(dot.marks[name]), y, 5, MUTED, hollow=True, tip=tip))
        parts.append(marker("circle", across(dot.value), y, 5, colour(0), tip=f"{dot.name} {dot.value:.3f}"))
        parts.append(text(WIDTH, y + 4.5, f"{dot.value:.3f}", anchor="end", size=13, weight=600))
    return drawing(WIDTH, bottom + 24, title, parts)


def reliability_diagram(bins: Iterable[Sequence[float]], title: str) -> str:
    """(mean confidence, accuracy, rows) of each bin as a disc against the diagonal, its area the share of the rows."""
    size, left, top = 250.0, 42.0, 22.0
    bottom, right = top + size, left + size
    bins = list(bins)
    most = max((rows for *_, rows in bins), default=1) or 1
    parts = [text(0, 12, "accuracy", fill=MUTED)]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = left + tick * size, bottom - tick * size
        parts += [line(left, y, right, y, LINE), line(x, top, x, bottom, LINE)]
        parts += [text(left - 7, y + 4, plain(tick), anchor="end", fill=MUTED)]
        parts += [text(x, bottom + 17, plain(tick), anchor="middle", fill=MUTED)]
    parts.append(line(left, bottom, right, top, MUTED, dash="4 3"))
    parts.append(text(left + size / 2, bottom + 34, "confidence", anchor="middle", fill=MUTED))
    for confidence, accuracy, rows in bins:
        x, y = left + confidence * size, bottom - accuracy * size
        radius = 3 + 11 * math.sqrt(rows / most)
        tip = f"confidence {confidence:.3f}, accuracy {accuracy:.3f}, {rows:.0f} rows"
        parts.append(line(x, y, x, bottom - confidence * size, colour(0), width=1.5))
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour(0)}" fill-opacity="0.45"'
            f' stroke="{colour(0)}" stroke-width="1.4">{tip_of(tip)}</circle>'
        )
    return drawing(right + 18, bottom + 40, title, parts)


def _series(number: int, series: Series, pixels: Sequence[Point]) -> list[str]:
    every = max(1, math.ceil(len(pixels) / (24 if len(pixels) <= 24 else 6)))
    drawn = [path(pixels, colour(number), 1.9, DASHES[number % len(DASHES)])]
    for (x, _), (left, top) in zip(series.points, pixels, strict=True):
        if x in series.rings:
            ring = f'cx="{left:.1f}" cy="{top:.1f}" r="8" fill="none" stroke="{colour(number)}" stroke-width="1.5"'
            drawn.append(f"<circle {ring}/>")
    for (x, y), (left, top) in list(zip(series.points, pixels, strict=True))[every // 2 :: every]:
        tip = f"{series.name}, {plain(x)}: {y:.3f}"
        drawn.append(marker(SHAPES[number % len(SHAPES)], left, top, 3.6, colour(number), tip=tip))
    return drawn


def _faint(number: int, pixels: Sequence[Point]) -> str:
    return f'<g opacity="0.38">{path(pixels, colour(number), 1, "")}</g>'


def _swatch(number: int) -> str:
    dashed = line(0, 0, 24, 0, colour(number), width=1.9, dash=DASHES[number % len(DASHES)])
    return dashed + marker(SHAPES[number % len(SHAPES)], 12, 0, 3.6, colour(number))


def _axis_width(ticks: Iterable[float]) -> float:
    return 12 + max(text_width(plain(tick), FONT) for tick in ticks)
