"""What a tokenizer makes of an example: its rows of tokens, and where its words lie in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.data.records import Input
from weft.tokenization.tokenizer import TokenizedRow, Tokenizer
from weft.tokenization.windows import cut_windows, deciding_windows
from weft.tokenization.words import Words, find_words

Integers = NDArray[np.integer[Any]]

_WHOLE = 10**9  # tokens, so that nothing is cut


@dataclass(frozen=True, slots=True, eq=False)
class SubWords:
    """Every token of every word of a text, in order: P tokens of U words.

    A text longer than a row is read in overlapping windows, and each word where it has most context; whoever looks at
    sub-words does not see that there were windows.
    """

    words: Words
    position: NDArray[np.int32]  # (P,) where each token is in the row it is read in
    window: NDArray[np.int32] | None = None  # (P,) which row that is; None where there is only one

    def __len__(self) -> int:
        """The words."""
        return len(self.words)

    @property
    def count(self) -> int:
        """The tokens, P."""
        return len(self.position)

    @property
    def row(self) -> NDArray[np.int32]:
        """The row each token is read in, (P,)."""
        return np.zeros(self.count, np.int32) if self.window is None else self.window

    @property
    def word(self) -> NDArray[np.int64]:
        """The word each token belongs to, (P,)."""
        return np.repeat(np.arange(len(self.words)), self.words.sizes)


@dataclass(frozen=True, slots=True, eq=False)
class MaskedTokens:
    """The M positions of a row at which a token was masked."""

    positions: Integers  # (M,)
    gold: Integers | None = None  # (M,) what stood there, where that is known
    outside: Integers | None = None  # (M, 2) the positions just outside the span of each
    offset: Integers | None = None  # (M,) how far into its span each is
    vocabulary: Sequence[str] = ()  # the token of every id


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedExample:
    """An example as a task reads it."""

    input: Input
    rows: Sequence[TokenizedRow]
    sub_words: SubWords | None = field(default=None)  # for tasks that ask about words
    masked: MaskedTokens | None = field(default=None)  # for tasks that ask what was masked

    def without_offsets(self) -> TokenizedExample:
        """The same without what is known about the characters of single tokens."""
        return replace(self, rows=tuple(row.without_offsets() for row in self.rows))

    @property
    def dropped(self) -> int:
        """Tokens that did not fit."""
        return sum(row.dropped for row in self.rows)

    @property
    def tokens(self) -> int:
        """The tokens of all rows."""
        return sum(len(row) for row in self.rows)

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
    whole = tokenizer.encode([input.texts[0] for input in inputs], max_length=_WHOLE, offsets=True)
    tokenized = [_in_windows(input, row, max_length, overlap) for input, row in zip(inputs, whole, strict=True)]
    return tokenized if tokenizer.keeps_offsets else [example.without_offsets() for example in tokenized]


def number_words(tokenized: Sequence[TokenizedExample]) -> NDArray[np.int64]:
    """The word of each sub-word of several texts end to end, (P,), counted through."""
    sizes = np.concatenate([example.words.sizes for example in tokenized])
    return np.repeat(np.arange(len(sizes)), sizes)


def _in_windows(input: Input, whole: TokenizedRow, max_length: int, overlap: int) -> TokenizedExample:
    words = find_words(whole, input.words)
    if len(whole) <= max_length:
        return TokenizedExample(input, (whole,), SubWords(words, words.positions))
    windows = cut_windows(whole, max_length, overlap)
    window, position = (column[words.positions].astype(np.int32) for column in deciding_windows(whole, windows))
    return TokenizedExample(input, tuple(window.row for window in windows), SubWords(words, position, window))
