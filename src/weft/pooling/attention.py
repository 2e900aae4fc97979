"""A mean whose weights are learned."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from weft.pooling import Pooler
from weft.tensors import States, softmax_per_row


class Attention(Pooler):
    """A learned query decides how much each token of a row counts.

    Returns (B, H); H parameters. The query starts at zero, where all tokens count the same, so an untrained module is
    exactly mean pooling. Rows of one token give that token's state and no gradient to the query.

    Relatives: `mean`, from which it starts; `max`.
    """

    kind: Literal["attention"] = "attention"

    def build(self, width: int) -> nn.Module:
        """A module with a query (H,) that takes `States` and returns (B, H)."""
        return AttentionOverTokens(width)


class AttentionOverTokens(nn.Module):
    """The mean of each row's token states, weighted by a softmax of their products with one query."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(width))

    def forward(self, states: States) -> Tensor:
        """The rows' weighted means, (B, H)."""
        weights = softmax_per_row((states.tokens @ self.query).unsqueeze(1), states.batch)  # (T, 1)
        weighted = weights * states.tokens
        total = weighted.new_zeros(states.batch.rows, weighted.shape[1])
        return total.index_add(0, states.batch.row_of, weighted)
