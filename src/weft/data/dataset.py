"""A task's rows: stored as they were read, or drawn anew in every epoch.

Whoever trains on them does not ask which: rows say what they are in an epoch, how long they are, and whether what is
made of them can be kept.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from weft.data.records import Example

T = TypeVar("T")
Prepare = Callable[[Sequence[Example]], list[T]]  # what training needs of each example


class Prepared(ABC, Generic[T]):
    """What training makes of rows, in one epoch."""

    lengths: Sequence[int]  # tokens of each row

    @abstractmethod
    def epoch(self, number: int) -> Prepared[T]:
        """The same in another epoch."""

    @abstractmethod
    def take(self, indices: Sequence[int]) -> list[T]:
        """What was made of some rows."""


class Dataset(Sequence[Example]):
    """A task's rows, as they are in one epoch."""

    @property
    @abstractmethod
    def fingerprint(self) -> int:
        """A number that changes when the rows or their answers do."""

    @abstractmethod
    def example(self, row: int) -> Example:
        """One of the rows, counted from 0."""

    @abstractmethod
    def prepare(self, prepare: Prepare[T], length: Callable[[T], int]) -> Prepared[T]:
        """What `prepare` makes of the rows, and the tokens of each."""

    def epoch(self, number: int) -> Dataset:
        """The same rows as another epoch has them."""
        return self

    def take(self, indices: Sequence[int]) -> list[Example]:
        """Some of the rows."""
        return [self.example(row) for row in indices]

    def token_log_shares(self) -> NDArray[np.float64] | None:
        """The logarithm of each token's share of all tokens, (V,), for rows of raw text."""
        return None

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        if isinstance(index, slice):
            return self.take(range(*index.indices(len(self))))
        return self.example(range(len(self))[index])

    def __iter__(self) -> Iterator[Example]:
        return (self.example(row) for row in range(len(self)))


class StoredRows(Dataset):
    """Rows that are the same in every epoch, so that what is made of them is made once."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def fingerprint(self) -> int:
        total = 0
        for row in self.examples:
            content = repr((row.texts, row.words, row.spans, row.gold))
            total = zlib.crc32(content.encode(errors="surrogatepass"), total)
        return total

    def example(self, row: int) -> Example:
        return self.examples[row]

    def prepare(self, prepare: Prepare[T], length: Callable[[T], int]) -> Prepared[T]:
        rows = prepare(self.examples)
        return _PreparedOnce(rows, [length(row) for row in rows])


@dataclass(frozen=True)
class _PreparedOnce(Prepared[T]):
    rows: list[T]
    lengths: Sequence[int]

    def epoch(self, number: int) -> Prepared[T]:
        return self

    def take(self, indices: Sequence[int]) -> list[T]:
        return [self.rows[row] for row in indices]


@dataclass(frozen=True)
class Splits:
    """A task's rows: to learn from, to choose by, and to report on (`test` may be empty)."""

    train: Dataset
    dev: Dataset
    test: Dataset

    @property
    def report(self) -> tuple[str, Dataset]:
        """The rows to report on, with their name."""
        return ("test", self.test) if self.test else ("dev", self.dev)
