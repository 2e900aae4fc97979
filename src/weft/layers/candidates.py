"""All spans of up to so many words: which there are, and in which order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WordNumbers = NDArray[np.int64]


def candidates(words: int, max_width: int) -> tuple[WordNumbers, WordNumbers]:
    """The first and the last word of every span of a text, (R,) each, by first word and then by width."""
    sizes = np.minimum(max_width, np.arange(words, 0, -1))  # spans that begin at each word
    first = np.repeat(np.arange(words), sizes)
    width = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return first, first + width


def candidate_words(indices: WordNumbers, words: int, max_width: int) -> tuple[WordNumbers, WordNumbers]:
    """The first and the last word of some of the candidates of a text, (K,) each, without listing the others."""
    starts = np.cumsum(np.minimum(max_width, np.arange(words, 0, -1)))  # candidates up to each first word
    first = np.searchsorted(starts, indices, side="right")
    before = np.where(first > 0, starts[first - 1], 0)
    return first, first + indices - before


def count_candidates(words: int, max_width: int) -> int:
    """How many spans a text of so many words has."""
    wide = min(words, max_width)
    return wide * words - wide * (wide - 1) // 2


def candidate_index(first: int, last: int, words: int, max_width: int) -> int | None:
    """The index of a span among the candidates, None if it is too wide to be one."""
    width = last - first
    if width >= max_width:
        return None
    return count_candidates(words, max_width) - count_candidates(words - first, max_width) + width
