"""What two spans have to do with each other.

Shape letters besides those of `weft.tensors`: R ordered pairs of spans, of all examples end to end; K the width of a
pair's vector.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.layers.features import Features
from weft.layers.spans import SpanFeatures
from weft.tensors import States

_WIDTHS = 16  # wider spans count as so wide
_SHARING = 3  # ways for two spans to share words
_EXACT = 4  # from so many words between two spans on, a step is twice as far as the one before


class RelationFeatures(Features):
    """A vector for each pair of spans, States → (R, K): act(A·head + B·tail + C·(head ∗ tail) + D[place]).

    Reads the batch's `WordIndex`, `SpanIndex` and `PairIndex`.

    Args:
        distances: how many distances `places` tells apart on either side; with 0, nothing is known of places.
    """

    def __init__(self, width: int, size: int, distances: int) -> None:
        super().__init__()
        self.spans = SpanFeatures(width, size, _WIDTHS, "networks", "mean")
        self.head, self.tail, self.both = (nn.Linear(size, size) for _ in range(3))
        self.places = nn.Embedding(_SHARING + 2 * distances, size) if distances else None
        if self.places is not None:
            nn.init.normal_(self.places.weight, std=0.02)

    def forward(self, states: States) -> Tensor:
        pairs = states.batch.indices.pairs
        assert pairs is not None
        spans = self.spans(states)
        head, tail = self.head(spans), self.tail(spans)
        heads, tails = pairs.heads, pairs.tails
        total: Tensor = head[heads] + tail[tails] + self.both(spans[heads] * spans[tails])
        if self.places is not None:
            index = states.batch.indices.spans
            assert index is not None
            first, last = index.first_words, index.last_words
            distances = (self.places.num_embeddings - _SHARING) // 2
            total = total + self.places(places((first[heads], last[heads]), (first[tails], last[tails]), distances))
        return F.gelu(total)


def places(head: tuple[Tensor, Tensor], tail: tuple[Tensor, Tensor], distances: int) -> Tensor:
    """Where the tail is, seen from the head, as one of 3 + 2 * distances numbers, (R,).

    0 where it lies within the head, 1 where it holds the head, 2 where they overlap otherwise or have the same words.
    Then, each a number, how many words are between them if it comes after: 0, 1, 2, 3, 4 to 7, 8 to 15 and so on, each
    twice as many as before; the last of the `distances` serves all that are further. Then the same if it comes before.

    Args:
        head: the first word of each head and its last word, inclusive, (R,) each.
        tail: likewise.
        distances: how many distances are told apart on either side, 1 or more.
    """
    (head_first, head_last), (tail_first, tail_last) = head, tail
    after, before = tail_first - head_last - 1, head_first - tail_last - 1
    between = torch.maximum(after, before)  # words; below 0 where some are shared
    begins = torch.tensor([step if step <= _EXACT else 2 ** (step - 2) for step in range(1, distances)])
    apart = _SHARING + torch.bucketize(between, begins.to(between), right=True) + distances * (before >= 0)
    within = (head_first <= tail_first) & (tail_last <= head_last)
    around = (tail_first <= head_first) & (head_last <= tail_last)
    shared = torch.where(within == around, 2, around.long())
    return torch.where(between >= 0, apart, shared)
