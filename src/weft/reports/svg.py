"""Charts as SVG text: pure functions of numbers and names, without a plotting library.

Colours are CSS variables with a fallback, so that a page may turn them for dark screens and a chart on its own still
shows. Series differ in colour (Okabe and Ito's palette), dash and marker, so that they stay apart in grey print.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

Point = tuple[float, float]

INK, MUTED, LINE = "var(--ink,#1c2126)", "var(--muted,#5d6670)", "var(--line,#dfe3e7)"
PAPER, HEAT, ON_HEAT = "var(--paper,#ffffff)", "var(--heat,#004c7a)", "var(--on-heat,#ffffff)"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 3", "12 4")
SHAPES = ("circle", "square", "diamond", "triangle", "cross", "plus", "nabla")
HOLLOW = ("diamond", "square", "triangle", "circle")  # of the marks beside a dot

WIDTH = 520  # of charts that stretch: about a column of the page, so that text keeps its size
DARK_FROM = 0.7  # the share from which a heat cell needs the other text colour, in light and dark alike
FONT = 11.5
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # what XML forbids or nobody sees


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
    series = [Series(one.name, finite(one.points), finite(one.raw), one.rings) for one in series]
    everything = [point for one in series for point in (*one.points, *one.raw)] or [(0.0, 0.0)]
    xs, ys = [x for x, _ in everything], [y for _, y in everything] + ([0.0] if zero else [])
    x_ticks, y_ticks = nice_ticks(min(xs), max(xs), 7, whole=True), nice_ticks(min(ys), max(ys))
    entries = [(one.name, _swatch(place)) for place, one in enumerate(series)]
    legend, top = _legend(entries, 42)
    left, right, bottom = _axis_width(y_ticks), WIDTH - 14, top + height - 60
    x_low, x_high = x_ticks[0], max(xs) if max(xs) > min(xs) else x_ticks[-1]

    def place(point: Point) -> Point:
        across = left + (point[0] - x_low) / (x_high - x_low) * (right - left)
        return across, bottom - (point[1] - y_ticks[0]) / (y_ticks[-1] - y_ticks[0]) * (bottom - top)

    parts = [legend, text(0, top - 13, y_label, fill=MUTED)]
    for tick in y_ticks:
        y = place((x_low, tick))[1]
        parts.append(_line(left, y, right, y, MUTED if tick == 0 else LINE))
        parts.append(text(left - 7, y + 4, plain(tick), anchor="end", fill=MUTED))
    for tick in x_ticks:
        if x_low <= tick <= x_high:
            x = place((tick, 0))[0]
            parts += [_line(x, bottom, x, bottom + 4, MUTED)]
            parts += [text(x, bottom + 17, plain(tick), anchor="middle", fill=MUTED)]
    parts.append(text((left + right) / 2, bottom + 34, x_label, anchor="middle", fill=MUTED))
    parts += [_faint(number, [place(point) for point in one.raw]) for number, one in enumerate(series) if one.raw]
    for number, one in enumerate(series):
        parts += _series(number, one, [place(point) for point in one.points])
    return drawing(WIDTH, bottom + 40, title, parts)


def reliability_diagram(bins: Iterable[Sequence[float]], title: str) -> str:
    """(mean confidence, accuracy, rows) of each bin as a disc against the diagonal, its area the share of the rows."""
    size, left, top = 250.0, 42.0, 22.0
    bottom, right = top + size, left + size
    bins = list(bins)
    most = max((rows for *_, rows in bins), default=1) or 1
    parts = [text(0, 12, "share that was right", fill=MUTED)]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = left + tick * size, bottom - tick * size
        parts += [_line(left, y, right, y, LINE), _line(x, top, x, bottom, LINE)]
        parts += [text(left - 7, y + 4, plain(tick), anchor="end", fill=MUTED)]
        parts += [text(x, bottom + 17, plain(tick), anchor="middle", fill=MUTED)]
    parts.append(_line(left, bottom, right, top, MUTED, dash="4 3"))
    parts.append(text(left + size / 2, bottom + 34, "confidence", anchor="middle", fill=MUTED))
    for confidence, accuracy, rows in bins:
        x, y = left + confidence * size, bottom - accuracy * size
        radius = 3 + 11 * math.sqrt(rows / most)
        tip = f"confidence {confidence:.3f}, right {accuracy:.3f}, {rows:.0f} rows"
        parts.append(_line(x, y, x, bottom - confidence * size, colour(0), width=1.5))
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour(0)}" fill-opacity="0.45"'
            f' stroke="{colour(0)}" stroke-width="1.4">{_tip(tip)}</circle>'
        )
    return drawing(right + 18, bottom + 40, title, parts)


def confusion_matrix(labels: Sequence[str], counts: Sequence[Sequence[int]], title: str) -> str:
    """Counts of gold (rows) by answer (columns), shaded by share of the gold row; zeros stay empty.

    Cells shrink as labels grow, to 12 px from 61 labels on; every cell tells its labels and count when pointed at.
    """
    size = len(labels)
    cell = next((side for most, side in ((5, 46), (9, 38), (16, 29), (30, 21), (60, 14)) if size <= most), 12)
    font = min(FONT, cell * 0.74)
    names = [shorten(label, 20) for label in labels]
    longest = max((text_width(name, font) for name in names), default=0.0)
    left, angle = max(longest + 10, 112), -90 if size > 30 else -45
    flat = longest + 6 <= cell
    top = 26.0 if flat else 14 + longest * (1 if angle == -90 else 0.75)
    right, bottom = left + size * cell, top + size * cell
    parts = [text(left - 8, top - 8, "gold ↓  answer →", anchor="end", fill=MUTED, size=10.5)]
    for place, (label, name) in enumerate(zip(labels, names, strict=True)):
        middle = (place + 0.5) * cell
        parts.append(text(left - 6, top + middle + font * 0.35, name, anchor="end", size=font, tip=label))
        x, y = left + middle + (0 if flat else font * 0.3), top - 7
        turn = "" if flat else f"rotate({angle} {x:.1f} {y:.1f})"
        parts.append(text(x, y, name, anchor="middle" if flat else "start", size=font, turn=turn, tip=label))
    for place in range(size + 1):
        at = place * cell
        parts += [_line(left, top + at, right, top + at, LINE), _line(left + at, top, left + at, bottom, LINE)]
    for gold, row in enumerate(counts):
        whole = sum(row)
        for answer, rows in enumerate(row):
            if rows:
                tip = f"gold {labels[gold]}, answer {labels[answer]}: {rows} of {whole} rows"
                parts.append(_cell(left + answer * cell, top + gold * cell, cell, rows, rows / whole, tip))
    return drawing(right + (12 if flat or angle == -90 else longest * 0.72 + 8), bottom + 6, title, parts, fixed=True)


def dot_chart(dots: Sequence[Dot], title: str, dot_name: str = "this model, 95 % interval") -> str:
    """A row per dot: the value, a whisker for its interval, hollow marks for what it is held against; all finite."""
    marks = list(dict.fromkeys(name for one in dots for name in one.marks))
    solid = _line(0, 0, 24, 0, colour(0), width=2) + marker("circle", 12, 0, 4.5, colour(0))
    hollow = [(name, marker(HOLLOW[i % 4], 12, 0, 4.5, MUTED, hollow=True)) for i, name in enumerate(marks)]
    legend, top = _legend([(dot_name, solid), *hollow], 18)
    everything = [x for one in dots for x in (one.value, *(one.interval or ()), *one.marks.values())]
    ticks = nice_ticks(min([0.0, *everything]), max([1.0, *everything]))
    longest = max((text_width(shorten(one.name, 20), 13) for one in dots), default=0.0)
    left, right, step = max(90.0, longest + 16), WIDTH - 52.0, 42
    bottom = top + step * len(dots)

    def across(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (right - left)

    parts = [legend]
    for tick in ticks:
        parts.append(_line(across(tick), top, across(tick), bottom, MUTED if tick == 0 else LINE))
        parts.append(text(across(tick), bottom + 16, plain(tick), anchor="middle", fill=MUTED))
    for place, one in enumerate(dots):
        y = top + (place + 0.5) * step
        parts.append(text(0, y - 1, shorten(one.name, 20), size=13, tip=one.name))
        parts.append(text(0, y + 13, shorten(one.detail, 20), fill=MUTED, size=10.5, tip=one.detail))
        if one.interval:
            low, high = map(across, one.interval)
            parts.append(_line(low, y, high, y, colour(0), width=2.2))
            parts += [_line(end, y - 5, end, y + 5, colour(0), width=2.2) for end in (low, high)]
        for number, name in enumerate(marks):
            if name in one.marks:
                tip = f"{name} {one.marks[name]:.3f}"
                parts.append(marker(HOLLOW[number % 4], across(one.marks[name]), y, 5, MUTED, hollow=True, tip=tip))
        parts.append(marker("circle", across(one.value), y, 5, colour(0), tip=f"{one.name} {one.value:.3f}"))
        parts.append(text(WIDTH, y + 4.5, f"{one.value:.3f}", anchor="end", size=13, weight=600))
    return drawing(WIDTH, bottom + 24, title, parts)


def drawing(width: float, height: float, title: str, parts: Iterable[str], fixed: bool = False) -> str:
    """The parts as one picture that is read aloud as its title; it fills its column, or keeps its size if `fixed`."""
    size = f' width="{width:.0f}" height="{height:.0f}"' if fixed else ' width="100%"'
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}"{size} role="img" aria-label="{clean(title)}"'
        f' font-family="system-ui, sans-serif" font-size="{FONT}">{"".join(parts)}</svg>'
    )


def text(
    x: float, y: float, words: str, anchor: str = "start", fill: str = INK, size: float = FONT, weight: int = 400,
    turn: str = "", tip: str = "",
) -> str:  # fmt: skip
    """Words at a place; `tip` is shown when pointed at, if it says more than the words do."""
    turned = f' transform="{turn}"' if turn else ""
    heavy = f' font-weight="{weight}"' if weight != 400 else ""
    more = _tip(tip) if tip and tip != words else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-size="{size:g}"{heavy}{turned}>'
        f"{more}{clean(words)}</text>"
    )


def marker(shape: str, x: float, y: float, r: float, ink: str, hollow: bool = False, tip: str = "") -> str:
    """A small shape around a place; hollow ones are filled with the paper's colour."""
    look = f'fill="{PAPER if hollow else ink}" stroke="{ink}" stroke-width="1.6"'
    more = _tip(tip) if tip else ""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" {look}>{more}</circle>'
    paths = {
        "square": f"M{-r * 0.85:g},{-r * 0.85:g}h{r * 1.7:g}v{r * 1.7:g}h{-r * 1.7:g}z",
        "diamond": f"M0,{-r * 1.2:g}L{r * 1.2:g},0L0,{r * 1.2:g}L{-r * 1.2:g},0z",
        "triangle": f"M0,{-r * 1.1:g}L{r:g},{r * 0.8:g}H{-r:g}z",
        "nabla": f"M0,{r * 1.1:g}L{r:g},{-r * 0.8:g}H{-r:g}z",
        "cross": f"M{-r * 0.8:g},{-r * 0.8:g}l{r * 1.6:g},{r * 1.6:g}m0,{-r * 1.6:g}l{-r * 1.6:g},{r * 1.6:g}",
        "plus": f"M{-r:g},0H{r:g}M0,{-r:g}V{r:g}",
    }
    return f'<path d="{paths[shape]}" transform="translate({x:.1f} {y:.1f})" {look}>{more}</path>'


def nice_ticks(low: float, high: float, most: int = 6, whole: bool = False) -> list[float]:
    """At least two round numbers around low and high, 1, 2 or 5 times a power of ten apart; `whole` ones if asked."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def plain(value: float) -> str:
    """A tick as people write it: 0.25, 1, −0.5, 12,000."""
    return (f"{value:,.0f}" if value == int(value) else f"{value:g}").replace("-", "−")


def colour(place: int) -> str:
    return f"var(--c{place % len(PALETTE)},{PALETTE[place % len(PALETTE)]})"


def finite(points: Iterable[Sequence[float]]) -> list[Point]:
    return [(x, y) for x, y in points if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)]


def text_width(words: str, size: float) -> float:
    """About how wide words are set; East Asian letters are square."""
    return size * sum(1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.56 for letter in words)


def shorten(words: str, most: int) -> str:
    """The words, or their beginning and end around an ellipsis: names often differ only in their last letters."""
    tail = most // 4
    return words if len(words) <= most else f"{words[: most - tail - 1]}…{words[-tail:]}"


def clean(words: str) -> str:
    """Any string as text of HTML and XML: escaped, and with forbidden characters made visible."""
    return escape(FORBIDDEN.sub("�", words))


def _series(number: int, one: Series, places: Sequence[Point]) -> list[str]:
    every = max(1, math.ceil(len(places) / (24 if len(places) <= 24 else 6)))
    drawn = [_path(places, colour(number), 1.9, DASHES[number % len(DASHES)])]
    for (x, _), (left, top) in zip(one.points, places, strict=True):
        if x in one.rings:
            ring = f'cx="{left:.1f}" cy="{top:.1f}" r="8" fill="none" stroke="{colour(number)}" stroke-width="1.5"'
            drawn.append(f"<circle {ring}/>")
    for (x, y), (left, top) in list(zip(one.points, places, strict=True))[every // 2 :: every]:
        tip = f"{one.name}, {plain(x)}: {y:.3f}"
        drawn.append(marker(SHAPES[number % len(SHAPES)], left, top, 3.6, colour(number), tip=tip))
    return drawn


def _faint(number: int, places: Sequence[Point]) -> str:
    return f'<g opacity="0.38">{_path(places, colour(number), 1, "")}</g>'


def _path(places: Sequence[Point], ink: str, width: float, dash: str) -> str:
    if len(places) < 2:
        return ""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    look = f'fill="none" stroke="{ink}" stroke-width="{width:g}" stroke-linejoin="round"{dashed}'
    return f'<polyline points="{points}" {look}/>'


def _line(x1: float, y1: float, x2: float, y2: float, ink: str, width: float = 1, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{ink}" stroke-width="{width:g}"{dashed}/>'


def _cell(x: float, y: float, side: float, rows: int, share: float, tip: str) -> str:
    font = min(13.0, side * 0.92 / (0.6 * max(2, len(str(rows)))))
    shade = f'fill="{HEAT}" fill-opacity="{max(share, 0.04):.2f}"'
    square = f'<rect x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" width="{side - 1}" height="{side - 1}" {shade}/>'
    ink = ON_HEAT if share >= DARK_FROM else INK
    words = text(x + side / 2, y + side / 2 + font * 0.36, str(rows), anchor="middle", fill=ink, size=round(font, 1))
    return f"<g>{_tip(tip)}{square}{words}</g>"


def _tip(words: str) -> str:
    return f"<title>{clean(words)}</title>"


def _swatch(place: int) -> str:
    line = _line(0, 0, 24, 0, colour(place), width=1.9, dash=DASHES[place % len(DASHES)])
    return line + marker(SHAPES[place % len(SHAPES)], 12, 0, 3.6, colour(place))


def _legend(entries: Sequence[tuple[str, str]], below: float) -> tuple[str, float]:
    """The entries in rows as wide as a chart, and the height they take with `below` pixels of air."""
    x, y, parts = 0.0, 10.0, []
    for name, swatch in entries:
        words = shorten(name, 34)
        width = 30 + text_width(words, FONT) + 16
        if x and x + width - 16 > WIDTH:
            x, y = 0.0, y + 19
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{swatch}{text(30, 4, words, tip=name)}</g>')
        x += width
    return "".join(parts), y + below


def _axis_width(ticks: Iterable[float]) -> float:
    return 12 + max(text_width(plain(tick), FONT) for tick in ticks)
