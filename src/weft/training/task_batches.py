"""The training rows of one task, handed out batch by batch: tokenized once, or drawn anew on every turn."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from dataclasses import replace

import torch

from weft.config.training import Batching
from weft.corpus.rows import ResampledRows
from weft.data.records import Example
from weft.model.network import Network
from weft.tensors import Batch
from weft.training.batches import plan


class TaskBatches:
    """An endless stream of batches, the rows in a new order on every turn; its place is plain data."""

    def __init__(self, network: Network, task: str, examples: Sequence[Example], batching: Batching, seed: int) -> None:
        self.task, self.batching = task, batching
        self.seed = seed + zlib.crc32(task.encode())  # so that tasks with the same rows do not march in step
        self.network, self.examples = network, examples
        if not isinstance(examples, ResampledRows):
            self.tokenized = network.encode(task, examples)
            self.golds = network.targets[task].golds(examples, self.tokenized)
            self.lengths = [tokenized_example.tokens for tokenized_example in self.tokenized]
        self.drawn: list[int] = []  # the rows of the last batch
        self.go_to(0, 0)
        self.size = len(self.batches)

    def __len__(self) -> int:
        """The batches of the first turn, wherever the stream stands; with `batch_tokens` turns differ a little."""
        return self.size

    @property
    def place(self) -> tuple[int, int]:
        """Where the stream stands: turn, and batch within it."""
        return self.epoch, self.index

    @property
    def lines(self) -> list[int]:
        """Where the rows of the last batch stand in their file."""
        return [self.examples[row].line for row in self.drawn]

    @property
    def fingerprint(self) -> int:
        """A number that changes when the rows or their answers do."""
        if isinstance(self.examples, ResampledRows):
            return self.examples.at_epoch(0).fingerprint
        ids = array(
            "q", (token for tokenized_example in self.tokenized for row in tokenized_example.rows for token in row.ids)
        )
        return zlib.crc32(torch.cat(self.golds).numpy().tobytes(), zlib.crc32(ids.tobytes()))

    def go_to(self, epoch: int, index: int) -> None:
        """Stand where `place` said."""
        self.epoch, self.index = epoch, index
        if isinstance(self.examples, ResampledRows):
            self.examples = self.examples.at_epoch(epoch)
            special = self.network.tokenizer.specials(self.network.tasks[self.task].several_texts)
            self.lengths = [length + special for length in self.examples.lengths()]
        self.batches = plan(self.lengths, self.batching, self.seed, epoch)

    def next(self) -> Batch:
        """The next batch."""
        if self.index == len(self.batches):
            self.go_to(self.epoch + 1, 0)
        self.drawn = self.batches[self.index]
        self.index += 1
        return self._batch(self.drawn)

    def first(self, rows: int) -> Batch:
        """The first rows of the file, without moving the stream."""
        return self._batch(list(range(min(rows, len(self.examples)))))

    def _batch(self, rows: list[int]) -> Batch:
        if isinstance(self.examples, ResampledRows):
            examples = [self.examples[row] for row in rows]
            tokenized = self.network.encode(self.task, examples)
            golds = self.network.targets[self.task].golds(examples, tokenized)
        else:
            tokenized, golds = [self.tokenized[row] for row in rows], [self.golds[row] for row in rows]
        return replace(self.network.collate(self.task, tokenized), gold=torch.cat(golds))
