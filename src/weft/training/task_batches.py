"""The training rows of one task, handed out batch by batch."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from weft.config.training import Batching
from weft.data.dataset import Dataset
from weft.data.records import Example
from weft.model.network import Network
from weft.tensors import Batch, batches_by_length
from weft.tokenization.examples import TokenizedExample
from weft.training.balanced import balanced_batch
from weft.training.batches import cut, plan

_TOKENS = 8192  # of a batch of rows that are only read


class TaskBatches:
    """An endless stream of batches, the rows in a new order in every epoch; its position is plain data.

    Args:
        balanced: whether an epoch is one batch, with as many rows of each label as there is room for.
        max_length: fewer tokens of a row than the task reads.
    """

    def __init__(
        self,
        network: Network,
        task: str,
        dataset: Dataset,
        batching: Batching,
        seed: int,
        *,
        balanced: bool = False,
        max_length: int | None = None,
    ) -> None:
        self.task, self.batching, self.max_length = task, batching, max_length
        self.leader = task  # in whose order rows are handed out
        self.seed = seed + zlib.crc32(task.encode())  # so that tasks whose rows are as many do not march in step
        self.network, self.dataset = network, dataset
        self.rows = dataset.prepare(self._prepare, lambda row: row[0].tokens)
        self.groups = self._rows_by_label() if balanced else []
        self.drawn: list[int] = []  # the rows of the last batch
        self.go_to(0, 0)
        self.size = len(self.batches)

    def __len__(self) -> int:
        """The batches of the first epoch, wherever the stream stands; with `batch_tokens` epochs differ a little."""
        return self.size

    @property
    def position(self) -> tuple[int, int]:
        """Where the stream stands: epoch, and batch within it."""
        return self.epoch, self.index

    @property
    def rows_seen(self) -> int:
        """How many different rows have been handed out."""
        return len(self.dataset) if self.epoch else sum(map(len, self.batches[: self.index]))

    @property
    def lines(self) -> list[int]:
        """Where the rows of the last batch stand in their file."""
        return [example.line for example in self.dataset.epoch(self.epoch).take(self.drawn)]

    @property
    def fingerprint(self) -> int:
        """A number that changes when the rows or their answers do."""
        return self.dataset.fingerprint

    @property
    def tokens(self) -> bytes:
        """A digest of what the encoder reads of all rows, as they are in the first epoch, and of nothing else."""
        digest = hashlib.sha256()
        for example, _ in self.rows.epoch(0).take(range(len(self.dataset))):
            for row in example.rows:
                digest.update(f"{len(example.rows)} {len(row.ids)} ".encode() + row.ids.tobytes())
                digest.update(b"" if row.segments is None else row.segments.tobytes())
        return digest.digest()

    def follow(self, leader: TaskBatches) -> None:
        """Hand out the rows in the order of another stream, whose rows are the same to the encoder."""
        self.leader, self.seed = leader.leader, leader.seed
        self.go_to(*leader.position)

    def go_to(self, epoch: int, index: int) -> None:
        """Stand where `position` said."""
        self.epoch, self.index = epoch, index
        self.rows = self.rows.epoch(epoch)
        lengths = self.rows.lengths
        if self.groups:
            self.batches = [balanced_batch(self.groups, lengths, self.batching, self.seed, epoch)]
        else:
            self.batches = plan(lengths, self.batching, self.seed, epoch)

    def next(self) -> Batch:
        """The next batch."""
        if self.index == len(self.batches):
            self.go_to(self.epoch + 1, 0)
        self.drawn = self.batches[self.index]
        self.index += 1
        return self._batch(self.drawn)

    def once(self) -> Iterator[Batch]:
        """All rows once, those of one length together, without moving the stream."""
        for rows in batches_by_length(self.rows.lengths, _TOKENS):
            yield self._batch(rows)

    def first(self, rows: int) -> Iterator[tuple[Batch, float]]:
        """The first rows of the file in batches, each with its share of them, without moving the stream."""
        rows = min(rows, len(self.dataset))
        for batch in cut(range(rows), self.rows.lengths, self.batching):
            yield self._batch(batch), len(batch) / rows

    def _prepare(self, examples: Sequence[Example]) -> list[tuple[TokenizedExample, Tensor]]:
        """Each example as tokens, and its gold."""
        tokenized = self.network.encode(self.task, examples, self.max_length)
        return list(zip(tokenized, self.network.targets[self.task].gold_tensors(examples, tokenized), strict=True))

    def _rows_by_label(self) -> list[list[int]]:
        """The rows of each label, and those of none."""
        target = self.network.targets[self.task].target
        groups: dict[str | None, list[int]] = {}
        for row, example in enumerate(self.dataset):
            for label in tuple(target.labels_in(example.gold)) or (None,):
                groups.setdefault(label, []).append(row)
        return list(groups.values())

    def _batch(self, indices: list[int]) -> Batch:
        rows = self.rows.take(indices)
        batch = self.network.collate(self.task, [tokenized for tokenized, _ in rows])
        return replace(batch, gold=torch.cat([gold for _, gold in rows]))
