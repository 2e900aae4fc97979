"""Byte-pair encoding in the open: a learner and a segmenter to read, and to hold the fast library against.

Every merge counts the whole corpus again, so this is for a few thousand words. `weft.corpus.vocabulary` learns from
files of any size.

Eighteen words, of five kinds, teach these eight merges; `_` marks the end of a word:

>>> counts = {"low": 5, "lowest": 2, "newer": 6, "wider": 3, "new": 2}
>>> merges = learn_merges(counts, 8)
>>> ["".join(pair) for pair in merges]
['er', 'er_', 'ne', 'new', 'lo', 'low', 'newer_', 'low_']

A word that was learned from is one piece, and a new one is made of known pieces:

>>> segment("newer", merges)
['newer_']
>>> segment("lower", merges)
['low', 'er_']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

END = "_"  # a symbol of its own after the last letter, so that the `er` that ends a word can become a piece
Pair = tuple[str, str]


def learn_merges(counts: Mapping[str, int], merges: int) -> list[Pair]:
    """The pairs of neighbours to join, most frequent first, each counted after all joins before it.

    Of equally frequent pairs the one met first wins, reading the words in the order of `counts`. Pairs never span two
    words. There are fewer than `merges` of them when every word has become one piece. Words counted less than once
    are left out.
    """
    words = {word: [*word, END] for word, count in counts.items() if count > 0}
    learned: list[Pair] = []
    while len(learned) < merges and (pairs := count_pairs(words, counts)):
        best = max(pairs, key=pairs.__getitem__)  # the first of the greatest, in the order they were met
        words = {word: join(symbols, best) for word, symbols in words.items()}
        learned.append(best)
    return learned


def segment(word: str, merges: Sequence[Pair]) -> list[str]:
    """The pieces of a word and its end mark: all merges applied in the order they were learned."""
    symbols = [*word, END]
    for pair in merges:
        symbols = join(symbols, pair)
    return symbols


def count_pairs(words: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> Counter[Pair]:
    """How often two symbols stand side by side, each word as often as it was counted."""
    pairs: Counter[Pair] = Counter()
    for word, symbols in words.items():
        for pair in pairwise(symbols):
            pairs[pair] += counts[word]
    return pairs


def join(symbols: Sequence[str], pair: Pair) -> list[str]:
    """The symbols with every occurrence of the pair as one, from left to right: `a a a` becomes `aa a`."""
    joined: list[str] = []
    place = 0
    while place < len(symbols):
        width = 2 if tuple(symbols[place : place + 2]) == pair else 1
        joined.append("".join(symbols[place : place + width]))
        place += width
    return joined
