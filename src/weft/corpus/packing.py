"""Sentences packed to rows of tokens that are as full as may be."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from weft.tokenization.examples import Integers

_CHUNK = 1 << 16  # sentences that are packed at a time


def pack_rows(
    offsets: Integers, documents: Integers, max_tokens: int, begins_word: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Rows as first token and end, (N, 2); every token is in exactly one, and no row crosses documents.

    Consecutive sentences of a document are joined while the next fits into the row. A sentence longer than a row is
    cut into full rows, before a word where the words are known, and what is left of it is joined to what follows.

    Args:
        offsets: token offsets, (S + 1,): sentence i is the tokens from offsets[i] to offsets[i + 1].
        documents: the document of each sentence, (S,), equal ones together.
        max_tokens: tokens of a row, at least 1.
        begins_word: (T,), whether a token begins a word.
    """
    starts, start = array("q"), 0
    for begin, end, opens in _walk(offsets, documents):
        while begin < end:
            size = end - begin if end - begin <= max_tokens else _before_word(begin, max_tokens, begins_word)
            if opens or begin + size - start > max_tokens:
                starts.append(begin)
                start = begin
            begin, opens = begin + size, False
    first = np.array(starts, np.int64)
    return np.stack([first, np.append(first, offsets[-1])[1:]], axis=1, dtype=np.int64)


def _walk(offsets: Integers, documents: Integers) -> Iterator[tuple[int, int, bool]]:
    """Each sentence's first token and end, and whether it opens a document.

    A chunk at a time, as plain numbers are quick to go through but large.
    """
    for first in range(0, len(documents), _CHUNK):
        bounds, of = offsets[first : first + _CHUNK + 1].tolist(), documents[first : first + _CHUNK]
        opens = np.append(not first or of[0] != documents[first - 1], of[1:] != of[:-1]).tolist()
        yield from zip(bounds[:-1], bounds[1:], opens, strict=True)


def _before_word(at: int, max_tokens: int, begins_word: NDArray[np.bool_] | None) -> int:
    """How many tokens from `at` on make up a row that ends before a word; `max_tokens` where one word fills it all."""
    if begins_word is None:
        return max_tokens
    starts = np.flatnonzero(begins_word[at + 1 : at + max_tokens + 1])
    return int(starts[-1]) + 1 if len(starts) else max_tokens
