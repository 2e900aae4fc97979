"""Which rows of a task make up each batch of a pass over its data."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from weft.config.training import Batching

_WINDOW = 50  # batches


def plan(lengths: Sequence[int], batching: Batching, seed: int, epoch: int) -> list[list[int]]:
    """The batches of one pass over a task's rows, as row indices: every row once, no batch empty.

    Args:
        lengths: the tokens of each row.
        batching: what a batch may hold.
        seed: of the run; with the epoch it decides every shuffle.
        epoch: which pass over the rows, 0 ….
    """
    rng = random.Random(f"{seed} {epoch}")  # text seeds are hashed the same way on every machine
    rows = list(range(len(lengths)))
    rng.shuffle(rows)
    batches = list(cut(rows, lengths, batching))
    if batching.group_by_length:
        windows = (batches[start : start + _WINDOW] for start in range(0, len(batches), _WINDOW))
        by_length = (sorted(chain.from_iterable(window), key=lengths.__getitem__) for window in windows)
        batches = [batch for window in by_length for batch in cut(window, lengths, batching)]
        rng.shuffle(batches)
    return batches


def cut(rows: Iterable[int], lengths: Sequence[int], batching: Batching) -> Iterator[list[int]]:
    """Batches of consecutive rows, each as full as may be."""
    most_rows, most_tokens = batching.batch_size or float("inf"), batching.batch_tokens or float("inf")
    batch: list[int] = []
    tokens = 0
    for row in rows:
        if batch and (len(batch) >= most_rows or tokens + lengths[row] > most_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(row)
        tokens += lengths[row]
    if batch:
        yield batch
