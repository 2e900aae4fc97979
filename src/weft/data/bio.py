"""Tags of words, as BIO and its relatives write them, against spans of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from weft.data.redact import shown_value
from weft.errors import CellError

WordSpan = tuple[int, int, str]  # words [start, end) and their label
Scheme = Literal["bio", "plain"]

OUTSIDE = "O"
UNNAMED = "span"  # the label of a bare "B" or "I"
_ENDS = {"E": "E", "L": "E", "S": "S", "U": "S"}  # BILOU's letters beside those of BIOES
_ALLOWED = "O, or B-, I-, E-, S-, L-, U- and a label"


def spans_of_tags(tags: Sequence[str], repair: bool = False) -> tuple[list[WordSpan], int]:
    """The spans that BIO, BIOES or BILOU tags mark, and how many tags had to be mended.

    A span ends at E- or L-, and before any tag that does not continue it, so that BIO needs no closing letter. With
    `repair` a tag that continues nothing begins a span (as IOB1 has it), and an unknown one counts as O; both are
    counted. Without it, both raise a CellError with the word, counted from 1.
    """
    spans: list[WordSpan] = []
    repairs = 0
    begin, open_label = 0, None  # the span that the next tag may continue
    for position, tag in enumerate([*tags, OUTSIDE]):
        letter, label = _parse(tag)
        follows = letter in ("I", "E") and label == open_label
        if letter == "?" or (letter in ("I", "E") and not follows):
            if not repair:
                problem = _complaint(tag, letter)
                raise CellError(f"word {position + 1} {problem}", f"a word {problem}")
            repairs += 1
        if follows:
            if letter == "E":
                spans.append((begin, position + 1, label))
                open_label = None
            continue
        if open_label is not None:
            spans.append((begin, position, open_label))
        begin, open_label = position, label if letter in ("B", "I") else None
        if letter in ("S", "E"):
            spans.append((position, position + 1, label))
    return spans, repairs


def tags_of_spans(spans: Sequence[WordSpan], size: int) -> list[str]:
    """The BIO tags of `size` words; a ValueError where a span is empty, ends too late or overlaps another."""
    tags = [OUTSIDE] * size
    for start, end, label in spans:
        if not 0 <= start < end <= size:
            raise ValueError(f"the span of words [{start}, {end}) is not within [0, {size}), or is empty")
        for position in range(start, end):
            if tags[position] != OUTSIDE:
                raise ValueError(f"the span of words [{start}, {end}) overlaps another at word {position + 1}")
            tags[position] = f"{'B' if position == start else 'I'}-{label}"
    return tags


def allowed_transitions(tags: Sequence[str]) -> list[list[bool]]:
    """Which BIO tag may follow which: rows from, columns to, (L + 1, L + 1).

    The last row is the beginning of a text, the last column its end. Only I-x is restricted: it follows B-x or I-x.
    """
    marks: list[tuple[str, str]] = [*map(_parse, tags), (OUTSIDE, "")]
    return [
        [letter != "I" or (before in ("B", "I") and label == before_label) for letter, label in marks]
        for before, before_label in marks
    ]


def _parse(tag: str) -> tuple[str, str]:
    """Letter (B, I, E, S, O, or ? where unknown) and label of a tag."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    letter, dash, label = tag.partition("-")
    letter = _ENDS.get(letter, letter)
    if letter not in ("B", "I", "E", "S") or (dash and not label):
        return "?", ""
    return letter, label or UNNAMED


def _complaint(tag: str, letter: str) -> str:
    """What is wrong with a tag, without quoting it: where columns are swapped, it is a word of a text."""
    if letter == "?":
        return f"has {shown_value(tag)} for its tag; allowed: {_ALLOWED}. Are words and tags in each other's column?"
    return (
        f"has a tag with {tag[0]}-, which continues nothing; allowed: only after B- or I- of the same label. A span "
        "that begins here needs B-; repair = true of the task takes such tags for it"
    )
