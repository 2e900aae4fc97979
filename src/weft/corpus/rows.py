"""The rows of a corpus as examples, made when they are asked for: nothing of a corpus is held in memory but its file.

What is masked in a row, or which sentence is put behind another, is drawn anew in every epoch, from the seed, the epoch
and the row alone; so a run that was interrupted goes on with the same draws.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from weft.corpus.corpus import Corpus
from weft.corpus.masking import Unigrams
from weft.corpus.pairs import sentence_pairs
from weft.data.dataset import Dataset, Prepare, Prepared
from weft.data.records import Example, Tokens
from weft.errors import DataError

T = TypeVar("T")

FOLLOWS, ELSEWHERE = "next", "elsewhere"
_DRAWS = 20


class ResampledRows(Dataset):
    """Examples that are drawn anew in every epoch; `special` is how many special tokens a row gets."""

    def __init__(self, corpus: Corpus, unigrams: Unigrams, seed: int, number: int, special: int) -> None:
        self.corpus, self.unigrams, self.number, self.special = corpus, unigrams, number, special
        self.seed = seed % 2**63  # generators take no negative seeds

    @abstractmethod
    def epoch(self, number: int) -> ResampledRows:
        """The same rows as another epoch draws them."""

    @abstractmethod
    def limited(self, size: int) -> ResampledRows:
        """So many of the rows, evenly spread."""

    @property
    @abstractmethod
    def lengths(self) -> NDArray[np.int64]:
        """The tokens of each row, special ones counted, (rows,)."""

    @property
    def fingerprint(self) -> int:
        lengths = np.ascontiguousarray(self.epoch(0).lengths)
        return zlib.crc32(lengths.tobytes(), zlib.crc32(self.corpus.tokens.data))

    def token_log_shares(self) -> NDArray[np.float64]:
        return self.corpus.log_shares()

    def prepare(self, prepare: Prepare[T], length: Callable[[T], int]) -> Prepared[T]:
        return _PreparedAnew(self, prepare, self.lengths.tolist())

    def _tokens(self, bounds: Sequence[tuple[int, int]], row: int) -> Tokens:
        """The tokens [start, end) of the parts of a row."""
        return Tokens(
            tuple(self.corpus.tokens[start:end] for start, end in bounds),
            tuple(self.corpus.begins_word[start:end] for start, end in bounds),
            (self.seed, self.number, row),
            self.unigrams.below,
        )


@dataclass(frozen=True)
class _PreparedAnew(Prepared[T], Generic[T]):
    rows: ResampledRows
    make: Prepare[T]
    lengths: Sequence[int]

    def epoch(self, number: int) -> Prepared[T]:
        rows = self.rows.epoch(number)
        return _PreparedAnew(rows, self.make, rows.lengths.tolist())

    def take(self, indices: Sequence[int]) -> list[T]:
        return self.make(self.rows.take(indices))


class CorpusRows(ResampledRows):
    """Stretches of documents, as many tokens as fit."""

    def __init__(
        self,
        corpus: Corpus,
        unigrams: Unigrams,
        seed: int,
        number: int = 0,
        special: int = 0,
        chosen: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(corpus, unigrams, seed, number, special)
        self.chosen = np.arange(len(corpus)) if chosen is None else chosen  # which rows of the corpus

    def __len__(self) -> int:
        return len(self.chosen)

    def epoch(self, number: int) -> CorpusRows:
        return CorpusRows(self.corpus, self.unigrams, self.seed, number, self.special, self.chosen)

    def limited(self, size: int) -> CorpusRows:
        chosen = self.chosen[np.arange(size) * len(self) // size]
        return CorpusRows(self.corpus, self.unigrams, self.seed, self.number, self.special, chosen)

    @property
    def lengths(self) -> NDArray[np.int64]:
        bounds = self.corpus.rows[self.chosen]
        return np.asarray(bounds[:, 1] - bounds[:, 0] + self.special)

    def example(self, row: int) -> Example:
        number = int(self.chosen[row])
        start, end = self.corpus.rows[number]
        return Example((), (), number + 1, tokens=self._tokens([(start, end)], number))


class PairRows(ResampledRows):
    """Pairs of stretches, half of which follow one another in their document; `file` is what an error names."""

    def __init__(
        self,
        corpus: Corpus,
        unigrams: Unigrams,
        seed: int,
        max_tokens: int,
        number: int = 0,
        special: int = 0,
        limit: int = 0,
        file: str | None = None,
    ) -> None:
        super().__init__(corpus, unigrams, seed, number, special)
        self.max_tokens, self.limit, self.file = max_tokens, limit, file
        rng = np.random.default_rng((self.seed, number))
        pairs = self._draw(rng)
        self.pairs = pairs if not limit else pairs[np.sort(rng.permutation(len(pairs))[:limit])]

    def _draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """The pairs; drawn again where a very small corpus came out with every document as one stretch."""
        documents = self.corpus.sentence_documents
        for _ in range(_DRAWS if documents[0] != documents[-1] else 0):
            with suppress(DataError):
                return sentence_pairs(self.corpus.sentences, documents, self.max_tokens, rng)
        return sentence_pairs(self.corpus.sentences, documents, self.max_tokens, rng, file=self.file)

    def __len__(self) -> int:
        return len(self.pairs)

    def epoch(self, number: int) -> PairRows:
        return self._as(number, self.limit)

    def limited(self, size: int) -> PairRows:
        return self._as(self.number, size)

    def _as(self, number: int, limit: int) -> PairRows:
        options = (self.seed, self.max_tokens, number, self.special, limit, self.file)
        return PairRows(self.corpus, self.unigrams, *options)

    @property
    def lengths(self) -> NDArray[np.int64]:
        pairs = self.pairs
        return np.asarray(pairs[:, 1] - pairs[:, 0] + pairs[:, 3] - pairs[:, 2] + self.special)

    def example(self, row: int) -> Example:
        start, end, second_start, second_end, follows = (int(value) for value in self.pairs[row])
        tokens = self._tokens([(start, end), (second_start, second_end)], row)
        return Example((), FOLLOWS if follows else ELSEWHERE, row + 1, tokens=tokens)
