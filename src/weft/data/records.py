"""Plain data at the two ends of a model: what was read, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int, str]  # characters [start, end) of a text, and what they are
Relation = tuple[tuple[int, int], tuple[int, int], str]  # the characters of its head and of its tail, and what it is
Gold = str | tuple[str, ...] | float | tuple[Span, ...] | tuple[Relation, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A row of a corpus that was tokenized before, or the two sides of a pair, without special tokens."""

    ids: tuple[NDArray[np.int32], ...]
    begins_word: tuple[NDArray[np.bool_], ...]
    seed: tuple[int, ...]  # of what is masked in it
    tokens_below: NDArray[np.int64]  # (V + 1,) tokens of the corpus with a smaller id; what may replace a masked one


@dataclass(frozen=True, slots=True)
class Input:
    """What a task reads of one row: its text or the two texts of a pair, and what is known about its words."""

    texts: tuple[str, ...]
    words: tuple[tuple[int, int], ...] | None = field(default=None, kw_only=True)  # characters, where data has words
    spans: tuple[Span, ...] | None = field(default=None, kw_only=True)  # known already, for tasks that ask about them
    tokens: Tokens | None = field(default=None, kw_only=True)  # instead of texts, in a corpus


@dataclass(frozen=True, slots=True)
class Example(Input):
    """One row of a task with its gold answer."""

    gold: Gold
    line: int  # in the file it came from
    repairs: tuple[str, ...] = ()  # what `repair` has to say
