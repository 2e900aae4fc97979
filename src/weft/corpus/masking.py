"""Which tokens are masked from the encoder, and behind what: single tokens, whole words, or spans of words.

All functions work on the packed line of T tokens of a whole batch and choose about `share` of its ordinary tokens. What
is chosen together (a token, a word, a span) meets one fate together: 80 % become the mask, 10 % are replaced by tokens
drawn from the corpus's unigram distribution, 10 % stay as they are. Nothing is remembered between calls, so the same
generator state gives the same masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.tokenization.examples import Integers

Flags = NDArray[np.bool_]

MASKED, REPLACED = 0.8, 0.1  # shares of the chosen; the rest is kept


@dataclass(frozen=True)
class Masked:
    """A batch after masking. Only span masking fills the last two."""

    ids: Integers  # (T,) what the encoder sees
    positions: Integers  # (M,) the chosen positions, ascending
    gold: Integers  # (M,) the ids that stood there
    spans: Integers | None = (
        None  # (M, 2) the positions just outside the left and the right end of each position's span
    )
    offset: Integers | None = None  # (M,) each position's distance from its span's first token, in tokens


@dataclass(frozen=True, slots=True, eq=False)
class Unigrams:
    """Tokens by their frequency in a corpus."""

    below: NDArray[np.int64]  # (V + 1,) how many tokens of the corpus have a smaller id, and last how many there are

    @classmethod
    def from_counts(cls, counts: Integers) -> Unigrams:
        """From how often each id occurs, (V,), in which special ids are zero."""
        if not len(counts) or np.min(counts) < 0 or not np.any(counts):
            raise ValueError("unigram counts must not be negative, and at least one must be above 0")
        return cls(np.append(0, np.cumsum(counts, dtype=np.int64)))

    def knows(self, ids: Integers) -> Flags:
        """Whether each of some ids occurs in the corpus, which no special one does."""
        return np.asarray(self.below[ids + 1] > self.below[ids])

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Ids (size,), each drawn with its share of the counts."""
        return np.searchsorted(self.below[1:], rng.integers(self.below[-1], size=size), side="right")


def mask_tokens(
    ids: Integers,
    special: Flags,
    mask_id: int,
    unigrams: Unigrams,
    rng: np.random.Generator,
    share: float = 0.15,
    minimum: int = 1,
) -> Masked:
    """Mask single tokens.

    The number chosen is `share` of the ordinary tokens, rounded up or down at random so that the share is met on
    average, but never below `minimum` while there are so many. A short row may have none; a batch always has one,
    unless `minimum` is 0, as it should be where each row is masked by itself.

    Args:
        ids: (T,).
        special: (T,), tokens that are never chosen.
    """
    _check_share(share)
    positions = np.flatnonzero(~special)
    positions = positions[_choose(len(positions), share, rng, minimum)]
    return _mask(ids, positions, np.arange(len(positions)), mask_id, unigrams, rng)


def mask_words(
    ids: Integers,
    special: Flags,
    word_of: Integers,
    mask_id: int,
    unigrams: Unigrams,
    rng: np.random.Generator,
    share: float = 0.15,
    minimum: int = 1,
) -> Masked:
    """Mask whole words: all tokens of a word or none, and all in the same way.

    Words are chosen regardless of their length, `share` of them, so that `share` of the tokens is met on average; never
    fewer than `minimum`, as in `mask_tokens`.

    Args:
        ids: (T,).
        special: (T,), tokens that are never chosen; a word ends before one.
        word_of: (T,), equal for tokens of one word, different for neighbouring words, -1 for special tokens.
    """
    _check_share(share)
    starts, ends = _words(special | (word_of < 0), word_of)
    chosen = _choose(len(starts), share, rng, minimum)
    positions, unit = _expand(starts[chosen], ends[chosen])
    return _mask(ids, positions, unit, mask_id, unigrams, rng)


def mask_spans(
    ids: Integers,
    special: Flags,
    word_of: Integers,
    row_of: Integers,
    mask_id: int,
    unigrams: Unigrams,
    rng: np.random.Generator,
    share: float = 0.15,
    p: float = 0.2,
    longest: int = 10,
    minimum: int = 1,
) -> Masked:
    """Mask spans of whole words, each with an unmasked token of its own row on either side.

    Lengths in words follow the geometric law of `p`, cut off at `longest` (or at the words of the longest row, where
    all are shorter). They are drawn before their positions are, and a span that does not fit into one row goes to
    another, so that long spans are as frequent as they should be. `share` of the words is masked on average, over the
    batch and not in every row, and at least one span unless `minimum` is 0. No span crosses a row or a special token,
    and two spans never touch.

    Args:
        ids: (T,).
        special: (T,), tokens that are never chosen but may stand just outside a span.
        word_of: (T,), equal for tokens of one word, different for neighbouring words, -1 for special tokens.
        row_of: (T,), equal for the tokens of a row, which lie together.
    """
    _check_share(share)
    if not 0 < p < 1 or longest < 1:
        raise ValueError(f"p is {p} and longest is {longest}, but 0 < p < 1 and longest ≥ 1 are needed")
    barred = special | (word_of < 0)
    starts, ends = _words(barred, word_of, row_of)
    stretches = _stretches(barred, row_of, starts, ends)
    first, length = _place_spans(stretches, share, length_law(p, longest), rng, minimum)
    left, right = starts[first], ends[first + length - 1]
    positions, unit = _expand(left, right)
    masked = _mask(ids, positions, unit, mask_id, unigrams, rng)
    outside = np.stack([left - 1, right], axis=1)
    return Masked(masked.ids, masked.positions, masked.gold, outside[unit], positions - left[unit])


def length_law(p: float, longest: int) -> NDArray[np.float64]:
    """The probabilities (longest,) of the span lengths 1, 2, … under the geometric law cut off at `longest`."""
    weights = p * (1 - p) ** np.arange(longest)
    return np.asarray(weights / weights.sum())


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise ValueError(f"share is {share}, but must lie between 0 and 1")


def _choose(count: int, share: float, rng: np.random.Generator, minimum: int) -> NDArray[np.int64]:
    """`share` of the numbers below `count`, ascending; every set of that size is as likely as any other."""
    size = min(count, max(minimum, int(share * count + rng.random())))
    return np.sort(rng.choice(count, size, replace=False, shuffle=False)) if count else np.empty(0, np.int64)


def _mask(
    ids: Integers, positions: Integers, unit: Integers, mask_id: int, unigrams: Unigrams, rng: np.random.Generator
) -> Masked:
    """Mask, replace or keep the chosen positions; those of one unit, numbered from 0 without gaps, share their fate."""
    units = int(unit[-1]) + 1 if len(unit) else 0
    fate = rng.random(units)[unit]
    masked = ids.copy()
    masked[positions[fate < MASKED]] = mask_id
    replaced = positions[(fate >= MASKED) & (fate < MASKED + REPLACED)]
    masked[replaced] = unigrams.draw(rng, len(replaced))
    return Masked(masked, positions, ids[positions])


def _words(barred: Flags, word_of: Integers, row_of: Integers | None = None) -> tuple[Integers, Integers]:
    """The first position of every word and the position after its last, both (W,)."""
    border = np.ones(len(barred) + 1, np.bool_)  # whether something new begins at a position
    border[1:-1] = (word_of[1:] != word_of[:-1]) | barred[1:] | barred[:-1]
    if row_of is not None:
        border[1:-1] |= row_of[1:] != row_of[:-1]
    borders = np.flatnonzero(border)
    ordinary = ~barred[borders[:-1]]
    return borders[:-1][ordinary], borders[1:][ordinary]


def _expand(starts: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """The positions of all stretches [start, end), ascending as they are, and the number of the stretch of each."""
    sizes = ends - starts
    unit = np.repeat(np.arange(len(starts)), sizes)
    return np.arange(len(unit)) + (starts - np.cumsum(sizes) + sizes)[unit], unit


def _stretches(barred: Flags, row_of: Integers, starts: Integers, ends: Integers) -> Integers:
    """Runs of words among which spans may lie, as first word and number of words, (R, 2).

    A run ends at a special token or at the end of a row. Where a row does not begin or end with a special token, its
    outermost word can only stand outside a span, and is left out.
    """
    if not len(starts):
        return np.empty((0, 2), np.int64)
    begins = np.ones(len(starts), np.bool_)
    begins[1:] = (starts[1:] != ends[:-1]) | (row_of[starts[1:]] != row_of[starts[:-1]])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(starts)) - 1
    before, after = starts[first] - 1, ends[last]
    bare_left = (before < 0) | (row_of[before] != row_of[starts[first]])
    bare_right = (after == len(barred)) | (row_of[np.minimum(after, len(barred) - 1)] != row_of[starts[last]])
    runs = np.stack([first + bare_left, last - first + 1 - bare_left - bare_right], axis=1)
    return runs[runs[:, 1] > 0]


def _place_spans(
    stretches: Integers, share: float, law: NDArray[np.float64], rng: np.random.Generator, minimum: int
) -> tuple[Integers, Integers]:
    """The first word and the length of every span, both (K,), ascending."""
    if not len(stretches):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    words: list[int] = stretches[:, 1].tolist()
    law = law[: max(words)] / law[: max(words)].sum()
    dealt = _deal(words, share, law, rng, minimum)
    uniforms = iter(rng.random(2 * sum(map(len, dealt))).tolist())  # one call for all is faster than a call per stretch
    firsts: list[int] = []
    lengths: list[int] = []
    for at, limit, mine in zip(stretches[:, 0].tolist(), words, dealt, strict=True):
        # Every span but the last brings the word after it, which keeps it from its neighbour.
        free = limit - sum(mine) - len(mine) + 1
        gaps = _gaps(free, len(mine), uniforms)
        # The span that took too much was drawn last and tends to be long; it should not always stand last.
        for gap, length in zip(gaps, sorted(mine, key=lambda _: next(uniforms)), strict=True):
            firsts.append(at + gap)
            lengths.append(length)
            at += gap + length + 1
    return np.array(firsts, np.int64), np.array(lengths, np.int64)


def _deal(
    words: list[int], share: float, law: NDArray[np.float64], rng: np.random.Generator, minimum: int
) -> list[list[int]]:
    """The lengths of the spans of every stretch, as they were drawn.

    Stretches earn `share` of their words, and spans are drawn while anything earned is left; what the last one takes
    too much, the next stretch pays. Whether a span is drawn never depends on its own length, hence the lengths keep
    their law. What is owed at the beginning is drawn as if spans had gone on like this for ever before (a random part
    of a span, met the more likely the longer it is), hence the average is `share` for a batch of any size,
    but for one so small that its only span had to be asked for.
    """
    sizes = np.arange(1, len(law) + 1)
    owed = rng.random() * rng.choice(sizes, p=law * sizes / (law @ sizes))
    draws = iter(rng.choice(sizes, int(share * sum(words)) + 1, p=law).tolist())  # each takes 1 or more of what is left
    limit = [count + 1 for count in words]  # a span needs its length and one more
    dealt: list[list[int]] = [[] for _ in words]
    homeless: list[int] = []
    left = -owed
    for stretch, count in enumerate(words):
        left += share * count
        while left > 0:
            length = next(draws)
            left -= length
            if limit[stretch] > length:
                dealt[stretch].append(length)
                limit[stretch] -= length + 1
            else:
                homeless.append(length)
    if minimum and not homeless and not any(dealt):
        homeless = [next(draws)]
    for length in homeless:
        roomy = [stretch for stretch, free in enumerate(limit) if free > length]
        if roomy:  # else every row is full, and the span is given up
            stretch = roomy[int(rng.integers(len(roomy)))]
            dealt[stretch].append(length)
            limit[stretch] -= length + 1
    return dealt


def _gaps(free: int, spans: int, uniforms: Iterator[float]) -> list[int]:
    """The words before each span, where `free` words are left over; every way to spread them is equally likely.

    Words and spans stand in a line of `free + spans`, of which a random subset are the spans. The subset grows by one
    member for each limit: a number up to the limit, or the limit itself where that number is taken.
    """
    taken: set[int] = set()
    for limit in range(free, free + spans):
        number = int(next(uniforms) * (limit + 1))
        taken.add(limit if number in taken else number)
    bars = sorted(taken)
    return [bar - before - 1 for before, bar in zip([-1, *bars], bars, strict=False)]
