"""What is read at masked tokens: their own states, or the states beside their span.

Shape letters besides those of `weft.tensors`: M masked tokens of all examples end to end.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.layers.features import Features
from weft.tensors import States


class MaskedFeatures(Features):
    """The state of each masked token, States → (M, H)."""

    def forward(self, states: States) -> Tensor:
        masked = states.batch.indices.masked
        assert masked is not None
        return states.tokens[masked.masked_positions]


class BoundaryFeatures(MaskedFeatures):
    """The state of each masked token, or what the tokens just outside its span say about it (SpanBERT: Joshi et al.
    2020); `BoundaryIndex` says which.
    """

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.offsets = nn.Embedding(longest, width)
        self.layers = nn.Sequential(
            nn.Linear(3 * width, width),
            nn.GELU(),
            nn.LayerNorm(width),
            nn.Linear(width, width),
            nn.GELU(),
            nn.LayerNorm(width),
        )
        nn.init.normal_(self.offsets.weight, std=0.02)

    def forward(self, states: States) -> Tensor:
        index, own = states.batch.indices.boundary, super().forward(states)
        assert index is not None
        asked = index.from_boundary.nonzero().squeeze(1)
        left, right = states.tokens[index.left_positions[asked]], states.tokens[index.right_positions[asked]]
        offset = self.offsets(index.offsets[asked].clamp_max(self.offsets.num_embeddings - 1))
        read: Tensor = self.layers(torch.cat([left, right, offset], 1))
        return own.index_copy(0, asked, read.to(own.dtype))
