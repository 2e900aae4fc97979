"""What memory alone reaches in marking spans and tagging words: every answer is one that training gave.

A model that does no better than these has learned names, not how to tell one. As in `tfidf`, every function takes
training rows and returns one answer per row asked for. Ties are settled by name, so the same rows give the same answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.data.records import Span

_PIECE = re.compile(r"\w+|[^\w\s]|\s+")  # a word, one sign, or the blanks between; every character is in a piece


def lookup_spans(train: Sequence[tuple[str, Sequence[Span]]], texts: Sequence[str]) -> list[list[Span]]:
    """The spans of each text that training would mark by their wording alone, in order of their start.

    The wording of every training span is remembered, whatever its case and the number of its blanks, together with
    its commonest label (of equally common ones the first by name). A wording is kept if at least half of its
    occurrences in the training texts are spans, and then every occurrence in the new texts is marked: the longest in
    characters first (of equally long ones the first in the text), and none that overlaps one marked before.

    Occurrences begin and end where words do, a word being a run of letters, digits and underscores, or one other sign.
    Blanks at the ends of a training span are ignored. Training spans that begin or end within a word are left out, so
    little is remembered of a script that puts no blanks between words.
    """
    if not train:
        raise ValueError("a baseline needs at least one training row")
    memory = _remember(train)
    return [_mark(memory, _pieces(text)) for text in texts]


def lookup_tags(train: Sequence[tuple[Sequence[str], Sequence[str]]], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The commonest training tag of each word, in any case, and of all words for a word that training did not have.

    Of equally common tags the first by name is taken.

    Args:
        train: the words of each training row and their tags.
        rows: the words of each row to tag.
    """
    counts: dict[str, Counter[str]] = {}
    for row, (words, tags) in enumerate(train):
        if len(words) != len(tags):
            raise ValueError(f"training row {row} has {len(words)} words but {len(tags)} tags")
        for word, tag in zip(words, tags, strict=True):
            counts.setdefault(word.casefold(), Counter())[tag] += 1
    if not counts:
        raise ValueError("a baseline needs at least one training word")
    overall: Counter[str] = Counter()
    for count in counts.values():
        overall.update(count)
    most_common = _commonest(overall)
    known = {word: _commonest(count) for word, count in counts.items()}
    return [[known.get(word.casefold(), most_common) for word in words] for words in rows]


class _Segment(NamedTuple):
    start: int
    end: int
    form: str  # casefolded; " " for blanks of any kind and number


@dataclass(slots=True, eq=False)
class _Wording:
    """A node in the tree of remembered wordings: what training says of the pieces on the way from the root to here."""

    size: int = 0  # characters of those pieces
    longer: dict[str, _Wording] = field(default_factory=dict)  # the wordings with one more piece, by that piece
    labels: Counter[str] = field(default_factory=Counter)  # of the training spans with this wording, possibly none
    balance: int = 0  # occurrences in training that are spans, minus those that are not


def _remember(train: Sequence[tuple[str, Sequence[Span]]]) -> _Wording:
    """The root of the tree of all training spans' wordings."""
    memory = _Wording()
    rows: list[tuple[list[_Segment], set[tuple[int, int]]]] = []  # pieces, and the first and last piece of each span
    for row, (text, spans) in enumerate(train):
        _check_spans(row, text, spans)
        pieces = _pieces(text)
        located = _locate(text, pieces, spans)
        for first, last, label in located:
            _grow(memory, pieces[first : last + 1]).labels[label] += 1
        rows.append((pieces, {(first, last) for first, last, _ in located}))
    for pieces, bounds in rows:
        for first, last, wording in _occurrences(memory, pieces):
            wording.balance += 1 if (first, last) in bounds else -1
    return memory


def _check_spans(row: int, text: str, spans: Sequence[Span]) -> None:
    for start, end, _ in spans:
        if not 0 <= start < end <= len(text):
            raise ValueError(
                f"training row {row} has a span [{start}, {end}), but its text has {len(text)} characters; "
                "a span needs 0 <= start < end <= characters"
            )


def _locate(text: str, pieces: Sequence[_Segment], spans: Sequence[Span]) -> set[tuple[int, int, str]]:
    """First piece, last piece and label of each span, without blanks at its ends; none that cuts a word."""
    firsts = {piece.start: index for index, piece in enumerate(pieces)}
    lasts = {piece.end: index for index, piece in enumerate(pieces)}
    located = set()
    for start, end, label in spans:
        inner = text[start:end].strip()
        if inner:
            start += text[start:end].index(inner)
            first, last = firsts.get(start), lasts.get(start + len(inner))
            if first is not None and last is not None:
                located.add((first, last, label))
    return located


def _grow(memory: _Wording, pieces: Sequence[_Segment]) -> _Wording:
    """The node of these pieces, made if it is not there."""
    wording = memory
    for piece in pieces:
        if piece.form not in wording.longer:
            wording.longer[piece.form] = _Wording(wording.size + len(piece.form))
        wording = wording.longer[piece.form]
    return wording


def _mark(memory: _Wording, pieces: Sequence[_Segment]) -> list[Span]:
    """The spans of one text: occurrences of wordings that are spans as a rule, longest first and without overlaps."""
    most_common = [occurrence for occurrence in _occurrences(memory, pieces) if occurrence[2].balance >= 0]
    most_common.sort(key=lambda occurrence: (-occurrence[2].size, occurrence[0]))
    taken: set[int] = set()  # pieces
    marked: list[Span] = []
    for first, last, wording in most_common:
        covered = range(first, last + 1)
        if taken.isdisjoint(covered):
            taken.update(covered)
            marked.append((pieces[first].start, pieces[last].end, _commonest(wording.labels)))
    return sorted(marked)


def _occurrences(memory: _Wording, pieces: Sequence[_Segment]) -> Iterator[tuple[int, int, _Wording]]:
    """First piece, last piece and wording of every occurrence of a remembered span, overlapping ones too."""
    for first in range(len(pieces)):
        wording = memory
        for last in range(first, len(pieces)):
            following = wording.longer.get(pieces[last].form)
            if following is None:
                break
            wording = following
            if wording.labels:
                yield first, last, wording


def _pieces(text: str) -> list[_Segment]:
    return [
        _Segment(match.start(), match.end(), " " if match[0].isspace() else match[0].casefold())
        for match in _PIECE.finditer(text)
    ]


def _commonest(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))
