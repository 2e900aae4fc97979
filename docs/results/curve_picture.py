"""Curves of several tasks over common epochs, a panel each: a mean, and a band around all seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from weft.reports.charts import SHAPES
from weft.reports.svg import (
    FONT,
    LINE,
    MUTED,
    Point,
    colour,
    drawing,
    line,
    marker,
    nice_ticks,
    path,
    plain,
    text,
    text_width,
)

WIDTH, HEIGHT, TOP, GAP = 440.0, 120.0, 56.0, 40.0  # of the picture, of a panel, above the first, between two


@dataclass(frozen=True)
class Stretch:
    """Epochs that belong together, from one edge to another: after epoch 3 is 3.5."""

    name: str
    first: float
    last: float


@dataclass(frozen=True)
class Panel:
    """One task: its scores at each epoch, one per seed, and whether it learns in each stretch."""

    name: str
    values: Sequence[Sequence[float]]
    learns: Sequence[bool]


def panels(drawn: Sequence[Panel], stretches: Sequence[Stretch], title: str) -> str:
    """The panels below each other, a point being as high in all of them; a stretch is shaded where its task learns."""
    ticks = common_ticks([(min(map(min, panel.values)), max(map(max, panel.values))) for panel in drawn])
    left = 14 + max(text_width(plain(tick), FONT) for some in ticks for tick in some)
    last = stretches[-1].last

    def across(epoch: float) -> float:
        return left + (epoch - 0.5) / (last - 0.5) * (WIDTH - 2 - left)

    parts = [
        text((across(one.first) + across(one.last)) / 2, 12 + 14 * row, words, anchor="middle", fill=MUTED)
        for one in stretches
        for row, words in enumerate(one.name.split(" ", 1))  # a stretch of one epoch is narrow
    ]
    for number, panel in enumerate(drawn):
        top = TOP + number * (HEIGHT + GAP)
        parts += _panel(panel, number, stretches, ticks[number], across, top)
    bottom = TOP + len(drawn) * (HEIGHT + GAP) - GAP
    numbers = range(1, len(drawn[0].values) + 1)
    parts += [text(across(epoch), bottom + 16, str(epoch), anchor="middle", fill=MUTED) for epoch in numbers]
    parts.append(text((left + WIDTH) / 2, bottom + 33, "epoch", anchor="middle", fill=MUTED))
    return drawing(WIDTH, bottom + 40, title, parts)


def common_ticks(ranges: Sequence[tuple[float, float]]) -> list[list[float]]:
    """Ticks around each range, equally many and equally far apart."""
    widest = max(high - low for low, high in ranges)
    first, second, *_ = nice_ticks(0.0, widest, 5)
    step = second - first
    firsts = [math.floor(low / step + 1e-9) for low, _ in ranges]
    most = max(math.ceil(high / step - 1e-9) - first for (_, high), first in zip(ranges, firsts, strict=True))
    return [[float(f"{(first + number) * step:.12g}") for number in range(most + 1)] for first in firsts]


def _panel(
    panel: Panel,
    number: int,
    stretches: Sequence[Stretch],
    ticks: Sequence[float],
    across: Callable[[float], float],
    top: float,
) -> Iterator[str]:
    bottom = top + HEIGHT

    def down(score: float) -> float:
        return bottom - (score - ticks[0]) / (ticks[-1] - ticks[0]) * HEIGHT

    yield text(0, top - 9, panel.name, size=12.5, weight=600)
    for one, learns in zip(stretches, panel.learns, strict=True):
        if learns:
            box = f'x="{across(one.first):.1f}" y="{top:.1f}" width="{across(one.last) - across(one.first):.1f}"'
            yield f'<rect {box} height="{HEIGHT:.1f}" fill="{MUTED}" opacity="0.14"/>'
    for tick in ticks:
        yield line(across(0.5), down(tick), WIDTH - 2, down(tick), LINE)
        yield text(across(0.5) - 7, down(tick) + 4, plain(tick), anchor="end", fill=MUTED)
    for one in stretches[:-1]:
        yield line(across(one.last), top - 4, across(one.last), bottom, MUTED, dash="3 3")
    yield from _curve(panel, number, across, down)


def _curve(
    panel: Panel, number: int, across: Callable[[float], float], down: Callable[[float], float]
) -> Iterator[str]:
    def pixels(choose: Callable[[Sequence[float]], float]) -> list[Point]:
        return [(across(epoch), down(choose(values))) for epoch, values in enumerate(panel.values, 1)]

    ink = colour(number)
    around = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*pixels(max), *reversed(pixels(min))))
    yield f'<polygon points="{around}" fill="{ink}" opacity="0.25"/>'
    yield path(pixels(fmean), ink, 2, "")
    for epoch, ((x, y), values) in enumerate(zip(pixels(fmean), panel.values, strict=True), 1):
        tip = f"{panel.name}, epoch {epoch}: {fmean(values):.3f} ({min(values):.3f} to {max(values):.3f})"
        yield marker(SHAPES[number % len(SHAPES)], x, y, 3.8, ink, tip=tip)
