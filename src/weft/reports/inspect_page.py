"""What models looked at, painted over the texts: one page that needs nothing else, no scripts and no network.

Strength is told twice, by shade and by the thickness of a line under the word, and direction by colour and by the kind
of that line, so that the page reads on paper without colours and by eyes that see few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from weft.data.predictions import PredictedSpan, Prediction
from weft.model.inspection import Inspection, ReadRow, ReadText, Word
from weft.reports.spans import STYLE as MARKS
from weft.reports.spans import TEXT_STYLE, Look, Mark, legend, looks_of, paint, table, visible
from weft.reports.style import STYLE as BASE
from weft.reports.summary import listed
from weft.reports.svg import PALETTE, clean, colour
from weft.tokenization.words import continues

FAINT = 0.05  # of the strongest word; what is below stays bare
MARKED = 0.15  # of the strongest word; words below have no mark, which nobody could read in a long text
CLEAR = 0.15  # share of a word's heads × sub-words from which the leading label has a mark
MOST_NAMED = 4  # labels whose probabilities stand beside an answer
NAMES = ("First text", "Second text")
SHAPES = "●■▲◆✚▼★"
_SIDES = ("speaks for the answer", "speaks against it")

AGREES, CONTRADICTS = 0.6, 0.2  # rank correlations from which and below which two rankings do so
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
    marks, looks = _marks(pages), _looks(pages)
    several = len(pages) > 1
    sections = "".join(
        _section(page, titles, marks, looks, f"Text {place}" if several else "") for place, page in enumerate(pages, 1)
    )
    marks = {label: mark for label, mark in marks.items() if f'"m {mark}"' in sections}  # a legend of what is there
    title = f"What “{first.task}” looked at"
    style = f"{BASE}{TEXT_STYLE}{MARKS if looks else ''}{STYLE}{_mark_style(marks)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{clean(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{_header(title, pages, titles, marks, looks)}{sections}<footer>{clean(PRIVACY)}</footer>\n"
        "</main>\n</body>\n</html>\n"
    )


def strongest(row: Sequence[Inspection]) -> float:
    """The largest attention on a word in any of some inspections, which share one scale."""
    return max((word.attention for one in row for _, word in _words(one)), default=0.0)


def percent(share: float) -> str:
    """`12.3 %`, with a blank that does not break."""
    return f"{share * 100:.1f}\u00a0%" if abs(share) >= 0.0005 else "0\u00a0%"


def cut(row: ReadRow) -> list[str]:
    """A sentence where a row was too long to be read whole, or at once."""
    lost, words = (sum(n) for n in zip(*((t.unread_words, len(t.words)) for t in row.texts), strict=True))
    if row.windows > 1:
        return [
            f"Read in {row.windows:,} overlapping windows; a word’s share is that of the window that decides about it."
        ]
    if not row.dropped:
        return []
    return [
        f"Not read: {lost:,} of {lost + words:,} words ({row.dropped:,} tokens) did not fit into {row.tokens:,} tokens."
    ]


def _header(
    title: str,
    pages: Sequence[Sequence[Inspection]],
    titles: Sequence[str],
    marks: Mapping[str, str],
    looks: Mapping[str, Look],
) -> str:
    row = pages[0]
    layers = " and ".join(dict.fromkeys(f"layer {one.layer} of 0 … {one.depth - 1}" for one in row))
    heads = "mean over heads" if row[0].heads == "mean" else "strongest head of each token"
    notes = [CAUTION, *([MEASURED] if _asked(pages[0][0]) else []), *_pooling_notes(row, titles)]
    return (
        f'<header>\n<p class="eyebrow">{clean(f"Attention page · {layers} · {heads}")}</p>\n<h1>{clean(title)}</h1>\n'
        + "".join(f'<p class="note">{clean(note)}</p>\n' for note in notes)
        + _legend(pages[0][0], marks, looks)
        + "</header>\n"
    )


def _pooling_notes(row: Sequence[Inspection], titles: Sequence[str]) -> list[str]:
    """What to know of models whose answer is not read from the first token."""
    other = [(title, one.pooling) for title, one in zip(titles, row, strict=True) if one.pooling != "cls"]
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


def _legend(one: Inspection, marks: Mapping[str, str], looks: Mapping[str, Look]) -> str:
    steps = ((0.2, "a little"), (0.6, "more"), (1.0, "most"))
    shades = "".join(f'<span class="w a" style="--s:{strength}">{name}</span>' for strength, name in steps)
    sides = ("for a higher score", "for a lower score") if _is_number(one) else _SIDES
    items = [f"<li>Marks: {legend(looks)}</li>"] if looks else []
    items += [
        f"<li>Attention: {shades}</li>",
        f"<li>Gradient × input{', and words left out' if _asked(one) else ''}: "
        f'<span class="w f" style="--s:.7">{sides[0]}</span> <span class="w g" style="--s:.7">{sides[1]}</span></li>',
    ]
    if marks:
        names = " ".join(f'<span class="m {mark}">{clean(label)}</span>' for label, mark in marks.items())
        items.append(f"<li>Pulled by a label (larger: in more heads): {names}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>\n'


def _is_number(one: Inspection) -> bool:
    """Whether the answer is a score, which words speak for a higher or a lower one of."""
    return one.prediction.spans is None and not one.explained


def _section(
    page: Sequence[Inspection],
    titles: Sequence[str],
    marks: Mapping[str, str],
    looks: Mapping[str, Look],
    heading: str,
) -> str:
    scale = strongest(page)
    several = len(page) > 1
    articles = "".join(
        _article(one, title if several else "", scale, marks, looks) for one, title in zip(page, titles, strict=True)
    )
    named = f"<h2>{heading}</h2>\n" if heading else ""
    return f'<section>\n{named}<div class="models {"beside" if several else "alone"}">\n{articles}</div>\n</section>\n'


def _article(one: Inspection, title: str, scale: float, marks: Mapping[str, str], looks: Mapping[str, Look]) -> str:
    model = f'<p class="model">{clean(title)}</p>' if title else ""
    most = max((abs(word.attribution) for _, word in _words(one)), default=0.0)
    looked = _texts(one, lambda word, words: _looked(word, words, scale, marks))
    attribution = _texts(one, lambda word, words: _toward(word, words, most))
    left_out = _left_out(one)
    return (
        f'<article>\n<div class="top">{model}<p class="answer">{_answer(one.prediction)}</p>'
        f"{_marked(one, looks)}</div>\n"
        f'<div class="panel{" whole" if left_out else ""}"><h3>Where the first token looked</h3>{looked}'
        f"{_notes(_attention_facts(one, scale))}</div>\n"
        f'<div class="panel"><h3>{clean(f"Gradient × input: {_about(one)}")}</h3>{attribution}'
        f"{_notes(_attribution_facts(one))}</div>\n{left_out}</article>\n"
    )


def _left_out(one: Inspection) -> str:
    """The text painted by what becomes of the answer without each word; nothing where nobody asked."""
    if not _asked(one):
        return ""
    most = max(abs(word.left_out or 0.0) for word in one.words)

    def painted(word: Word, words: str) -> str:
        drop = word.left_out or 0.0
        return _span(words, "f" if drop >= 0 else "g", abs(drop) / most if most else 0.0, drop_in_words(one, drop))

    facts = _notes(leave_out_facts(one))
    return f'<div class="panel"><h3>Leave one word out</h3>{_texts(one, painted)}{facts}</div>\n'


def _asked(one: Inspection) -> bool:
    """Whether words were left out."""
    return any(word.left_out is not None for word in one.words)


def drop_in_words(one: Inspection, drop: float) -> str:
    """What becomes of the answer without a word: `without it 12.3 % less`, or for numbers `without it 0.42 less`."""
    size = f"{abs(drop):.2f}" if _is_number(one) else percent(abs(drop))
    return f"without it {size} {'less' if drop >= 0 else 'more'}"


def leave_out_facts(one: Inspection) -> list[str]:
    """What was asked without each word, of how many words at a time, and how far gradient × input agrees."""
    what = "the score" if _is_number(one) else "the probability of the answer"
    facts = [f"How far {what} falls (blue) or rises (orange) in a text without the word."]
    if one.left_out_together > 1:
        facts.append(f"The text is long, so words were left out in groups of {one.left_out_together}.")
    return facts + agreement(one)


def agreement(one: Inspection) -> list[str]:
    """A sentence about how far gradient × input and leaving words out agree; none where there is too little to rank."""
    if one.agreement is None:
        return []
    size = f"(rank correlation {one.agreement:.2f})".replace("-", "−")
    if one.agreement >= AGREES:
        return [f"Gradient × input ranks the words as leaving them out does {size}."]
    if one.agreement >= CONTRADICTS:
        return [f"Gradient × input ranks the words partly as leaving them out does {size}."]
    return [f"Gradient × input contradicts what happens when words are left out {size}: trust the latter."]


def _about(one: Inspection) -> str:
    """What gradient × input is about."""
    named = listed(f"“{label}”" for label in one.explained)
    if one.prediction.spans is None:
        return f"for and against {named}" if named else "for a higher and for a lower score"
    if one.prediction.spans:
        return f"for and against what was marked ({named})"
    return f"for and against {named}, the likeliest mark, which was not given" if named else "no words, no marks"


def _marked(one: Inspection, looks: Mapping[str, Look]) -> str:
    """The text with its marks and a table of them, for tasks that answer with such."""
    if not one.prediction.spans:
        return ""
    ((text,),) = (row.texts for row in one.rows)
    return paint(text.text, marks_of(one.prediction.spans, text.text), looks) + table(one.prediction.spans, looks)


def marks_of(spans: Sequence[PredictedSpan], text: str) -> list[Mark]:
    """Predicted spans as marks with whole characters: an accent or a skin tone goes with what it belongs to."""
    found = []
    for span in spans:
        end = span.end
        while end < len(text) and continues(text, end):
            end += 1
        found.append(Mark(span.start, end, span.label, percent(span.score)))
    return found


def _answer(prediction: Prediction) -> str:
    chances = prediction.label_scores()
    if not chances:
        return f"<b>{clean(prediction.in_words())}</b>"
    given = dict(prediction.given())
    others = sorted(((label, p) for label, p in chances.items() if label not in given), key=lambda one: -one[1])
    rest = [f"{clean(label)} {percent(p)}" for label, p in others[:MOST_NAMED]]
    rest += [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    named = ", ".join(f"<b>{clean(label)}</b> {percent(score)}" for label, score in given.items())
    small = f"<small>{' · '.join(rest)}</small>" if rest else ""
    return f"{named or '<b>no label</b>'} {small}".rstrip()


def _texts(one: Inspection, paint: Callable[[Word, str], str]) -> str:
    """The text or the two texts of an inspection, painted word by word."""
    texts = [text for row in one.rows for text in row.texts]
    return "".join(
        (f'<p class="which">{NAMES[place]}</p>' if len(texts) > 1 else "")
        + f'<p class="text" dir="auto">{_paint(text, paint)}</p>'
        for place, text in enumerate(texts)
    )


def _paint(text: ReadText, paint: Callable[[Word, str], str]) -> str:
    if not text.text.strip():
        return '<span class="empty">(no words)</span>'
    parts = []
    for piece in text.pieces():
        words = clean(visible(piece.text))
        if not piece.read:
            parts.append(f'<span class="unread" title="not read: it did not fit">{words}</span>')
        elif piece.word is None:
            parts.append(words)
        else:
            parts.append(paint(piece.word, words))
    return "".join(parts)


def _span(words: str, kind: str, strength: float, tip: str) -> str:
    """A word with its shade, which faint ones go without."""
    look = f'class="w {kind}" style="--s:{strength:.2f}"' if strength >= FAINT else 'class="w"'
    return f'<span {look} title="{clean(tip)}">{words}</span>'


def _looked(word: Word, words: str, scale: float, marks: Mapping[str, str]) -> str:
    """A word painted by attention, with the mark of the label that pulled it."""
    label_shares = [f"{label} {percent(share)}" for label, share in word.label_shares.items()]
    tip = f"attention {percent(word.attention)}" + (
        f"; pulled by {', '.join(label_shares[:MOST_NAMED])}" if label_shares else ""
    )
    strength = word.attention / scale if scale else 0.0
    shown = strength >= MARKED and clearly_pulled(word) and word.winning_label
    marked = (
        f'<span class="m {marks[shown]}" style="--p:{word.label_shares[shown]:.2f}">{words}</span>' if shown else words
    )
    return _span(marked, "a", strength, tip)


def _toward(word: Word, words: str, most: float) -> str:
    """A word painted by what it did for the answer."""
    side = "for" if word.attribution >= 0 else "against"
    tip = f"{side} {percent(abs(word.attribution))}"
    return _span(words, "f" if side == "for" else "g", abs(word.attribution) / most if most else 0.0, tip)


def clearly_pulled(word: Word) -> bool:
    """Whether its leading label won more than a stray few of a word's heads × sub-words."""
    return next(iter(word.label_shares.values()), 0.0) >= CLEAR


def _notes(sentences: Iterable[str]) -> str:
    return f'<p class="note">{clean(" ".join(sentences))}</p>'


def _attention_facts(one: Inspection, scale: float) -> list[str]:
    facts = []
    for place, row in enumerate(one.rows):
        which = f"{NAMES[place]}: " if len(one.rows) > 1 else ""
        facts.append(f"{which}special tokens took {percent(row.special_attention)} of the attention.")
        facts += cut(row)
    if scale:
        facts.insert(0, f"The strongest shade is {percent(scale)} of the attention.")
    if one.labels is not None:
        shares = [sum(word.label_shares.values()) for _, word in _words(one)]
        mean = sum(shares) / max(1, len(shares))
        facts.append(f"On average, labels decided {percent(mean)} of a word’s heads.")
    return [fact[:1].upper() + fact[1:] for fact in facts]


def _attribution_facts(one: Inspection) -> list[str]:
    words = [word for _, word in _words(one)]
    attribution = sum(word.attribution for word in words if word.attribution > 0)
    against = -sum(word.attribution for word in words if word.attribution < 0)
    special = sum(row.special_attribution for row in one.rows)
    sides = ("for a higher score", "for a lower score") if _is_number(one) else ("for it", "against it")
    shares = f"Words {sides[0]} {percent(attribution)}, words {sides[1]} {percent(against)}"
    return [f"{shares}, special tokens {percent(special)}."]


def _words(one: Inspection) -> Iterator[tuple[ReadText, Word]]:
    return ((text, word) for row in one.rows for text in row.texts for word in text.words)


def _marks(pages: Iterable[Sequence[Inspection]]) -> dict[str, str]:
    """The class of each label's mark, in the labels' own order; none where no model lets labels pull."""
    labels = dict.fromkeys(label for page in pages for one in page for label in one.labels or ())
    return {label: f"l{place}" for place, label in enumerate(labels)}


def _looks(pages: Iterable[Sequence[Inspection]]) -> dict[str, Look]:
    """How the marks of each label look, of all labels that were given anywhere; none for other kinds of answers."""
    spans = (span for page in pages for one in page for span in one.prediction.spans or ())
    return looks_of(sorted({span.label for span in spans}))


def _mark_style(marks: Mapping[str, str]) -> str:
    """Shape and colour of each mark; beyond seven labels, shapes and colours meet in new pairs."""
    lines = []
    for mark in marks.values():
        place, count = int(mark[1:]), len(PALETTE)
        shape = SHAPES[(place + place // count) % count]
        lines.append(f'.{mark}::after {{ content: "{shape}"; color: {colour(place)} }}\n')
    return "".join(lines)
