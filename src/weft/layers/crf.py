"""A linear-chain conditional random field: how well whole paths of tags fit, not only each tag alone.

Shape letters besides those of `weft.tensors`:

    P  positions of all rows together, rows end to end, no padding
    L  tags

A path's score is the sum of its tags' emissions and of the steps it takes. `steps` is (L + 1, L + 1): steps[i, j] is
what going from tag i to tag j adds, row L is the start (steps[L, j]: beginning with j), column L is the end
(steps[i, L]: ending with i), and steps[L, L] is never read. A step of -inf is impossible. Emissions are finite.

`sizes` are the positions of each row. A row of none has one path, the empty one, whose score is 0.

Everything is computed in float32 or wider. Where a row has no possible path at all, its log partition is -inf, its
marginals are nan like every gradient it has a part in, and its best path is any path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class Crf(nn.Module):
    """Learned steps between tags, the impossible ones shut."""

    allowed: Tensor  # (L + 1, L + 1)

    def __init__(self, allowed: Sequence[Sequence[bool]]) -> None:
        """`allowed` is (L + 1, L + 1), rows and columns as in `steps`; what it says of start to end is ignored.

        All possible steps start at zero. The others never get a gradient, so they stay there.
        """
        super().__init__()
        possible = torch.tensor(allowed, dtype=torch.bool)
        if possible.dim() != 2 or possible.shape[0] != possible.shape[1] or len(possible) < 2:
            raise ValueError(f"allowed must be (L + 1, L + 1) with L of at least 1, not {tuple(possible.shape)}")
        possible[-1, -1] = False
        self.register_buffer("allowed", possible, persistent=False)
        self.learned = nn.Parameter(torch.zeros(possible.shape))

    def forward(self) -> Tensor:
        """The steps, (L + 1, L + 1): learned where allowed, -inf elsewhere."""
        return self.learned.masked_fill(~self.allowed, -math.inf)


def log_partition(emissions: Tensor, sizes: Sequence[int], transitions: Tensor) -> Tensor:
    """The log of the summed exponentials of all paths' scores, (P, L) → (B,); differentiable once.

    The gradient is computed from the marginals, not by autograd's walk back through every position: that is faster, and
    tags that cannot be reached leave no nan in it.
    """
    emissions, transitions = _prepared(emissions, sizes, transitions)
    apply: Callable[..., Tensor] = _LogPartition.apply
    return apply(emissions, transitions, _schedule(sizes, emissions.device))


def path_scores(emissions: Tensor, tags: Tensor, sizes: Sequence[int], transitions: Tensor) -> Tensor:
    """The score of one path per row, (P, L) and tags (P,) int64 → (B,); -inf for an impossible path."""
    emissions, transitions = _prepared(emissions, sizes, transitions)
    device, edge = emissions.device, len(transitions) - 1
    ends = list(accumulate(sizes))
    filled = [row for row, size in enumerate(sizes) if size]
    first = torch.tensor([ends[row] - sizes[row] for row in filled], dtype=torch.long, device=device)
    last = torch.tensor([ends[row] - 1 for row in filled], dtype=torch.long, device=device)
    row_of = torch.tensor([row for row in filled for _ in range(sizes[row])] + filled, dtype=torch.long, device=device)
    came_from = tags.roll(1).index_fill(0, first, edge)  # (P,)
    parts = emissions.gather(1, tags.unsqueeze(1)).squeeze(1) + transitions[came_from, tags]  # (P,)
    return emissions.new_zeros(len(sizes)).index_add(0, row_of, torch.cat([parts, transitions[tags[last], edge]]))


def best_paths(emissions: Tensor, sizes: Sequence[int], transitions: Tensor) -> Tensor:
    """The tags of each row's best path (Viterbi), (P, L) → (P,) int64; of equally good paths, any."""
    emissions, transitions = _prepared(emissions.detach(), sizes, transitions.detach())
    schedule = _schedule(sizes, emissions.device)
    scores = _levelled(emissions)[schedule.order]  # (P, L), soon of the best path up to each position and tag
    blocks = scores.split(schedule.counts)
    blocks[0].add_(transitions[-1, :-1])
    inner = transitions[:-1, :-1].T.contiguous()
    origins = []  # per position but the first, the tag before on that best path, (rows still running, L)
    for before, here in pairwise(blocks):
        best, origin = (before[: len(here)].unsqueeze(1) + inner).max(2)
        here.add_(best)
        origins.append(origin)
    tags = (scores + transitions[:-1, -1]).argmax(1)  # (P,) right where a row ends, the rest is filled in from there
    running = tags.split(schedule.counts)
    for before, here, origin in zip(running[-2::-1], running[:0:-1], reversed(origins), strict=True):
        before[: len(here)] = origin.gather(1, here.unsqueeze(1)).squeeze(1)
    return torch.empty_like(tags).index_copy_(0, schedule.order, tags)


def marginals(emissions: Tensor, sizes: Sequence[int], transitions: Tensor) -> Tensor:
    """How likely each position has each tag, over all paths, (P, L) → (P, L); each position sums to 1. No gradient."""
    emissions, transitions = _prepared(emissions.detach(), sizes, transitions.detach())
    schedule = _schedule(sizes, emissions.device)
    here = _levelled(emissions)[schedule.order]
    probabilities = _tag_probabilities(here, *_sweeps(here, transitions, schedule))
    return torch.empty_like(here).index_copy_(0, schedule.order, probabilities)


@dataclass(frozen=True)
class _Schedule:
    """Positions ordered by their column (their number in their row), and rows within a column from long to short.

    All rows' first positions come first, then all second ones, and so on: the positions of a column are one block, and
    the rows that are still running in a column are the first of the block before.
    """

    rows: int  # B
    order: Tensor  # (P,) where the position lies in the packed rows
    row_of: Tensor  # (P,) the row it belongs to
    mirror: Tensor  # (P,) in this order, the position as far from its row's end as this one is from the start
    before: Tensor  # (P - B',) in this order, the position before, for all but the first block of B' positions
    last: Tensor  # (B',) in this order, the last position of each row that has any
    counts: list[int]  # rows in each column; [0] where there are no positions


def _schedule(sizes: Sequence[int], device: torch.device) -> _Schedule:
    """The schedule of rows of these sizes; rows without positions are not in it."""
    rows = sorted((row for row, size in enumerate(sizes) if size), key=lambda row: -sizes[row])
    lengths = [sizes[row] for row in rows]
    counts, running = [], len(rows)
    for column in range(max(lengths, default=0)):
        while lengths[running - 1] <= column:
            running -= 1
        counts.append(running)
    begins = [0, *accumulate(counts)]
    row_offsets = [0, *accumulate(sizes)]

    def index(values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    columns = [(column, rank) for column, count in enumerate(counts) for rank in range(count)]
    return _Schedule(
        rows=len(sizes),
        order=index([row_offsets[rows[rank]] + column for column, rank in columns]),
        row_of=index([rows[rank] for _, rank in columns]),
        mirror=index([begins[lengths[rank] - 1 - column] + rank for column, rank in columns]),
        before=index([begins[column - 1] + rank for column, rank in columns if column]),
        last=index([begins[length - 1] + rank for rank, length in enumerate(lengths)]),
        counts=counts or [0],
    )


class _LogPartition(torch.autograd.Function):
    """`log_partition`, whose gradient is how often each emission and step is expected to be used."""

    @staticmethod
    def forward(ctx: Any, emissions: Tensor, transitions: Tensor, schedule: _Schedule) -> Tensor:
        here = _levelled(emissions)[schedule.order]
        up_to, onward = _sweeps(here, transitions, schedule)
        ctx.save_for_backward(here, up_to, onward, transitions)
        ctx.schedule = schedule
        whole = (up_to[schedule.last] + transitions[:-1, -1]).logsumexp(1)  # (B',)
        total = emissions.new_zeros(schedule.rows).index_add_(0, schedule.row_of, emissions.amax(1)[schedule.order])
        return total.index_add_(0, schedule.row_of[schedule.last], whole)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        schedule: _Schedule = ctx.schedule
        here, up_to, onward, transitions = ctx.saved_tensors
        weight = gradient[schedule.row_of].unsqueeze(1)  # (P, 1)
        filled = schedule.counts[0]
        tags = _tag_probabilities(here, up_to, onward) * weight  # (P, L)
        pairs = (
            up_to[schedule.before].unsqueeze(2) + transitions[:-1, :-1] + onward[filled:].unsqueeze(1)
        )  # (P - B', L, L)
        of_transitions = torch.zeros_like(transitions)
        of_transitions[:-1, :-1] = (pairs.flatten(1).softmax(1) * weight[filled:]).sum(0).view_as(transitions[:-1, :-1])
        of_transitions[-1, :-1] = tags[:filled].sum(0)
        of_transitions[:-1, -1] = tags[schedule.last].sum(0)
        return torch.empty_like(tags).index_copy_(0, schedule.order, tags), of_transitions, None


def _sweeps(here: Tensor, transitions: Tensor, schedule: _Schedule) -> tuple[Tensor, Tensor]:
    """The log partitions of all paths up to, and of all paths on from, each position and tag, (P, L) → (P, L) twice.

    The way back is the way forth over mirrored rows with all steps reversed, so one loop goes both ways at once.
    """
    both = torch.stack([here, here[schedule.mirror]])  # (2, P, L)
    reached = torch.stack(
        [transitions.T, transitions]
    )  # (2, L + 1, L + 1), the tag come from last, where sums are quickest
    into = reached[:, :-1, :-1].unsqueeze(1)
    blocks = both.split(schedule.counts, 1)
    blocks[0].add_(reached[:, :-1, -1].unsqueeze(1))
    for before, block in pairwise(blocks):
        block.add_((before[:, : block.shape[1]].unsqueeze(2) + into).logsumexp(3))
    return both[0], both[1][schedule.mirror]


def _tag_probabilities(here: Tensor, up_to: Tensor, onward: Tensor) -> Tensor:
    """(P, L), each position summing to 1; both sweeps hold the position's own emission, so one is taken off."""
    return (up_to + onward - here).softmax(1)


def _levelled(emissions: Tensor) -> Tensor:
    """Emissions whose highest is 0 at every position: long sums stay small and keep their digits.

    All paths of a row lose the same, so which are likely does not change.
    """
    return emissions - emissions.amax(1, keepdim=True)


def _prepared(emissions: Tensor, sizes: Sequence[int], transitions: Tensor) -> tuple[Tensor, Tensor]:
    """Emissions and steps in their common type, float32 at least; shapes that do not fit are refused."""
    positions, tags = emissions.shape
    if sum(sizes) != positions or min(sizes, default=0) < 0:
        raise ValueError(f"sizes, none below 0, must sum to the {positions} positions of emissions, not {sum(sizes)}")
    if transitions.shape != (tags + 1, tags + 1):
        raise ValueError(f"steps must be ({tags + 1}, {tags + 1}) for {tags} tags, not {tuple(transitions.shape)}")
    dtype = torch.promote_types(torch.promote_types(emissions.dtype, transitions.dtype), torch.float32)
    return emissions.to(dtype), transitions.to(dtype)
