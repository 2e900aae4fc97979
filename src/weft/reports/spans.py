"""Labelled spans painted over their text, as HTML: nested ones, and those that cross.

A label is told three times, by colour, by the kind of line under the words, and by its name behind them, so that spans
read on paper without colours, on dark screens, and by eyes that see few. The names are written by the style sheet: what
is copied from the page is the text and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from weft.data.predictions import PredictedSpan
from weft.reports.svg import FORBIDDEN, PALETTE, clean, colour, shorten

LINES = ("2px solid", "2px dashed", "2px dotted", "3px double")
LOOKS = len(PALETTE) * len(LINES)  # 7 and 4 meet in 28 pairs; labels beyond look like earlier ones, but for their names
LONGEST = 14  # letters of a label's name behind its words
OPEN_TABLE = 30  # spans up to which a table stands open

TEXT_STYLE = """
.which { margin: 12px 0 2px; color: var(--muted); font-size: 13px }
.text { margin: 0 0 12px; line-height: 1.9; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext;
  text-align: start }
.empty { color: var(--muted) }
@media print { .text { line-height: 1.75; orphans: 3 } }
"""
STYLE = """
.marked { line-height: max(1.9em, 1.5em + var(--deep) * 8px) }
.k { --in: 0; margin: 0 1px; padding: 1px 2px calc(1px + var(--in) * 4px); border-bottom: var(--line-kind) var(--k);
  border-radius: 3px 3px 0 0; color: inherit; background: color-mix(in srgb, var(--k) 14%, var(--paper));
  -webkit-box-decoration-break: clone; box-decoration-break: clone; cursor: help }
.k[data-label]::after { content: attr(data-label); margin-inline-start: .4em; padding: .1em .35em; border-radius: 3px;
  background: color-mix(in srgb, var(--k) 32%, var(--paper)); color: var(--ink); font-size: .62em; font-weight: 600;
  letter-spacing: .02em; white-space: nowrap; vertical-align: .13em; unicode-bidi: isolate }
.kinds { display: flex; flex-wrap: wrap; align-items: baseline; gap: 8px 14px; margin: 0 0 14px; padding: 0;
  list-style: none; font-size: 14px }
.legend .kinds { margin: 0 }
.kinds .k, td .k { cursor: auto }
.samples { margin-top: 34px }
.sample { padding: 2px 0 4px; border-top: 1px solid var(--line); break-inside: avoid }
@media print { .k { break-inside: avoid } }
""" + "".join(
    f".k{index} {{ --k: {colour(index)}; --line-kind: {LINES[index % len(LINES)]} }}\n" for index in range(LOOKS)
)


@dataclass(frozen=True)
class PaintedSpan:
    """A labelled stretch of a text, characters [start, end), and what is told of it when pointed at."""

    start: int
    end: int
    label: str
    tip: str = ""


@dataclass(frozen=True)
class Look:
    """How the spans of a label look: their class in the style sheet, and the name behind their words."""

    kind: str
    name: str


@dataclass
class PaintedPiece:
    """A span or a part of it, with what lies in it. Pieces of a text hold each other or share nothing."""

    start: int
    end: int
    span: PaintedSpan
    inner: list[PaintedPiece] = field(default_factory=list)

    def height(self) -> int:
        """How many pieces are stacked within this one."""
        return max((1 + piece.height() for piece in self.inner), default=0)


def looks_of(labels: Iterable[str]) -> dict[str, Look]:
    """A look for each label, in their order; names are short, and no two labels have the same."""
    looks: dict[str, Look] = {}
    taken: set[str] = set()
    for index, label in enumerate(dict.fromkeys(labels)):
        name = short = shorten(label, LONGEST)
        number = 2
        while name in taken:
            name, number = f"{short} {number}", number + 1
        taken.add(name)
        looks[label] = Look(f"k{index % LOOKS}", name)
    return looks


def stack(spans: Iterable[PaintedSpan], size: int) -> list[PaintedPiece]:
    """The spans of a text of `size` characters, each inside the one that holds it.

    Where two cross, the one that begins first stays whole, and the other is parted where that one ends. Of spans with
    the same bounds the first holds the second. What lies beyond the text, or holds nothing of it, is left out.
    """
    ends = ((max(0, span.start), min(span.end, size), span) for span in spans)
    waiting = [(start, -end, order, span) for order, (start, end, span) in enumerate(ends) if start < end]
    heapify(waiting)
    outer: list[PaintedPiece] = []
    around: list[PaintedPiece] = []  # the pieces that are still open, each inside the one before
    while waiting:
        start, minus_end, order, span = heappop(waiting)
        end = -minus_end
        while around and around[-1].end <= start:
            around.pop()
        if around and around[-1].end < end:
            heappush(waiting, (around[-1].end, -end, order, span))
            end = around[-1].end
        piece = PaintedPiece(start, end, span)
        (around[-1].inner if around else outer).append(piece)
        around.append(piece)
    return outer


def paint(text: str, spans: Sequence[PaintedSpan], looks: Mapping[str, Look]) -> str:
    """A paragraph with the text and its spans; without tags it is the text again (as `visible` has it)."""
    pieces = stack(spans, len(text))
    deep = max((1 + piece.height() for piece in pieces), default=0)
    painted = "".join(_paint(visible(text), (0, len(text)), pieces, looks))
    words = painted if pieces or text.strip() else '<span class="empty">(no words)</span>'
    return f'<p class="text marked" dir="auto" style="--deep:{deep}">{words}</p>'


def legend(looks: Mapping[str, Look]) -> str:
    """The labels as their spans look, with the short name where a label has one."""
    names = "".join(f"<li>{swatch(label, look, look.name != label)}</li>" for label, look in looks.items())
    return f'<ul class="kinds">{names}</ul>'


def swatch(label: str, look: Look, named: bool = False) -> str:
    """A label as its spans look, with the short name behind it if asked."""
    name = f' data-label="{clean(look.name)}"' if named else ""
    return f'<mark class="k {look.kind}"{name}>{clean(label).replace("_", "_<wbr>")}</mark>'


def table(spans: Sequence[PredictedSpan], looks: Mapping[str, Look]) -> str:
    """Start, end, text, label and score of spans; where there are many, closed until asked for."""
    head = "".join(
        f'<th scope="col"{" class=number" if name in ("Start", "End", "Score") else ""}>{name}</th>'
        for name in ("Start", "End", "Text", "Label", "Score")
    )
    lines = "".join(
        f'<tr><td class="number">{span.start:,}</td><td class="number">{span.end:,}</td>'
        f'<td dir="auto">{clean(visible(span.text))}</td><td>{swatch(span.label, looks[span.label])}</td>'
        f'<td class="number">{span.score:.3f}</td></tr>\n'
        for span in spans
    )
    whole = f'<table class="narrow spans"><thead><tr>{head}</tr></thead>\n<tbody>{lines}</tbody></table>\n'
    if len(spans) <= OPEN_TABLE:
        return whole if spans else ""
    return f"<details><summary>All {len(spans):,} spans</summary>{whole}</details>\n"


def visible(text: str) -> str:
    """A text of the same length without characters that would steer a screen or that HTML forbids."""
    return FORBIDDEN.sub("�", text.replace("\r\n", " \n").replace("\r", "\n"))


def _paint(
    text: str, bounds: tuple[int, int], pieces: Sequence[PaintedPiece], looks: Mapping[str, Look]
) -> Iterator[str]:
    """The characters within bounds, and the pieces among them."""
    at, end = bounds
    for piece in pieces:
        yield clean(text[at : piece.start])
        yield _open(piece, looks[piece.span.label])
        yield from _paint(text, (piece.start, piece.end), piece.inner, looks)
        yield "</mark>"
        at = piece.end
    yield clean(text[at:end])


def _open(piece: PaintedPiece, look: Look) -> str:
    """The tag of a piece; an ellipsis tells where a span that was parted goes on."""
    before, after = ("…" if piece.start > piece.span.start else ""), ("…" if piece.end < piece.span.end else "")
    height = piece.height()
    inner = f' style="--in:{height}"' if height else ""
    tip = f"{piece.span.label} {piece.span.tip}".strip()
    return f'<mark class="k {look.kind}" data-label="{clean(before + look.name + after)}" title="{clean(tip)}"{inner}>'
