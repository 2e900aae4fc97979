"""The rows of a corpus as examples, made when they are asked for: nothing of a corpus is held in memory but its file.

What is masked in a row, or which sentence is put behind another, is drawn anew on every turn over the corpus, from the
seed, the turn and the row alone; so a run that was interrupted goes on with the same draws.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import overload

import numpy as np
from numpy.typing import NDArray

from weft.corpus.corpus import Corpus
from weft.corpus.masking import Unigrams
from weft.corpus.pairs import sentence_pairs
from weft.data.records import Example, Tokens
from weft.errors import DataError

FOLLOWS, ELSEWHERE = "next", "elsewhere"
_DRAWS = 20


class ResampledRows(Sequence[Example]):
    """Examples that are drawn anew on every turn."""

    def __init__(self, corpus: Corpus, unigrams: Unigrams, seed: int, epoch: int) -> None:
        self.corpus, self.unigrams, self.epoch = corpus, unigrams, epoch
        self.seed = seed % 2**63  # generators take no negative seeds

    @abstractmethod
    def at_epoch(self, epoch: int) -> ResampledRows:
        """The same rows as another turn draws them."""

    @abstractmethod
    def lengths(self) -> list[int]:
        """The tokens of each row, special ones not counted."""

    @abstractmethod
    def example(self, row: int) -> Example:
        """One of the rows, counted from 0."""

    @property
    def fingerprint(self) -> int:
        """A number that changes when the corpus does."""
        return zlib.crc32(np.ascontiguousarray(self.lengths()).tobytes(), zlib.crc32(self.corpus.tokens.data))

    @overload
    def __getitem__(self, place: int) -> Example: ...
    @overload
    def __getitem__(self, place: slice) -> list[Example]: ...
    def __getitem__(self, place: int | slice) -> Example | list[Example]:
        if isinstance(place, slice):
            return [self.example(row) for row in range(*place.indices(len(self)))]
        return self.example(range(len(self))[place])

    def __iter__(self) -> Iterator[Example]:
        return (self.example(row) for row in range(len(self)))


class CorpusRows(ResampledRows):
    """Stretches of documents, as many tokens as fit."""

    def __init__(
        self, corpus: Corpus, unigrams: Unigrams, seed: int, epoch: int = 0, places: NDArray[np.int64] | None = None
    ) -> None:
        super().__init__(corpus, unigrams, seed, epoch)
        self.places = np.arange(len(corpus)) if places is None else places

    def __len__(self) -> int:
        return len(self.places)

    def at_epoch(self, epoch: int) -> CorpusRows:
        return CorpusRows(self.corpus, self.unigrams, self.seed, epoch, self.places)

    def lengths(self) -> list[int]:
        bounds = self.corpus.rows[self.places]
        lengths: list[int] = (bounds[:, 1] - bounds[:, 0]).tolist()
        return lengths

    def example(self, row: int) -> Example:
        place = int(self.places[row])
        tokens = Tokens(
            (self.corpus.ids(place),),
            (self.corpus.word_starts(place),),
            (self.seed, self.epoch, place),
            self.unigrams,
        )
        return Example((), (), place + 1, tokens=tokens)


class PairRows(ResampledRows):
    """Pairs of stretches, half of which follow one another in their document; `file` is what an error names."""

    def __init__(
        self,
        corpus: Corpus,
        unigrams: Unigrams,
        seed: int,
        max_tokens: int,
        epoch: int = 0,
        limit: int = 0,
        file: str | None = None,
    ) -> None:
        super().__init__(corpus, unigrams, seed, epoch)
        self.max_tokens, self.limit, self.file = max_tokens, limit, file
        rng = np.random.default_rng((self.seed, epoch))
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

    def at_epoch(self, epoch: int) -> PairRows:
        return PairRows(self.corpus, self.unigrams, self.seed, self.max_tokens, epoch, self.limit, self.file)

    def lengths(self) -> list[int]:
        pairs = self.pairs
        lengths: list[int] = (pairs[:, 1] - pairs[:, 0] + pairs[:, 3] - pairs[:, 2]).tolist()
        return lengths

    def example(self, row: int) -> Example:
        a, end_a, b, end_b, follows = (int(value) for value in self.pairs[row])
        cuts = (slice(a, end_a), slice(b, end_b))
        tokens = Tokens(
            tuple(self.corpus.tokens[cut] for cut in cuts),
            tuple(self.corpus.begins_word[cut] for cut in cuts),
            (self.seed, self.epoch, row),
            self.unigrams,
        )
        return Example((), FOLLOWS if follows else ELSEWHERE, row + 1, tokens=tokens)
