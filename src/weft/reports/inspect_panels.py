"""The panels of an inspection: its answer, and its text painted by attention, by gradient × input and by leaving out.

Strength is told twice, by shade and by the thickness of a line under the word, and direction by colour and by the kind
of that line, so that the page reads on paper without colours and by eyes that see few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from weft.data.predictions import PredictedSpan, Prediction
from weft.model.inspection import Inspection, ReadText, Word
from weft.reports.inspect_facts import (
    about,
    asked,
    attention_facts,
    attribution_facts,
    change_without,
    clearly_pulled,
    leave_out_facts,
    percent,
    strongest,
    text_names,
)
from weft.reports.spans import Look, PaintedSpan, paint, table, visible
from weft.reports.svg import clean
from weft.tokenization.words import continues

FAINT = 0.05  # of the strongest word; what is below stays bare
MARKER_FROM = 0.15  # of the strongest word; words below have no marker, which nobody could read in a long text
MOST_NAMED = 4  # labels whose probabilities stand beside an answer


def section(
    page: Sequence[Inspection],
    titles: Sequence[str],
    markers: Mapping[str, str],
    looks: Mapping[str, Look],
    heading: str,
) -> str:
    scale = strongest(page)
    several = len(page) > 1
    articles = "".join(
        _article(inspection, title if several else "", scale, markers, looks)
        for inspection, title in zip(page, titles, strict=True)
    )
    named = f"<h2>{heading}</h2>\n" if heading else ""
    return f'<section>\n{named}<div class="models {"beside" if several else "alone"}">\n{articles}</div>\n</section>\n'


def _article(
    inspection: Inspection, title: str, scale: float, markers: Mapping[str, str], looks: Mapping[str, Look]
) -> str:
    model = f'<p class="model">{clean(title)}</p>' if title else ""
    most = max((abs(word.attribution) for word in inspection.words), default=0.0)
    attention = _texts(inspection, lambda word, words: _attended(word, words, scale, markers))
    attribution = _texts(inspection, lambda word, words: _attributed(word, words, most))
    left_out = _left_out(inspection)
    return (
        f'<article>\n<div class="top">{model}<p class="answer">{_answer(inspection.prediction)}</p>'
        f"{_with_spans(inspection, looks)}</div>\n"
        f'<div class="panel{" whole" if left_out else ""}"><h3>Attention of the first token</h3>{attention}'
        f"{_notes(attention_facts(inspection, scale))}</div>\n"
        f'<div class="panel"><h3>{clean(f"Gradient × input: {about(inspection)}")}</h3>{attribution}'
        f"{_notes(attribution_facts(inspection))}</div>\n{left_out}</article>\n"
    )


def _answer(prediction: Prediction) -> str:
    chances = prediction.label_scores()
    if not chances:
        return f"<b>{clean(prediction.in_words())}</b>"
    given = dict(prediction.given())
    others = sorted(((label, p) for label, p in chances.items() if label not in given), key=lambda pair: -pair[1])
    rest = [f"{clean(label)} {percent(p)}" for label, p in others[:MOST_NAMED]]
    rest += [f"{len(others) - MOST_NAMED} more"] if len(others) > MOST_NAMED else []
    named = ", ".join(f"<b>{clean(label)}</b> {percent(score)}" for label, score in given.items())
    small = f"<small>{' · '.join(rest)}</small>" if rest else ""
    return f"{named or '<b>no label</b>'} {small}".rstrip()


def _with_spans(inspection: Inspection, looks: Mapping[str, Look]) -> str:
    """The text with its spans and a table of them, for tasks that answer with such."""
    if not inspection.prediction.spans:
        return ""
    ((text,),) = (row.texts for row in inspection.rows)
    return paint(text.text, painted_spans(inspection.prediction.spans, text.text), looks) + table(
        inspection.prediction.spans, looks
    )


def painted_spans(spans: Sequence[PredictedSpan], text: str) -> list[PaintedSpan]:
    """Predicted spans with whole characters: an accent or a skin tone goes with what it belongs to."""
    painted = []
    for span in spans:
        end = span.end
        while end < len(text) and continues(text, end):
            end += 1
        painted.append(PaintedSpan(span.start, end, span.label, percent(span.score)))
    return painted


def _left_out(inspection: Inspection) -> str:
    """The text painted by what becomes of the answer without each word; nothing where nobody asked."""
    if not asked(inspection):
        return ""
    most = max(abs(word.left_out or 0.0) for word in inspection.words)

    def painted(word: Word, words: str) -> str:
        drop = word.left_out or 0.0
        tip = f"without it {change_without(inspection, drop)}"
        return _span(words, "f" if drop >= 0 else "g", abs(drop) / most if most else 0.0, tip)

    facts = _notes(leave_out_facts(inspection))
    return f'<div class="panel"><h3>Leave one word out</h3>{_texts(inspection, painted)}{facts}</div>\n'


def _attended(word: Word, words: str, scale: float, markers: Mapping[str, str]) -> str:
    """A word painted by attention, with the marker of the label that pulled it."""
    label_shares = [f"{label} {percent(share)}" for label, share in word.label_shares.items()]
    tip = f"attention {percent(word.attention)}" + (
        f"; pulled by {', '.join(label_shares[:MOST_NAMED])}" if label_shares else ""
    )
    strength = word.attention / scale if scale else 0.0
    shown = strength >= MARKER_FROM and clearly_pulled(word) and word.winning_label
    with_marker = (
        f'<span class="m {markers[shown]}" style="--p:{word.label_shares[shown]:.2f}">{words}</span>'
        if shown
        else words
    )
    return _span(with_marker, "a", strength, tip)


def _attributed(word: Word, words: str, most: float) -> str:
    """A word painted by what it did for the answer."""
    side = "for" if word.attribution >= 0 else "against"
    tip = f"{side} {percent(abs(word.attribution))}"
    return _span(words, "f" if side == "for" else "g", abs(word.attribution) / most if most else 0.0, tip)


def _texts(inspection: Inspection, paint: Callable[[Word, str], str]) -> str:
    """The text or the two texts of an inspection, painted word by word."""
    texts = [text for row in inspection.rows for text in row.texts]
    return "".join(
        (f'<p class="which">{text_names(inspection)[index]}</p>' if len(texts) > 1 else "")
        + f'<p class="text" dir="auto">{_paint(text, paint)}</p>'
        for index, text in enumerate(texts)
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


def _notes(sentences: Iterable[str]) -> str:
    return f'<p class="note">{clean(" ".join(sentences))}</p>'
