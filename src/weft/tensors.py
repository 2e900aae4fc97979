"""The tensors that flow through a model, with their shapes.

Shape letters, the same everywhere in weft:

    B  rows (texts or pairs)          H  width of a state
    T  tokens of all rows together    N  attention heads
    S  tokens of the longest row      D  width of one head, H / N
    L  labels

Tokens are packed: the rows lie end to end in one line of T tokens and no padding exists. Rows of equal length lie
side by side, so that attention can treat each such run as one dense block. Where a row lies is in `row_offsets`,
in the order in which the caller gave the rows; nobody outside this file needs to know that they were moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

IntegerSequence = Sequence[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True)
class TensorRecord:
    """A few tensors that belong together."""

    def to(self, device: torch.device | str) -> Self:
        """The same on another device."""
        return replace(self, **{part.name: getattr(self, part.name).to(device) for part in fields(self)})


@dataclass(frozen=True)
class WordIndex(TensorRecord):
    """Where the U words and P sub-words of E examples lie, all end to end."""

    sub_word_positions: Tensor  # (P,) the packed token of each sub-word
    word_of: Tensor  # (P,) the word of each sub-word
    first_sub_words: Tensor  # (U,) the first sub-word of each word
    last_sub_words: Tensor  # (U,) the last sub-word of each word
    words_per_example: Tensor  # (E,)


@dataclass(frozen=True)
class SpanIndex(TensorRecord):
    """The spans of words that are asked about, R in all."""

    first_words: Tensor  # (R,)
    last_words: Tensor  # (R,) inclusive


@dataclass(frozen=True)
class PairIndex(TensorRecord):
    """The ordered pairs of spans that are asked about, R in all."""

    heads: Tensor  # (R,) a span of the `SpanIndex`
    tails: Tensor  # (R,)


@dataclass(frozen=True)
class MaskIndex(TensorRecord):
    """The masked tokens that are asked about, M in all."""

    masked_positions: Tensor  # (M,) the packed token of each


@dataclass(frozen=True)
class BoundaryIndex(TensorRecord):
    """Of the M masked tokens asked about, which are to be told from the tokens just outside their span alone."""

    from_boundary: Tensor  # (M,) bool
    left_positions: Tensor  # (M,) the packed token just left of the span
    right_positions: Tensor  # (M,) and just right of it
    offsets: Tensor  # (M,) the token's index in its span


@dataclass(frozen=True)
class Indices:
    """What features and losses need to know of a batch beside its tokens; each task fills in what it asks about."""

    words: WordIndex | None = None
    spans: SpanIndex | None = None
    pairs: PairIndex | None = None
    masked: MaskIndex | None = None
    boundary: BoundaryIndex | None = None

    def to(self, device: torch.device | str) -> Indices:
        """The same on another device."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return Indices(**{name: None if part is None else part.to(device) for name, part in parts.items()})


@dataclass(frozen=True)
class Batch:
    """The packed tokens of B rows, all of one task."""

    ids: Tensor  # (T,) vocabulary ids
    segments: Tensor  # (T,) 0 for the first text, 1 for the second of a pair
    positions: Tensor  # (T,) 0, 1, 2, … within each row
    row_of: Tensor  # (T,) the row each token belongs to
    row_offsets: Tensor  # (B,) where each row's first token lies
    lengths: Tensor  # (B,) tokens of each row
    runs: tuple[tuple[int, int], ...]  # (rows, tokens per row) of each run of equal rows, in packed order
    task: str = ""
    outputs_per_example: tuple[int, ...] = ()  # an example may be several rows: a pair, a long text in windows
    indices: Indices = Indices()
    gold: Tensor | None = None  # the answers of all examples end to end

    @property
    def rows(self) -> int:
        return self.row_offsets.shape[0]

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        moved = {name: getattr(self, name).to(device) for name in _TENSORS}
        return replace(
            self,
            **moved,
            indices=self.indices.to(device),
            gold=None if self.gold is None else self.gold.to(device),
        )


_TENSORS = ("ids", "segments", "positions", "row_of", "row_offsets", "lengths")


def pack(
    rows: Sequence[IntegerSequence], segments: Sequence[IntegerSequence | None] | None = None, task: str = ""
) -> Batch:
    """Lay rows of token ids end to end, equal lengths side by side.

    Every row needs at least one token. Where a row has no `segments`, every token of it is of segment 0.
    """
    sizes = [len(row) for row in rows]
    if not sizes or min(sizes) == 0:
        raise ValueError("a batch needs at least one row, and every row at least one token")
    order = sorted(range(len(rows)), key=sizes.__getitem__)
    row = torch.tensor(order)
    length = torch.tensor(sizes)
    packed_lengths = length[row]
    packed_offsets = packed_lengths.cumsum(0) - packed_lengths
    ids = torch.from_numpy(np.concatenate([rows[i] for i in order], dtype=np.int64))
    return Batch(
        ids=ids,
        segments=torch.zeros_like(ids) if segments is None else _pack_segments(segments, sizes, order),
        positions=torch.arange(len(ids)) - packed_offsets.repeat_interleave(packed_lengths),
        row_of=row.repeat_interleave(packed_lengths),
        row_offsets=torch.empty_like(row).scatter_(0, row, packed_offsets),
        lengths=length,
        runs=tuple((len(list(group)), size) for size, group in groupby(sizes[i] for i in order)),
        task=task,
    )


def _pack_segments(segments: Sequence[IntegerSequence | None], sizes: Sequence[int], order: Sequence[int]) -> Tensor:
    if all(segment is None for segment in segments):
        return torch.zeros(sum(sizes), dtype=torch.long)
    rows = ((segments[i], sizes[i]) for i in order)
    parts = [np.zeros(size, np.int64) if row is None else row for row, size in rows]
    return torch.from_numpy(np.concatenate(parts, dtype=np.int64))


def batches_by_length(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Row numbers, longest row first, in groups of at most `tokens` tokens (at least one row)."""
    group: list[int] = []
    total = 0
    for row in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if group and total + lengths[row] > tokens:
            yield group
            group, total = [], 0
        group.append(row)
        total += lengths[row]
    if group:
        yield group


@dataclass(frozen=True)
class FirstTokenAttention:
    """Where each row's first token looks in one layer."""

    weights: Tensor  # (T, N) summing to 1 over the tokens of each row
    winning_label: Tensor | None = None  # (T, N) the label that pulled a token, -1 for none; only with label attention


@dataclass(frozen=True)
class States:
    """What the encoder says about every token of a batch."""

    tokens: Tensor  # (T, H) the last layer's states
    batch: Batch
    layers: Mapping[int, Tensor] = field(default_factory=dict)  # (T, H) each, only those asked for; 0 = embeddings
    attention: Mapping[int, FirstTokenAttention] = field(default_factory=dict)  # only of the blocks asked for

    def first(self) -> Tensor:
        """The state of each row's first token, (B, H)."""
        return self.tokens[self.batch.row_offsets]

    def mean(self) -> Tensor:
        """The mean state of each row's tokens, (B, H)."""
        total = self.tokens.new_zeros(self.batch.rows, self.tokens.shape[1])
        total = total.index_add(0, self.batch.row_of, self.tokens)
        return total / self.batch.lengths.unsqueeze(1).to(total.dtype)

    def row(self, index: int) -> Tensor:
        """The states of one row, (length, H)."""
        start, length = int(self.batch.row_offsets[index]), int(self.batch.lengths[index])
        return self.tokens[start : start + length]


@dataclass(frozen=True)
class Scores:
    """What a head says about the examples of a batch: one row of numbers per answer (a text, a sub-word, a span)."""

    values: Tensor  # (R, O) the answers of all examples end to end
    sizes: tuple[int, ...]  # answers of each example
    transitions: Tensor | None = (
        None  # (L + 1, L + 1) what going from one tag to the next adds, where a CRF has learned it
    )

    def detached(self) -> Scores:
        """The same as plain numbers in full precision, where decoding takes place."""
        transitions = None if self.transitions is None else self.transitions.detach().float().cpu()
        return Scores(self.values.detach().float().cpu(), self.sizes, transitions)

    @staticmethod
    def join(parts: Sequence[Scores], order: Sequence[int]) -> Scores:
        """Several batches as one, each example moved to where `order` says."""
        sizes = [size for part in parts for size in part.sizes]
        pieces = torch.cat([part.values for part in parts]).split(sizes)
        placed = sorted(zip(order, pieces, sizes, strict=True), key=lambda part: part[0])
        values = torch.cat([piece for _, piece, _ in placed])
        return Scores(values, tuple(size for _, _, size in placed), parts[0].transitions)


def softmax_per_row(scores: Tensor, batch: Batch) -> Tensor:
    """Softmax over the tokens of each row, for packed scores (T, N)."""
    row = batch.row_of.unsqueeze(1).expand_as(scores)
    top = scores.new_zeros(batch.rows, scores.shape[1])
    top = top.scatter_reduce(0, row, scores.detach(), "amax", include_self=False)
    weights = (scores - top[batch.row_of]).exp()
    total = weights.new_zeros(top.shape).index_add(0, batch.row_of, weights)
    return weights / total[batch.row_of]
