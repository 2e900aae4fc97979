"""What a tokenizer makes of an example: its rows of tokens, and where its words lie in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.data.records import Input
from weft.tokenization.tokenizer import TokenizedRow, Tokenizer
from weft.tokenization.windows import cut_windows, owners
from weft.tokenization.words import Words, find_words

Integers = NDArray[np.integer[Any]]

_WHOLE = 10**9  # tokens, so that nothing is cut


@dataclass(frozen=True, slots=True)
class SubWords:
    """Every token of every word of a text, in order: P tokens of U words.

    A text longer than a row is read in overlapping windows, and each word where it has most context; whoever looks at
    sub-words does not see that there were windows.
    """

    words: Words
    word: NDArray[np.int64]  # (P,) the word each token belongs to
    row: NDArray[np.int64]  # (P,) the row it is read in
    place: NDArray[np.int64]  # (P,) and its place there

    def __len__(self) -> int:
        """The words."""
        return len(self.words.char_starts)


@dataclass(frozen=True, slots=True, eq=False)
class MaskedTokens:
    """The M places of a row at which a token was masked."""

    places: Integers  # (M,)
    gold: Integers | None  # (M,) what stood there, where that is known
    spell: Callable[[int], str | None]  # the token of an id
    outside: Integers | None = None  # (M, 2) the places beside each one's span
    offset: Integers | None = None  # (M,) how far into its span each one is


@dataclass(frozen=True, slots=True)
class TokenizedExample:
    """An example as a task reads it."""

    input: Input
    rows: list[TokenizedRow]
    sub_words: SubWords | None = field(default=None)  # for tasks that ask about words
    masked: MaskedTokens | None = field(default=None)  # for tasks that ask what was masked

    @property
    def dropped(self) -> int:
        """Tokens that did not fit."""
        return sum(row.dropped for row in self.rows)

    @property
    def tokens(self) -> int:
        return sum(len(row.ids) for row in self.rows)

    @property
    def words(self) -> Words:
        """The words of an example that was read by words."""
        return self.by_word.words

    @property
    def by_word(self) -> SubWords:
        """The sub-words of an example that was read by words."""
        assert self.sub_words is not None
        return self.sub_words


def read_words(inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int, overlap: int) -> list[TokenizedExample]:
    """Single texts with all their words, in as many rows as that takes."""
    whole = tokenizer.encode([one.texts[0] for one in inputs], max_length=_WHOLE, offsets=True)
    return [_in_windows(input, row, max_length, overlap) for input, row in zip(inputs, whole, strict=True)]


def number_words(tokenized: Sequence[TokenizedExample]) -> NDArray[np.int64]:
    """The word of each sub-word of several texts end to end, (P,), counted through."""
    first = np.cumsum([0, *(len(tokenized_example.by_word) for tokenized_example in tokenized)])
    return np.concatenate(
        [tokenized_example.by_word.word + begin for tokenized_example, begin in zip(tokenized, first, strict=False)]
    )


def _in_windows(input: Input, whole: TokenizedRow, max_length: int, overlap: int) -> TokenizedExample:
    words = find_words(whole, input.words)
    if len(whole.ids) <= max_length:
        places = list(chain.from_iterable(words.tokens))
        return TokenizedExample(input, [whole], _sub_words(words, [0] * len(places), places))
    windows = cut_windows(whole, max_length, overlap)
    owned = owners(whole, windows)
    found = [owned[place] for place in chain.from_iterable(words.tokens)]
    rows, places = [row for row, _ in found], [place for _, place in found]
    return TokenizedExample(input, [window.row for window in windows], _sub_words(words, rows, places))


def _sub_words(words: Words, rows: list[int], places: list[int]) -> SubWords:
    sizes = np.array([len(tokens) for tokens in words.tokens], dtype=np.int64)
    word = np.repeat(np.arange(len(sizes)), sizes)
    return SubWords(words, word, np.array(rows, dtype=np.int64), np.array(places, dtype=np.int64))
