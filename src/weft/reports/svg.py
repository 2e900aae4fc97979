"""Drawing in SVG text: shapes, words, ticks and colours, without a plotting library.

Colours are CSS variables with a fallback, so that a page may turn them for dark screens and a chart on its own still
shows.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape

Point = tuple[float, float]

INK, MUTED, LINE = "var(--ink,#1c2126)", "var(--muted,#5d6670)", "var(--line,#dfe3e7)"
PAPER = "var(--paper,#ffffff)"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")  # of Okabe and Ito

WIDTH = 520  # of charts that stretch: about a column of the page, so that text keeps its size
FONT = 11.5
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # what XML forbids or nobody sees


def drawing(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """The parts as one picture that fills its column and is read aloud as its title."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="100%" role="img" aria-label="{clean(title)}"'
        f' font-family="system-ui, sans-serif" font-size="{FONT}">{"".join(parts)}</svg>'
    )


def text(
    x: float, y: float, words: str, anchor: str = "start", fill: str = INK, size: float = FONT, weight: int = 400,
    tip: str = "",
) -> str:  # fmt: skip
    """Words at a point; `tip` is shown when pointed at, if it says more than the words do."""
    heavy = f' font-weight="{weight}"' if weight != 400 else ""
    more = tip_of(tip) if tip and tip != words else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-size="{size:g}"{heavy}>'
        f"{more}{clean(words)}</text>"
    )


def marker(shape: str, x: float, y: float, r: float, ink: str, hollow: bool = False, tip: str = "") -> str:
    """A small shape around a point; hollow ones are filled with the paper's colour."""
    look = f'fill="{PAPER if hollow else ink}" stroke="{ink}" stroke-width="1.6"'
    more = tip_of(tip) if tip else ""
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


def line(x1: float, y1: float, x2: float, y2: float, ink: str, width: float = 1, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{ink}" stroke-width="{width:g}"{dashed}/>'


def path(points: Sequence[Point], ink: str, width: float, dash: str) -> str:
    if len(points) < 2:
        return ""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    look = f'fill="none" stroke="{ink}" stroke-width="{width:g}" stroke-linejoin="round"{dashed}'
    return f'<polyline points="{joined}" {look}/>'


def tip_of(words: str) -> str:
    """What a shape says when pointed at."""
    return f"<title>{clean(words)}</title>"


def lines_of_legend(entries: Sequence[tuple[str, str]], below: float, whole: float = WIDTH) -> tuple[str, float]:
    """The entries in rows as wide as a chart, and the height they take with `below` pixels of air."""
    x, y, parts = 0.0, 10.0, []
    for name, swatch in entries:
        words = fit(name, min(whole - 30, 34 * 0.64 * FONT))
        width = 30 + text_width(words, FONT) + 16
        if x and x + width - 16 > whole:
            x, y = 0.0, y + 19
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{swatch}{text(30, 4, words, tip=name)}</g>')
        x += width
    return "".join(parts), y + below


def nice_ticks(low: float, high: float, most: int = 6, whole: bool = False) -> list[float]:
    """At least two round numbers around low and high, 1, 2 or 5 times a power of ten apart; `whole` ones if asked."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def plain(value: float) -> str:
    """A tick as people write it: 0.25, 1, −0.5, 12,000."""
    return (f"{value:,.0f}" if value == int(value) else f"{value:g}").replace("-", "−")


def colour(number: int) -> str:
    return f"var(--c{number % len(PALETTE)},{PALETTE[number % len(PALETTE)]})"


def finite(points: Iterable[Sequence[float]]) -> list[Point]:
    return [(x, y) for x, y in points if x is not None and y is not None and math.isfinite(x) and math.isfinite(y)]


def text_width(words: str, size: float) -> float:
    """About how wide words are set, in a font that is rather wide; East Asian letters are square."""
    return size * sum(map(_letter_width, words))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF" or letter in "MWmw@%…":
        return 1.0
    return 0.36 if letter in " .,:;'|!()[]-ijlIt" else 0.74 if letter.isupper() else 0.64


def fit(words: str, room: float, size: float = FONT) -> str:
    """The words, shortened to what so many pixels hold."""
    lengths = range(len(words), 3, -1)
    return next((short for most in lengths if text_width(short := shorten(words, most), size) <= room), words[:3])


def shorten(words: str, most: int) -> str:
    """The words, or their beginning and end around an ellipsis: names often differ only in their last letters."""
    tail = most // 4
    return words if len(words) <= most else f"{words[: most - tail - 1]}…{words[-tail:]}"


def clean(words: str) -> str:
    """Any string as text of HTML and XML: escaped, and with forbidden characters made visible."""
    return escape(FORBIDDEN.sub("�", words))
