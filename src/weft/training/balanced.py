"""Batches that hold as many rows of each label, for losses that compare the rows of a batch with each other."""

from __future__ import annotations

import random
from collections.abc import Sequence

from weft.config.training import Batching

_LEAST = 2  # rows of a label, for one alone has nothing to be compared with


def balanced_batch(
    groups: Sequence[Sequence[int]], lengths: Sequence[int], batching: Batching, seed: int, number: int
) -> list[int]:
    """A batch of different rows: of each label as many, or all where it has fewer.

    Where not every label has room for two rows, some labels are drawn. All rows are in it where there is room for all.

    Args:
        groups: the rows of each label; a row may have several.
        lengths: the tokens of each row.
        batching: what a batch may hold; it holds two rows of two labels in any case.
        seed: of the run; with the number of the batch it decides every draw.
        number: of the batch, 0 ….
    """
    rng = random.Random(f"{seed} {number}")  # text seeds are hashed the same way on every machine
    shuffled = [rng.sample(group, len(group)) for group in groups]
    rng.shuffle(shuffled)
    batch: dict[int, None] = {}
    tokens = 0
    for row in _in_turn(shuffled, _labels_at_once(groups, lengths, batching)):
        if row in batch:
            continue
        full = len(batch) >= (batching.batch_size or float("inf"))
        if len(batch) >= 2 * _LEAST and (full or tokens + lengths[row] > (batching.batch_tokens or float("inf"))):
            break
        batch[row] = None
        tokens += lengths[row]
    return list(batch)


def _labels_at_once(groups: Sequence[Sequence[int]], lengths: Sequence[int], batching: Batching) -> int:
    """How many labels a batch has room for, with two rows of each."""
    mean = sum(lengths) / max(len(lengths), 1)
    rows = min(batching.batch_size or float("inf"), (batching.batch_tokens or float("inf")) / max(mean, 1))
    return len(groups) if rows >= _LEAST * len(groups) else max(2, int(rows) // _LEAST)


def _in_turn(groups: Sequence[Sequence[int]], at_once: int) -> list[int]:
    """The rows of the first labels, one of each in turn; then those of the others."""
    first, others = groups[:at_once], groups[at_once:]
    turns = [
        [group[turn] for group in some if turn < len(group)]
        for some in (first, others)
        for turn in range(max(map(len, some), default=0))
    ]
    return [row for rows in turns for row in rows]
