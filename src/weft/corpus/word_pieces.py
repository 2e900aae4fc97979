"""WordPiece as it was first described: each new piece is the one that raises the likelihood of the corpus the most.

The likelihood is that of a unigram model of the pieces. With c(u) for how often the corpus, as it is cut now, has the
piece u, and N for the sum of all c(u), its logarithm is

    log L  =  sum of c(u) log(c(u) / N) over all u  =  sum of f(c(u)) - f(N),    f(x) = x log x

Where m neighbours a, b become the piece ab, the corpus has m of ab, m fewer of a and of b, and m fewer pieces in all:

    increase  =  f(m) + [f(c(a) - m) - f(c(a))] + [f(c(b) - m) - f(c(b))] + [f(N) - f(N - m)]

which is what is compared here. It is about m (log(m N / (c(a) c(b))) - 1) for rare pairs. The quotient m / (c(a) c(b)),
which is often called WordPiece's score, is a part of it, the increase per occurrence: it prefers letters that were met
once, and together, to any frequent pair.

    Schuster, Nakajima: Japanese and Korean voice search. ICASSP 2012.

Two pairs never spell the same piece, and no pair spells a piece that is known: as joins are made everywhere at once,
what a stretch of letters is cut into does not depend on what stands around it, as long as no piece crosses its ends. So
a pair stands for its piece.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

INSIDE = "##"  # before a piece that does not begin its word
EQUAL = 1e-9  # increases that differ by less, in relation to their size, are equal but for rounding

Pair = tuple[int, int]
Increases = NDArray[np.float64]


def likeliest_pieces(counts: Mapping[str, int], min_frequency: int = 1) -> Iterator[str]:
    """New pieces, each the one that raises the likelihood of the counted words the most, beginning with their letters.

    Ends where no pair that stands side by side `min_frequency` times raises it. Of equal pairs the first by the
    spelling of its two pieces is taken, so the order of the words does not matter.
    """
    corpus = _CutWords(counts)
    candidates = _Candidates(min_frequency)
    corpus.forget(candidates.change(corpus.pairs(), corpus, ()))
    while (pair := candidates.best(corpus)) is not None:
        yield corpus.spellings[corpus.join(pair, candidates)]


def increase(joins: Any, first: Any, second: Any, total: Any, same: Any) -> Increases:
    """How much the log-likelihood of a corpus rises where pairs of neighbours become pieces; element by element.

    Written without differences of large numbers, so that pairs of any corpus can be told apart.

    Args:
        joins: how many pairs are joined; of `a a a`, one.
        first: how often the corpus has the first piece of the pair.
        second: how often it has the second.
        total: how many pieces the corpus has.
        same: whether both are the same piece, of which a join then takes two.
    """
    joins, first, second = (np.asarray(values, np.float64) for values in (joins, first, second))
    taken = np.where(same, 2 * joins, joins)
    rest = _shrunk(first, taken) + np.where(same, 0.0, _shrunk(second, joins)) - _shrunk(np.float64(total), joins)
    return np.asarray(joins * np.log(joins / first * (total / second)) + rest)


def _shrunk(whole: Any, part: Any) -> Any:
    """(whole - part) * log((whole - part) / whole), which is 0 where nothing is left."""
    left = whole - part
    return left * np.log1p(-np.where(left > 0, part, 0.0) / whole)


class _CutWords:
    """Distinct words in pieces, how often each occurs, and in which of them two pieces stand side by side."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        words = [([word[0], *(INSIDE + letter for letter in word[1:])], n) for word, n in counts.items() if word and n]
        self.spellings = sorted({letter for letters, _ in words for letter in letters})
        numbers = {spelling: number for number, spelling in enumerate(self.spellings)}
        self.words = [[numbers[letter] for letter in letters] for letters, _ in words]
        self.frequencies = [frequency for _, frequency in words]
        counted = [0] * len(numbers)
        for word, frequency in zip(self.words, self.frequencies, strict=True):
            for piece in word:
                counted[piece] += frequency
        self.counts = np.array(counted, np.int64)
        self.total = sum(counted)
        self.places: dict[Pair, list[int]] = {}  # words that have, or once had, the pair

    def pairs(self) -> dict[Pair, int]:
        """How often each pair of neighbours can be joined."""
        found: dict[Pair, int] = defaultdict(int)
        for number, word in enumerate(self.words):
            for pair in joinable(word):
                found[pair] += self.frequencies[number]
                self._note(pair, number)
        return found

    def join(self, pair: Pair, candidates: _Candidates) -> int:
        """The number of the new piece that stands for all of a pair from now on."""
        new, joined = len(self.counts), candidates.joins_of(pair)
        changes: dict[Pair, int] = defaultdict(int)
        for number in self.places.pop(pair):
            self._join_in(number, pair, new, changes)
        self.spellings.append(self.spellings[pair[0]] + self.spellings[pair[1]].removeprefix(INSIDE))
        self.counts = np.append(self.counts, joined)
        for piece in pair:
            self.counts[piece] -= joined
        self.total -= joined
        self.forget(candidates.change(changes, self, pair))
        return new

    def forget(self, pairs: Iterable[Pair]) -> None:
        """Where these pairs are will not be asked again."""
        for pair in pairs:
            self.places.pop(pair, None)

    def _join_in(self, number: int, pair: Pair, new: int, changes: dict[Pair, int]) -> None:
        """Join a pair in one word, and note by how much its other pairs have become more or fewer."""
        word, frequency = self.words[number], self.frequencies[number]
        joined = join_pair(word, pair, new)
        if len(joined) == len(word):
            return
        self.words[number] = joined
        for gone in joinable(word):
            changes[gone] -= frequency
        for left in joinable(joined):
            changes[left] += frequency
            if new in left:
                self._note(left, number)

    def _note(self, pair: Pair, number: int) -> None:
        places = self.places.setdefault(pair, [])
        if not places or places[-1] != number:
            places.append(number)


def joinable(pieces: Iterable[int]) -> Iterator[Pair]:
    """Pairs of neighbours, of equal ones in a row only those that a join from left to right would take."""
    overlaps = False
    for pair in pairwise(pieces):
        overlaps = pair[0] == pair[1] and not overlaps
        if overlaps or pair[0] != pair[1]:
            yield pair


def join_pair(pieces: list[int], pair: Pair, new: int) -> list[int]:
    """The pieces with each occurrence of a pair as the new piece, from left to right."""
    joined: list[int] = []
    index = 0
    while index < len(pieces):
        found = pieces[index] == pair[0] and index + 1 < len(pieces) and pieces[index + 1] == pair[1]
        joined.append(new if found else pieces[index])
        index += 2 if found else 1
    return joined


class _Candidates:
    """Pairs that may become a piece, each with a bound that the increase of the likelihood does not exceed.

    A pair becomes rarer and never more frequent once both of its pieces are known, so one below `min_frequency` is
    dropped for good. The increase of a pair depends on the counts of the pair, of its two pieces and of all pieces. It
    is computed anew where one of the first three changes. The fourth shrinks with every join, and the increase with it,
    as f(N) - f(N - m) rises with N: what was computed before is a bound, and only bounds that reach the best increase
    need another look.
    """

    def __init__(self, min_frequency: int) -> None:
        self.least = max(1, min_frequency)
        self.rows: dict[Pair, int] = {}
        self.free: list[int] = []
        self.left, self.right, self.joins = (np.full(0, -1, np.int64) for _ in range(3))
        self.bounds: Increases = np.full(0, -np.inf)

    def joins_of(self, pair: Pair) -> int:
        return int(self.joins[self.rows[pair]])

    def best(self, corpus: _CutWords) -> Pair | None:
        """The pair that raises the likelihood most; None where none does."""
        if not self.rows:
            return None
        highest = self._compute(np.array([self.bounds.argmax()]), corpus)[0]
        rows = np.flatnonzero(self.bounds >= highest - EQUAL * (1 + abs(highest)))
        increases = self._compute(rows, corpus)
        highest = increases.max()
        if highest <= EQUAL:
            return None
        equal = rows[increases >= highest - EQUAL * (1 + highest)]
        pairs = [(int(self.left[row]), int(self.right[row])) for row in equal]
        return min(pairs, key=lambda pair: (corpus.spellings[pair[0]], corpus.spellings[pair[1]]))

    def change(self, changes: Mapping[Pair, int], corpus: _CutWords, pieces: Iterable[int]) -> list[Pair]:
        """Count pairs as they are after these pieces were joined, and say which are too rare now."""
        dropped = []
        for pair, change in changes.items():
            row = self.rows.get(pair)
            count = change if row is None else int(self.joins[row]) + change
            if count < self.least:
                dropped.append(pair)
                if row is not None:
                    self._drop(pair)
            elif row is None:
                self._add(pair, count)
            else:
                self.joins[row] = count
        touched = self.bounds == np.inf  # those just added
        for piece in pieces:
            touched |= (self.left == piece) | (self.right == piece)
        self._compute(np.flatnonzero(touched), corpus)
        return dropped

    def _compute(self, rows: NDArray[np.intp], corpus: _CutWords) -> Increases:
        """The increases of some pairs as the corpus is now; they are the new bounds."""
        left, right = self.left[rows], self.right[rows]
        found = increase(self.joins[rows], corpus.counts[left], corpus.counts[right], corpus.total, left == right)
        self.bounds[rows] = found
        return found

    def _add(self, pair: Pair, count: int) -> None:
        if not self.free:
            self._grow()
        row = self.rows[pair] = self.free.pop()
        self.left[row], self.right[row], self.joins[row], self.bounds[row] = *pair, count, np.inf

    def _drop(self, pair: Pair) -> None:
        row = self.rows.pop(pair)
        self.left[row], self.right[row], self.bounds[row] = -1, -1, -np.inf
        self.free.append(row)

    def _grow(self) -> None:
        """Room for twice as many pairs."""
        size = len(self.bounds)
        more = max(1024, size)
        self.left, self.right, self.joins = (
            np.concatenate([column, np.full(more, -1)]) for column in (self.left, self.right, self.joins)
        )
        self.bounds = np.concatenate([self.bounds, np.full(more, -np.inf)])
        self.free = list(range(size + more - 1, size - 1, -1))
