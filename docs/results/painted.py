"""A message painted word by word: the larger a word's share, the darker its ground and the thicker its line.

Letters of one width, so that grounds lie under their words whatever font there is; a picture is as wide as a
telephone, and two stand side by side on wider screens.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from weft.reports.svg import FONT, INK, MUTED, clean, text, tip_of

COLUMNS, LETTER, STEP = 42, 7.5, 24.0  # letters of a line, pixels of a letter and of a line
WIDTH = COLUMNS * LETTER + 12
SIZE = LETTER / 0.6  # of letters: those of fonts of one width are about so wide
HEAT = "var(--heat,#004c7a)"
DARKEST, THICKEST = 0.5, 4.0  # what the largest share has; words stay readable on it
FAINT = 0.05  # of the largest share; what is below stays bare


@dataclass(frozen=True)
class PaintedWord:
    """Characters [start, end) of a message, their share, and whether they are set in bold."""

    start: int
    end: int
    share: float
    bold: bool = False


def painted(message: str, words: Sequence[PaintedWord], most: float, title: str, notes: Sequence[str]) -> str:
    """The message with its words painted, `most` being the largest share; below it a line per note."""
    lines = list(_lines(message))
    parts = [text(6, 14, title, size=13, weight=600)]
    for number, (first, last) in enumerate(lines):
        y = 38 + number * STEP
        here = [word for word in words if first <= word.start < last]
        parts += [part for word in here for part in _ground(message, word, first, y, word.share / most)]
        parts.append(_line(message, here, first, last, y))
    bottom = 38 + len(lines) * STEP
    parts += [text(6, bottom + 17 * number, note, fill=MUTED) for number, note in enumerate(notes)]
    height = bottom + 17 * len(notes) - FONT / 2
    return (
        f'<svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" width="{WIDTH:.0f}" role="img" aria-label="{clean(title)}"'
        f' font-family="system-ui, sans-serif" font-size="{FONT}">{"".join(parts)}</svg>'
    )


def _lines(message: str) -> Iterator[tuple[int, int]]:
    """The characters [first, last) of each line, broken at spaces."""
    at = 0
    for part in textwrap.wrap(message, COLUMNS, break_on_hyphens=False):
        at = message.index(part, at)
        yield at, at + len(part)
        at += len(part)


def _ground(message: str, word: PaintedWord, first: int, y: float, strength: float) -> Iterator[str]:
    if strength < FAINT:
        return
    x, width = 6 + (word.start - first) * LETTER, (word.end - word.start) * LETTER
    tip = tip_of(f"{message[word.start : word.end]}: {100 * word.share:.1f} %")
    thick = THICKEST * strength
    yield (
        f'<rect x="{x:.1f}" y="{y - 13:.1f}" width="{width:.1f}" height="17" fill="{HEAT}"'
        f' fill-opacity="{DARKEST * strength:.3f}">{tip}</rect>'
    )
    yield f'<rect x="{x:.1f}" y="{y + 4:.1f}" width="{width:.1f}" height="{thick:.2f}" fill="{HEAT}"/>'


def _line(message: str, words: Sequence[PaintedWord], first: int, last: int, y: float) -> str:
    bold = {at for word in words if word.bold for at in range(word.start, word.end)}
    cuts = [first, *(at for at in range(first + 1, last) if (at in bold) != (at - 1 in bold)), last]
    runs = [
        f'<tspan font-weight="700">{clean(message[a:b])}</tspan>' if a in bold else clean(message[a:b])
        for a, b in pairwise(cuts)
    ]
    place = f'x="6" y="{y:.1f}" textLength="{(last - first) * LETTER:.1f}"'
    look = f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{SIZE:g}" fill="{INK}"'
    return f'<text {place} lengthAdjust="spacingAndGlyphs" {look}>{"".join(runs)}</text>'
