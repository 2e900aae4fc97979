"""What models looked at, painted over the texts: one page that needs nothing else, no scripts and no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from weft.model.inspection import Inspection
from weft.reports.html import page as whole_page
from weft.reports.inspect_facts import asked, is_number
from weft.reports.inspect_panels import section
from weft.reports.spans import STYLE as SPANS
from weft.reports.spans import TEXT_STYLE, Look, legend, looks_of
from weft.reports.style import STYLE as BASE
from weft.reports.summary import listed
from weft.reports.svg import PALETTE, clean, colour

SHAPES = "●■▲◆✚▼★"
_SIDES = ("speaks for the answer", "speaks against it")

CAUTION = (
    "Attention is not an explanation. It shows where the first token of a row gathered from in one layer, not why the "
    "answer came out as it did; gradient × input tells of small changes of a word, and may point elsewhere."
)
MEASURED = "What becomes of the answer when a word is left out is measured: where the three differ, trust that."
PRIVACY = (
    "This page contains the inspected texts themselves: keep it and share it as you would keep and share them. "
    "It has no scripts and loads nothing from elsewhere."
)

STYLE = """
:root { --look: 146 116 204; --look-line: 84 52 150; --for: 64 150 214; --for-line: 0 86 140; --against: 240 150 50;
  --against-line: 160 74 0 }
@media screen and (prefers-color-scheme: dark) { :root { --look: 112 82 178; --look-line: 190 166 240;
  --for: 0 98 158; --for-line: 110 190 240; --against: 158 82 8; --against-line: 246 170 84 } }
header .note { margin: 12px 0 0 }
.legend { display: flex; flex-wrap: wrap; gap: 8px 30px; margin: 20px 0 0; padding: 0; list-style: none;
  font-size: 14px }
.legend li { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 10px }
h2 { margin-top: 36px }
.models { display: grid; gap: 0 44px; margin-top: 12px }
.beside { grid-template-columns: repeat(2, minmax(0, 1fr)); grid-template-rows: repeat(4, auto) }
.beside > article { display: grid; grid-row: span 4; grid-template-rows: subgrid }
.alone > article { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 44px }
.alone .top, .alone .whole { grid-column: 1 / -1 }
article > * { min-width: 0 }
.model { margin: 0; color: var(--muted); font-size: 14px; overflow-wrap: anywhere }
.answer { margin: 0 0 18px; font-size: 23px; line-height: 1.3; overflow-wrap: anywhere }
.answer b { font-weight: 700 }
.answer small { color: var(--muted); font-size: 14px; white-space: normal }
.spans { width: auto; margin: 0 0 26px }
.panel { padding-top: 12px; border-top: 1px solid var(--line); margin-bottom: 12px }
.w { padding: 2px 1px 1px; border-radius: 3px 3px 0 0; -webkit-box-decoration-break: clone; box-decoration-break: clone;
  cursor: help; --line-width: calc((var(--s) - .2) * 5px) }
.a { background: rgb(var(--look) / var(--s)); border-bottom: var(--line-width) solid rgb(var(--look-line)) }
.f { background: rgb(var(--for) / var(--s)); border-bottom: var(--line-width) solid rgb(var(--for-line)) }
.g { background: rgb(var(--against) / var(--s)); border-bottom: var(--line-width) dotted rgb(var(--against-line)) }
.m::after { font-size: calc(.45em + .35em * var(--p, .5)); line-height: 0; vertical-align: .75em;
  margin-inline-start: 1px }
.unread { color: var(--muted); font-style: italic }
.unread::before { content: "✂ " }
footer { margin-top: 44px; padding-top: 14px; border-top: 1px solid var(--line); color: var(--muted);
  font-size: 12.5px }
@media (max-width: 760px) { .beside, .alone > article { display: block } .beside > article { display: block }
  .beside > article + article { margin-top: 34px; padding-top: 24px; border-top: 2px solid var(--line) } }
@media print { .panel { break-inside: auto } .answer { break-after: avoid } }
"""


def render_attention(pages: Sequence[Sequence[Inspection]], titles: Sequence[str]) -> str:
    """A page of texts, each as every model of `titles` looked at it: `pages` has one inspection per text and model."""
    first = pages[0][0]
    markers, looks = _markers(pages), _looks(pages)
    several = len(pages) > 1
    sections = "".join(
        section(page, titles, markers, looks, f"Text {number}" if several else "")
        for number, page in enumerate(pages, 1)
    )
    markers = {
        label: marker for label, marker in markers.items() if f'"m {marker}"' in sections
    }  # a legend of what is there
    title = f"What “{first.task}” looked at"
    style = f"{BASE}{TEXT_STYLE}{SPANS if looks else ''}{STYLE}{_marker_style(markers)}"
    body = f"{_header(title, pages, titles, markers, looks)}{sections}<footer>{clean(PRIVACY)}</footer>\n"
    return whole_page(title, style, body, '<meta name="referrer" content="no-referrer">\n')


def _header(
    title: str,
    pages: Sequence[Sequence[Inspection]],
    titles: Sequence[str],
    markers: Mapping[str, str],
    looks: Mapping[str, Look],
) -> str:
    row = pages[0]
    layers = " and ".join(dict.fromkeys(f"layer {model.layer} of 0 … {model.depth - 1}" for model in row))
    heads = "mean over heads" if row[0].heads == "mean" else "strongest head of each token"
    notes = [CAUTION, *([MEASURED] if asked(pages[0][0]) else []), *_pooling_notes(row, titles)]
    return (
        f'<header>\n<p class="eyebrow">{clean(f"Attention page · {layers} · {heads}")}</p>\n<h1>{clean(title)}</h1>\n'
        + "".join(f'<p class="note">{clean(note)}</p>\n' for note in notes)
        + _legend(pages[0][0], markers, looks)
        + "</header>\n"
    )


def _pooling_notes(row: Sequence[Inspection], titles: Sequence[str]) -> list[str]:
    """What to know of models whose answer is not read from the first token."""
    other = [
        (title, inspection.pooling)
        for title, inspection in zip(titles, row, strict=True)
        if inspection.pooling != "cls"
    ]
    if not other:
        return []
    who = "This task" if len(row) == 1 else f"In {listed([title for title, _ in other])}, this task"
    if all(kind == "words" for _, kind in other):
        return [
            f"{who} reads its answers from the words themselves and not from the first token, whose attention says "
            "little about them."
        ]
    kinds = " and ".join(dict.fromkeys(kind.replace("_", " ") for _, kind in other))
    return [f"{who} reads its answer from all tokens ({kinds}), so the first token’s attention is only a part of it."]


def _legend(inspection: Inspection, markers: Mapping[str, str], looks: Mapping[str, Look]) -> str:
    steps = ((0.2, "a little"), (0.6, "more"), (1.0, "most"))
    shades = "".join(f'<span class="w a" style="--s:{strength}">{name}</span>' for strength, name in steps)
    sides = ("for a higher score", "for a lower score") if is_number(inspection) else _SIDES
    items = [f"<li>Spans: {legend(looks)}</li>"] if looks else []
    items += [
        f"<li>Attention: {shades}</li>",
        f"<li>Gradient × input{', and words left out' if asked(inspection) else ''}: "
        f'<span class="w f" style="--s:.7">{sides[0]}</span> <span class="w g" style="--s:.7">{sides[1]}</span></li>',
    ]
    if markers:
        names = " ".join(f'<span class="m {marker}">{clean(label)}</span>' for label, marker in markers.items())
        items.append(f"<li>Pulled by a label (larger: in more heads): {names}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>\n'


def _markers(pages: Iterable[Sequence[Inspection]]) -> dict[str, str]:
    """The class of each label's marker, in the labels' own order; none where no model lets labels pull."""
    labels = dict.fromkeys(label for page in pages for inspection in page for label in inspection.labels or ())
    return {label: f"l{index}" for index, label in enumerate(labels)}


def _looks(pages: Iterable[Sequence[Inspection]]) -> dict[str, Look]:
    """How the spans of each label look, of all labels that were given anywhere; none for other kinds of answers."""
    spans = (span for page in pages for inspection in page for span in inspection.prediction.spans or ())
    return looks_of(sorted({span.label for span in spans}))


def _marker_style(markers: Mapping[str, str]) -> str:
    """Shape and colour of each marker; beyond seven labels, shapes and colours meet in new pairs."""
    lines = []
    for marker in markers.values():
        index, count = int(marker[1:]), len(PALETTE)
        shape = SHAPES[(index + index // count) % count]
        lines.append(f'.{marker}::after {{ content: "{shape}"; color: {colour(index)} }}\n')
    return "".join(lines)
