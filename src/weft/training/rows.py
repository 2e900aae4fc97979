"""The training rows of one task, tokenized once and handed out batch by batch."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from dataclasses import replace

from weft.network import Network, collate
from weft.records import Example
from weft.tensors import Batch
from weft.training.batches import Batching, plan


class TaskRows:
    """An endless stream of batches, the rows in a new order on every turn; its place is plain data."""

    def __init__(self, network: Network, task: str, examples: Sequence[Example], batching: Batching, seed: int) -> None:
        self.task, self.batching = task, batching
        self.seed = seed + zlib.crc32(task.encode())  # so that tasks with the same rows do not march in step
        self.encoded = network.encode(task, [one.texts for one in examples])
        self.targets = network.targets[task].tensor([one.gold for one in examples])
        self.lengths = [sum(len(row.ids) for row in rows) for rows in self.encoded]
        self.go_to(0, 0)
        self.size = len(self.batches)

    def __len__(self) -> int:
        """The batches of the first turn, wherever the stream stands; with `batch_tokens` turns differ a little."""
        return self.size

    @property
    def place(self) -> tuple[int, int]:
        """Where the stream stands: turn, and batch within it."""
        return self.turn, self.index

    @property
    def fingerprint(self) -> int:
        """A number that changes when the rows or their answers do."""
        ids = array("q", (token for rows in self.encoded for row in rows for token in row.ids))
        return zlib.crc32(self.targets.numpy().tobytes(), zlib.crc32(ids.tobytes()))

    def go_to(self, turn: int, index: int) -> None:
        """Stand where `place` said."""
        self.turn, self.index = turn, index
        self.batches = plan(self.lengths, self.batching, self.seed, turn)

    def next(self, rank: int = 0, ranks: int = 1) -> Batch:
        """The next batch; of several ranks each gets its share of the rows (at least one)."""
        if self.index == len(self.batches):
            self.go_to(self.turn + 1, 0)
        rows = self.batches[self.index]
        self.index += 1
        return self._batch(rows[rank::ranks] or rows[:1])

    def first(self, rows: int) -> Batch:
        """The first rows of the file, without moving the stream."""
        return self._batch(list(range(min(rows, len(self.encoded)))))

    def _batch(self, rows: list[int]) -> Batch:
        batch = collate([self.encoded[row] for row in rows], self.task)
        return replace(batch, targets={"gold": self.targets[rows]})
