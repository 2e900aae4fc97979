"""Dividing rows by their text and label: a part split off without leaks, folds, and a smaller sample."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from heapq import heapify, heapreplace

_Strata = tuple[tuple[int, int], ...]  # (stratum, rows in it) of a group of equal keys, in order of stratum
_Move = tuple[tuple[int, int], ...]  # (class of groups, +1 to split one more off or -1 to keep one more)

_TRIES = 200_000  # of exchanges, about a second; only thousands of duplicates with labels at random ever need more


def split_off(keys: Sequence[str], strata: Sequence[Hashable], share: float, seed: int) -> tuple[list[int], list[int]]:
    """The rows that are kept and the rows that are split off, both in the order of the input.

    Rows of equal key form a group and stay together, also where their strata differ. Of every stratum about `share` of
    the rows is split off: no group that changes sides, and no exchange of two groups, would bring the strata nearer to
    it (by the sum of squared distances in rows; the search for exchanges is bounded). Without duplicates, that is the
    nearest whole number. Every stratum keeps at least one row, so one with a single key is kept whole, whatever the
    share.

    Args:
        keys: what makes two rows duplicates, one per row; see `unicode.normalise`.
        strata: what the two sides should have in equal shares, one per row: the label; real values come in bins.
        share: how much to split off, 0 ≤ share < 1.
        seed: decides which rows of a stratum are split off; nothing else is random.
    """
    if not 0 <= share < 1:
        raise ValueError(f"share is {share}, but must be at least 0 and less than 1")
    groups, numbers = _groups(keys, strata), _numbered(strata)
    classes: dict[_Strata, list[list[int]]] = {}
    for group in groups:
        classes.setdefault(tuple(sorted(Counter(numbers[row] for row in group).items())), []).append(group)
    rng = random.Random(f"split {seed}")
    shapes = list(classes)
    rng.shuffle(shapes)  # what is rounded up should not depend on what comes first in a file
    taken = _Taking({shape: len(classes[shape]) for shape in shapes}, share).settle()
    chosen = {
        row
        for shape, count in zip(shapes, taken, strict=True)
        for group in rng.sample(classes[shape], count)
        for row in group
    }
    rows = range(len(keys))
    return [row for row in rows if row not in chosen], [row for row in rows if row in chosen]


def draw_folds(keys: Sequence[str], answers: Sequence[Sequence[Hashable]], count: int, seed: int) -> list[list[int]]:
    """The rows of each fold in the order of the input; every row is in one.

    Rows of equal key are in one fold. Of each answer every fold gets its share, the rarest being dealt first; where
    there is one answer per row and no duplicate, folds differ by no more than one row, for each answer and in all.

    Args:
        keys: what makes two rows duplicates, one per row; see `unicode.normalise`.
        answers: what the folds should have in equal shares: for each row, the label that each task gives it.
        count: how many folds, from 2 to the number of different keys, so that none is empty.
        seed: decides which rows go where; nothing else is random.
    """
    groups = _groups(keys, answers)
    if not 2 <= count <= len(groups):
        raise ValueError(f"{count} folds of {len(groups):,} different rows: 2 to {len(groups):,} are possible")
    parts = [_numbered(task) for task in zip(*answers, strict=True)]
    held = [[(task, part[row]) for task, part in enumerate(parts)] for row in range(len(keys))]
    common = Counter(answer for row in held for answer in row)
    rng = random.Random(f"folds {seed}")
    rng.shuffle(groups)
    rarest = {one: (number, one) for one, number in common.items()}
    groups.sort(key=lambda group: (-len(group), sorted(rarest[one] for row in group for one in held[row])))
    folds: list[list[int]] = [[] for _ in range(count)]
    dealt = [Counter[tuple[int, int]]() for _ in range(count)]
    order = rng.sample(range(count), count)  # which fold has one row more should not depend on its number
    for group in groups:
        own = Counter(sorted((one for row in group for one in held[row]), key=rarest.__getitem__))
        best = min(order, key=lambda fold: (*(dealt[fold][one] for one in own), len(folds[fold])))
        folds[best] += group
        dealt[best].update(own)
    return [sorted(fold) for fold in folds]


def subsample(strata: Sequence[Hashable], size: int, seed: int) -> list[int]:
    """`size` rows in the order of the input, every stratum in its share; all rows if there are not more.

    For one seed a smaller sample is part of every larger one: learning curves add rows and exchange none. Shares are
    rounded by the method of Webster, which alone of the usual ones never takes a row back as the size grows: each
    stratum gets the whole number nearest to its size times one common factor, but at least one row. Where there are
    more strata than rows wanted, the largest get one row each.
    """
    if size < 0:
        raise ValueError(f"size is {size}, but must be at least 0")
    members: dict[Hashable, list[int]] = {}
    for row, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(row)
    counts = _apportion([len(rows) for rows in members.values()], min(size, len(strata)))
    rng = random.Random(f"subsample {seed}")
    shuffled = [rng.sample(rows, len(rows)) for rows in members.values()]  # whatever the size
    return sorted(row for rows, count in zip(shuffled, counts, strict=True) for row in rows[:count])


def _groups(keys: Sequence[str], strata: Sequence[object]) -> list[list[int]]:
    """The rows of each key."""
    if len(strata) != len(keys):
        raise ValueError(f"{len(keys)} keys, but {len(strata)} strata: one of each per row is needed")
    groups: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _numbered(strata: Sequence[Hashable]) -> list[int]:
    """Each row's stratum as a number, in the order of first occurrence."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(stratum, len(numbers)) for stratum in strata]


def _apportion(sizes: Sequence[int], total: int) -> list[int]:
    """How many rows of each stratum make up `total`; see `subsample`. Every size is at least 1."""
    counts = [0] * len(sizes)
    waiting = [(False, -size / 0.5, stratum) for stratum, size in enumerate(sizes)]  # first one row each
    heapify(waiting)
    for _ in range(total):
        stratum = waiting[0][2]
        counts[stratum] += 1
        heapreplace(waiting, (True, -sizes[stratum] / (counts[stratum] + 0.5), stratum))
    return counts


class _Taking:
    """How many groups of each class are split off: first the share of each class rounded down, then settled by moves.

    Groups with the same rows in the same strata are one class, for it does not matter which of them moves.
    """

    def __init__(self, classes: Mapping[_Strata, int], share: float) -> None:
        self.shapes = list(classes)
        self.sizes = list(classes.values())
        self.tries = _TRIES
        self.taken = [min(int(share * size), size - 1) for size in self.sizes]
        self.missing: dict[int, float] = {}  # rows that a stratum still lacks, less than 0 where it has too many
        self.kept: dict[int, int] = {}  # groups of a stratum that are not split off
        self.members: dict[int, list[int]] = {}  # classes with rows of a stratum
        for index, (shape, size, taken) in enumerate(zip(self.shapes, self.sizes, self.taken, strict=True)):
            for stratum, rows in shape:
                self.missing[stratum] = self.missing.get(stratum, 0.0) + rows * (share * size - taken)
                self.kept[stratum] = self.kept.get(stratum, 0) + size - taken
                self.members.setdefault(stratum, []).append(index)

    def settle(self) -> list[int]:
        """The counts from which no move comes nearer to the share."""
        while self._sweep(self._alone) or self._sweep(self._exchanges):
            pass
        return self.taken

    def _sweep(self, moves: Callable[[int], Iterator[_Move]]) -> bool:
        """Make the first move that helps for each class in turn; False if there was none."""
        helped = False
        for index, shape in enumerate(self.shapes):
            # Within half a row of its share, a stratum cannot come nearer.
            if any(abs(self.missing[stratum]) > 0.5 for stratum, _ in shape):
                for move in filter(self._helps, moves(index)):
                    self._make(move)
                    helped = True
                    break
        return helped

    def _alone(self, index: int) -> Iterator[_Move]:
        yield ((index, 1),)
        yield ((index, -1),)

    def _exchanges(self, index: int) -> Iterator[_Move]:
        """A group of this class for one of another with which it shares a stratum.

        Without a common stratum classes do not feel each other, and two single moves do the same.
        """
        for other in dict.fromkeys(other for stratum, _ in self.shapes[index] for other in self.members[stratum]):
            if self.tries <= 0:
                return
            if other != index:
                self.tries -= 2
                yield ((index, 1), (other, -1))
                yield ((index, -1), (other, 1))

    def _helps(self, move: _Move) -> bool:
        if any(not 0 <= self.taken[index] + step <= self.sizes[index] for index, step in move):
            return False
        rows, groups = self._change(move)
        if any(self.kept[stratum] - change < 1 for stratum, change in groups.items()):
            return False
        return sum(change * (change - 2 * self.missing[stratum]) for stratum, change in rows.items()) < -1e-6

    def _make(self, move: _Move) -> None:
        rows, groups = self._change(move)
        for index, step in move:
            self.taken[index] += step
        for stratum in rows:
            self.missing[stratum] -= rows[stratum]
            self.kept[stratum] -= groups[stratum]

    def _change(self, move: _Move) -> tuple[dict[int, int], dict[int, int]]:
        """The rows and the groups that a move splits off more, by stratum."""
        rows: dict[int, int] = {}
        groups: dict[int, int] = {}
        for index, step in move:
            for stratum, count in self.shapes[index]:
                rows[stratum] = rows.get(stratum, 0) + step * count
                groups[stratum] = groups.get(stratum, 0) + step
        return rows, groups
