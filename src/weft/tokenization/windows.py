"""A row that is too long for the encoder as several rows that overlap, and which of them decides about which token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from weft.errors import ConfigError
from weft.tokenization.tokenizer import TokenizedRow

T = TypeVar("T")
Stretch = tuple[int, int]  # tokens [start, end) of the whole row


@dataclass(frozen=True, slots=True)
class Window:
    """Part of a row as a row of its own, special tokens included."""

    row: TokenizedRow
    places: list[int]  # of every token of the window in the whole row


def cut_windows(encoded: TokenizedRow, limit: int, overlap: int) -> list[Window]:
    """Cover the row of a single text, encoded with offsets, by windows of at most `limit` tokens.

    A row that fits is one window. Otherwise every window has the special tokens at either end of the row, and two
    neighbours share `overlap` tokens, or fewer where a word would be cut; at most half of the room is shared. Only
    words longer than a window are ever cut. The last window begins early enough to be as full as the others.
    """
    size = len(encoded.ids)
    if size <= limit:
        return [_take(encoded, list(range(size)))]
    first, stop = _text(encoded)
    max_tokens = limit - first - (size - stop)
    if max_tokens < 1:
        raise ConfigError(
            f"a window of {limit} tokens leaves no room for text beside {limit - max_tokens} special tokens"
        )
    stretches = _stretches(_words(encoded), (first, stop), max_tokens, max(0, min(overlap, max_tokens // 2)))
    return [_take(encoded, [*range(first), *range(*stretch), *range(stop, size)]) for stretch in stretches]


def owners(encoded: TokenizedRow, windows: Sequence[Window]) -> list[tuple[int, int]]:
    """For each token of the row the window that decides about it, and its place in that window.

    It is the window in which the token's word is whole and farthest from the nearer end of the stretch of text, an end
    of the whole text being no end; the earlier one of equals. So the tokens of a word have the same window, unless no
    window holds all of it: then each token is taken by itself. Special tokens belong to the first window.
    """
    text, words = _text(encoded), _words(encoded)
    chosen = [(0, 0)] * len(words)
    for inside, place in enumerate(windows[0].places):
        chosen[place] = (0, inside)
    best: list[tuple[bool, float]] = [(False, -1)] * len(words)
    for number, window in enumerate(windows):
        places = [place for place in window.places if text[0] <= place < text[1]]
        for inside, place in enumerate(places, text[0]):
            context = _context(place, words[place], (places[0], places[-1] + 1), text)
            if context > best[place]:
                best[place], chosen[place] = context, (number, inside)
    return chosen


def _context(place: int, word: Stretch, stretch: Stretch, text: Stretch) -> tuple[bool, float]:
    """Whether a window's stretch holds the word of a token, and how far the word (else the token) is from its ends."""
    whole = stretch[0] <= word[0] and word[1] <= stretch[1]
    start, end = word if whole else (place, place + 1)
    before = inf if stretch[0] == text[0] else start - stretch[0]
    after = inf if stretch[1] == text[1] else stretch[1] - end
    return whole, min(before, after)


def _text(encoded: TokenizedRow) -> Stretch:
    """The tokens between the special ones at either end of the row."""
    places = [place for place, text in enumerate(encoded.texts) if text is not None]
    return (places[0], places[-1] + 1) if places else (len(encoded.ids), len(encoded.ids))


def _words(encoded: TokenizedRow) -> list[Stretch]:
    """For each token the tokens of its word; a token without a word is alone."""
    spans: list[Stretch] = []
    start = 0
    for end, word in enumerate(encoded.words, 1):
        if end == len(encoded.words) or word is None or encoded.words[end] != word:
            spans += [(start, end)] * (end - start)
            start = end
    return spans


def _stretches(words: Sequence[Stretch], text: Stretch, max_tokens: int, overlap: int) -> list[Stretch]:
    """Cover a text that is longer than `room`; every stretch begins and ends after the one before."""
    stop = text[1]

    def cuts(place: int) -> bool:
        """Whether a word that fits into a window would be cut before this place."""
        start, end = words[place]
        return start < place and end - start <= max_tokens

    stretches: list[Stretch] = []
    start = text[0]
    while start + max_tokens < stop:
        end = start + max_tokens
        if cuts(end):
            end = words[end][0]
        stretches.append((start, end))
        begins, ends = words[end]
        start = end - overlap
        if ends - begins <= max_tokens:
            start = max(
                start, ends - max_tokens
            )  # the next word must fit, or the next stretch would end where this one does
        if cuts(start):
            start = words[start][1]
    start = stop - max_tokens
    return [*stretches, (words[start][1] if cuts(start) else start, stop)]


def _take(encoded: TokenizedRow, places: list[int]) -> Window:
    def pick(column: Sequence[T]) -> list[T]:
        return [column[place] for place in places]

    ids, segments = pick(encoded.ids), pick(encoded.segments)
    return Window(
        TokenizedRow(ids, segments, 0, pick(encoded.offsets), pick(encoded.texts), pick(encoded.words)), places
    )
