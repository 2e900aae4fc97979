"""Words, the characters they cover and the tokens they consist of."""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from weft.tokenization.tokenizer import TokenizedRow

_JOINERS = "\u200c\u200d"


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The U words of one text in order, of P tokens together; no two share a character or a token."""

    char_starts: array[int]  # (U,) first character
    char_ends: array[int]  # (U,) one after the last character
    sizes: NDArray[np.int32]  # (U,) how many tokens, at least one
    positions: NDArray[np.int32]  # (P,) where in the row the tokens of the words are, word by word

    def __len__(self) -> int:
        return len(self.char_starts)

    def tokens(self) -> list[list[int]]:
        """The positions of each word's tokens, ascending."""
        ends = np.cumsum(self.sizes)
        return [part.tolist() for part in np.split(self.positions, ends[:-1])] if len(ends) else []


@dataclass(frozen=True, slots=True)
class TextWord:
    """A word of a row: which of its texts, which characters, which tokens."""

    text: int
    start: int
    end: int
    tokens: list[int]


def join_words(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """One text with a blank between words, and the characters [start, end) of every word in it."""
    spans = []
    start = 0
    for word in words:
        spans.append((start, start + len(word)))
        start += len(word) + 1
    return " ".join(words), tuple(spans)


def find_words(row: TokenizedRow, given: Sequence[tuple[int, int]] | None = None) -> Words:
    """The words of a single text that was encoded with offsets.

    Without `given` they are the tokenizer's own; those that share a character, as when "…" is read as three full stops,
    are one. With `given`, the characters [start, end) of words, ascending and disjoint, a token belongs to the word in
    which it starts. Given words without any token, whose characters the tokenizer dropped, are left out, and so are
    tokens of no given word and tokens without characters.
    """
    return _own_words(row) if given is None else _given_words(row, given)


def word_range(words: Words, start: int, end: int) -> tuple[int, int] | None:
    """The words [first, last + 1) that share at least one character with the characters [start, end), if any do."""
    first, stop = bisect_right(words.char_ends, start), bisect_left(words.char_starts, end)
    return (first, stop) if start < end and first < stop else None


def whole_words(row: TokenizedRow, texts: Sequence[str]) -> list[TextWord]:
    """The words of all texts of a row, of whole characters: those that part an accent from its letter are joined."""
    words: list[TextWord] = []
    for start, end, tokens in row.word_groups():
        which = int(row.texts[tokens[0]])
        text = texts[which]
        last = words[-1] if words and words[-1].text == which else None
        while end < len(text) and continues(text, end):
            end += 1
        if last is not None and start < last.end:  # the word before already took in this one's accent
            words[-1] = TextWord(which, last.start, max(last.end, end), [*last.tokens, *tokens])
        else:
            words.append(TextWord(which, start, end, tokens))
    return words


def continues(text: str, index: int) -> bool:
    """Whether the character at an index belongs to the one before it: accents, joiners, skin tones and flags' tags."""
    letter = text[index]
    return (
        unicodedata.category(letter).startswith("M")
        or letter in _JOINERS
        or "\U0001f3fb" <= letter <= "\U0001f3ff"
        or "\U000e0020" <= letter <= "\U000e007f"
        or (text[index - 1] == _JOINERS[1] and unicodedata.category(letter) == "So")
    )


def _own_words(row: TokenizedRow) -> Words:
    starts: list[int] = []
    ends: list[int] = []
    tokens: list[list[int]] = []
    for start, end, positions in row.word_groups():
        if ends and start < ends[-1]:
            ends[-1] = max(ends[-1], end)
            tokens[-1] += positions
        else:
            starts.append(start)
            ends.append(end)
            tokens.append(positions)
    sizes = np.fromiter(map(len, tokens), np.int32, len(tokens))
    flat = np.fromiter(chain.from_iterable(tokens), np.int32, int(sizes.sum()))
    return Words(array("i", starts), array("i", ends), sizes, flat)


def _given_words(row: TokenizedRow, given: Sequence[tuple[int, int]]) -> Words:
    starts, ends = np.array(given, np.int64).reshape(-1, 2).T
    number = np.searchsorted(starts, row.offsets[:, 0], side="right") - 1
    inside = (row.texts >= 0) & (row.offsets[:, 0] < row.offsets[:, 1]) & (number >= 0)
    inside[inside] = row.offsets[inside, 0] < ends[number[inside]]
    positions = np.flatnonzero(inside)
    positions = positions[np.argsort(number[positions], kind="stable")]
    numbers, sizes = np.unique(number[positions], return_counts=True)
    return Words(
        array("i", starts[numbers].tolist()),
        array("i", ends[numbers].tolist()),
        sizes.astype(np.int32),
        positions.astype(np.int32),
    )
