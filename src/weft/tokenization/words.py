"""Words, the characters they cover and the tokens they consist of."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from weft.tokenization.tokenizer import TokenizedRow


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one text in order, with one entry per word in every list; no two share a character."""

    char_starts: list[int]  # first character
    char_ends: list[int]  # one after the last character
    tokens: list[list[int]]  # places of its tokens in the row, ascending, at least one
    numbers: list[int]  # which of the given words it is; without given words 0, 1, 2, ...


def join_words(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """One text with a blank between words, and the characters [start, end) of every word in it."""
    spans = []
    start = 0
    for word in words:
        spans.append((start, start + len(word)))
        start += len(word) + 1
    return " ".join(words), tuple(spans)


def find_words(encoded: TokenizedRow, given: Sequence[tuple[int, int]] | None = None) -> Words:
    """The words of a single text that was encoded with offsets.

    Without `given` they are the tokenizer's own; those that share a character, as when "…" is read as three full stops,
    are one. With `given`, the characters [start, end) of words, ascending and disjoint, a token belongs to the word in
    which it starts. Given words without any token, whose characters the tokenizer dropped, are left out, and so are
    tokens of no given word and tokens without characters.
    """
    return _own_words(encoded) if given is None else _given_words(encoded, given)


def word_range(words: Words, start: int, end: int) -> tuple[int, int] | None:
    """The words [first, last + 1) that share at least one character with the characters [start, end), if any do."""
    first, stop = bisect_right(words.char_ends, start), bisect_left(words.char_starts, end)
    return (first, stop) if start < end and first < stop else None


def _own_words(encoded: TokenizedRow) -> Words:
    starts: list[int] = []
    ends: list[int] = []
    tokens: list[list[int]] = []
    for start, end, places in encoded.word_groups():
        if ends and start < ends[-1]:
            ends[-1] = max(ends[-1], end)
            tokens[-1] += places
        else:
            starts.append(start)
            ends.append(end)
            tokens.append(list(places))
    return Words(starts, ends, tokens, list(range(len(starts))))


def _given_words(encoded: TokenizedRow, given: Sequence[tuple[int, int]]) -> Words:
    begins = [start for start, _ in given]
    tokens: dict[int, list[int]] = {}
    for place, (text, (start, end)) in enumerate(zip(encoded.texts, encoded.offsets, strict=True)):
        number = bisect_right(begins, start) - 1
        if text is not None and start < end and number >= 0 and start < given[number][1]:
            tokens.setdefault(number, []).append(place)
    numbers = sorted(tokens)
    return Words(
        [given[number][0] for number in numbers],
        [given[number][1] for number in numbers],
        [tokens[number] for number in numbers],
        numbers,
    )
