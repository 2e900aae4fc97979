"""What two spans have to do with each other.

Shape letters besides those of `weft.tensors`: R ordered pairs of spans, of all examples end to end; K the width of a
pair's vector.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from weft.layers.features import Features
from weft.layers.spans import SpanFeatures
from weft.tensors import States

_WIDTHS = 16  # wider spans count as so wide


class RelationFeatures(Features):
    """A vector for each pair of spans, States → (R, K): act(A·head + B·tail + C·(head ∗ tail)).

    Reads the batch's `WordIndex`, `SpanIndex` and `PairIndex`.
    """

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.spans = SpanFeatures(width, size, _WIDTHS, "networks", "mean")
        self.head, self.tail, self.both = (nn.Linear(size, size) for _ in range(3))

    def forward(self, states: States) -> Tensor:
        pairs = states.batch.indices.pairs
        assert pairs is not None
        spans = self.spans(states)
        head, tail = self.head(spans), self.tail(spans)
        heads, tails = pairs.heads, pairs.tails
        return F.gelu(head[heads] + tail[tails] + self.both(spans[heads] * spans[tails]))
