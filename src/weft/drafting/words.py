"""Which columns hold words and their tags, spans of a text, or relations between spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from weft.data.annotations import read_spans, read_tags, repair_spans, repair_tags
from weft.data.records import Input, Span
from weft.drafting.columns import SampledColumn
from weft.drafting.names import is_called_tokens
from weft.drafting.question import WORD_KINDS, Hints, Question, Seen
from weft.drafting.texts import ReadColumns
from weft.tokenization.words import join_words

_NUMBERED = "column"  # what the reader of CoNLL files calls columns beside tokens and tags
_WIDTH, _WIDEST = 12, 64  # words of a span: the default of `max_width`, and the most
_TELLING = 50  # spans from which it is no chance that none overlap
_UNIVERSAL = ("lemma", "upos", "xpos")


def ask_about_words(table: Mapping[str, Seen], reading: ReadColumns | None, hints: Hints) -> list[Question]:
    """A question for each column of tags, spans or relations."""
    if not hints.wants(WORD_KINDS):
        return []
    tokens = find_tokens(table)
    tagged = [
        _ask_tags(seen, tokens)
        for seen in table.values()
        if tokens is not None and _are_tags(seen, tokens) and _is_asked(seen, table, hints)
    ]
    marked = [seen for seen in table.values() if seen.look.role == "spans"]
    spans = [
        _ask_spans(seen, tokens, reading, table, hints)
        for seen in marked
        if _is_asked(seen, table, hints) and _varies(seen)
    ]
    related = [
        _ask_relations(seen, marked[0], tokens, reading)
        for seen in table.values()
        if seen.look.role == "relations" and marked and _is_asked(seen, table, hints) and _varies(seen)
    ]
    found = [question for question in (*tagged, *spans, *related) if question is not None]
    return [question for question in found if hints.kind in (None, question.kind)]


def find_tokens(table: Mapping[str, Seen]) -> Seen | None:
    """The column of words: called so, or of several of equal lengths, without a text, the one with most words."""
    lists = [seen for seen in table.values() if seen.look.role == "words"]
    called = [seen for seen in lists if is_called_tokens(seen.name)]
    if called:
        return called[0]
    if any(seen.look.role == "text" for seen in table.values()):  # whose labels are lists by chance as long
        return None
    aligned = [
        seen for seen in lists if any(_are_aligned(seen.column, other.column) for other in lists if other != seen)
    ]
    return max(aligned, key=lambda seen: len(_different(seen.column)), default=None)


def _are_tags(seen: Seen, tokens: Seen) -> bool:
    """Whether a column has a tag for every word, and different ones."""
    listed = seen.look.role == "words" and seen != tokens and len(_different(seen.column)) > 1
    return listed and _are_aligned(seen.column, tokens.column)


def _are_aligned(one: SampledColumn, other: SampledColumn) -> bool:
    """Whether two columns have lists, and these as many entries in every row."""
    rows = [(a, b) for a, b in zip(one.cells, other.cells, strict=True) if isinstance(a, list) and isinstance(b, list)]
    return bool(rows) and all(len(a) == len(b) for a, b in rows)


def _different(column: SampledColumn) -> set[str]:
    return {entry for cell in column.filled for entry in cell}


def _is_asked(seen: Seen, table: Mapping[str, Seen], hints: Hints) -> bool:
    """Whether a column is meant: named, or of those that a CoNLL reader gives twice and beside, the tags alone."""
    if hints.labels:
        return seen.name in hints.labels
    beside = seen.name.startswith(_NUMBERED) and seen.name.removeprefix(_NUMBERED).isdigit()
    return not ("tags" in table and (beside or seen.name in _UNIVERSAL))


def _varies(seen: Seen) -> bool:
    """Whether not all rows have the same answer."""
    return any(cell != seen.column.filled[0] for cell in seen.column.filled)


def _ask_tags(seen: Seen, tokens: Seen) -> Question:
    options, reasons = _tokens_option(tokens), {"tokens": "lists of words"}
    options["tags"] = seen.name
    tags = Counter(tag for cell in seen.column.filled for tag in cell)
    rows = [(cell, Input((), words=((0, 1),) * len(cell))) for cell in seen.column.filled]  # anywhere will do
    if not any(tag[:2] in ("B-", "I-", "S-", "U-") for tag in tags):
        options["scheme"] = "plain"
        reasons["scheme"] = "none of them begins with B- or I-, so each word has a tag of its own"
        return Question("tagging", f"a tag for every word, {len(tags):,} different", seen.name, options, reasons)
    labels = {tag.partition("-")[2] for tag in tags if "-" in tag}
    wrong = sum(_fails(_read_bio, *row) for row in rows)
    if wrong and not any(_fails(lambda cell, input: _read_bio(repair_tags(cell)[0], input), *row) for row in rows):
        options["repair"] = True
        reasons["repair"] = f"{wrong:,} rows have tags that continue nothing, as IOB1 writes them; they are mended"
    return Question("tagging", f"BIO tags of words, {len(labels):,} labels", seen.name, options, reasons)


def _read_bio(cell: Any, input: Input) -> object:
    return read_tags(cell, input, plain=False)


def _ask_spans(
    seen: Seen, tokens: Seen | None, reading: ReadColumns | None, table: Mapping[str, Seen], hints: Hints
) -> Question | None:
    """Spans of words where they all fit into the words, otherwise of characters."""
    options, reasons = dict[str, Any](), dict[str, str]()
    text = reading.columns[0].column if reading is not None and len(reading.columns) == 1 else None
    in_words = tokens is not None and (text is None or _fit(seen.column, tokens.column))
    if in_words and tokens is not None:
        options, reasons, source = (
            _tokens_option(tokens),
            {"tokens": "lists of words; spans count words"},
            tokens.column,
        )
    elif text is not None:
        options, reasons, source = {"text": text.name}, {"text": "spans count its characters"}, text
        if "tokens" in table:
            options["tokens"] = ""
            reasons["tokens"] = "not read: spans go beyond the number of words"
    else:
        return None
    key = "entities" if seen.name == "entities" else "spans"
    options[key] = seen.name
    _hide_others(options, reasons, seen.name, table)
    rows = [(cell, _input(given)) for cell, given in zip(seen.column.cells, source.cells, strict=True) if cell]
    usable = [(cell, input) for cell, input in rows if input is not None]
    marked = _readable(usable)
    flat = hints.kind == "tagging" or _never_overlap(marked)
    if (wrong := len(usable) - len(marked)) and not any(_fails(_read_repaired(flat), *row) for row in usable):
        options["repair"] = True
        reasons["repair"] = f"{wrong:,} rows have spans that end before they start or beyond the text; they are mended"
    labels = Counter(label for _, spans in marked for *_, label in spans)
    what = f"spans of a text, {len(labels):,} label{'' if len(labels) == 1 else 's'}"
    if hints.kind == "tagging":
        return Question("tagging", what, seen.name, options, reasons)
    if flat:
        options["flat"] = True
        reasons["flat"] = f"none of the {labels.total():,} spans overlap"
    if (width := _width(marked)) > _WIDTH:
        options["max_width"] = min(_WIDEST, width + width // 2)
        reasons["max_width"] = f"the widest span has about {width} words; wider ones than this cannot be found"
    return Question("spans", what, seen.name, options, reasons)


def _read_repaired(flat: bool) -> Callable[[Any, Input], object]:
    return lambda cell, input: read_spans(repair_spans(cell, input, flat)[0], input)


def _ask_relations(seen: Seen, spans: Seen, tokens: Seen | None, reading: ReadColumns | None) -> Question | None:
    options: dict[str, Any] = {}
    if tokens is not None and (reading is None or _fit(spans.column, tokens.column)):
        options = _tokens_option(tokens)
    elif reading is not None and len(reading.columns) == 1:
        options = {"text": reading.names[0]}
    else:
        return None
    options["entities" if spans.name == "entities" else "spans"] = spans.name
    options["relations"] = seen.name
    reason = f"which spans have to do with each other: {seen.look.phrase}"
    return Question("relations", reason, seen.name, options, {"relations": "lists of [head, tail, label]"})


def _tokens_option(tokens: Seen) -> dict[str, Any]:
    return {"tokens": tokens.name}


def _hide_others(options: dict[str, Any], reasons: dict[str, str], answer: str, table: Mapping[str, Seen]) -> None:
    """Turn away from columns of the usual names that would be read before the one that is meant."""
    for other in ("tags", "entities", "spans"):
        if other in table and other != answer and other not in options:
            options[other] = ""
            reasons[other] = "not read here: another column of the file is called so"


def _fit(spans: SampledColumn, tokens: SampledColumn) -> bool:
    """Whether all spans end within the words of their row."""
    rows = [(cell, words) for cell, words in zip(spans.cells, tokens.cells, strict=True) if cell and words]
    return all(_end(entry) <= len(words) for cell, words in rows for entry in cell)


def _end(entry: Any) -> int:
    end = entry["end"] if isinstance(entry, Mapping) else entry[1]
    return end if isinstance(end, int) else 0


def _input(given: Any) -> Input | None:
    """A text, or words, as a task reads them."""
    if isinstance(given, list) and given and all(isinstance(word, str) for word in given):
        text, words = join_words(given)
        return Input((text,), words=words)
    return Input((given,)) if isinstance(given, str) else None


def _fails(read: Callable[[Any, Input], object], cell: Any, input: Input) -> bool:
    try:
        read(cell, input)
    except ValueError:
        return True
    return False


def _readable(rows: Sequence[tuple[Any, Input]]) -> list[tuple[str, tuple[Span, ...]]]:
    """Each text and its spans, of the rows in which they are right."""
    return [(row[1].texts[0], read_spans(*row)) for row in rows if not _fails(read_spans, *row)]


def _never_overlap(marked: Sequence[tuple[str, tuple[Span, ...]]]) -> bool:
    """Whether no two spans share a character, and there are enough of them for that to be meant."""
    apart = all(before[1] <= after[0] for _, spans in marked for before, after in pairwise(sorted(spans)))
    return apart and sum(len(spans) for _, spans in marked) >= _TELLING


def _width(marked: Sequence[tuple[str, tuple[Span, ...]]]) -> int:
    """Words of the widest span, as blanks part them."""
    return max((len(text[start:end].split()) for text, spans in marked for start, end, _ in spans), default=0)
