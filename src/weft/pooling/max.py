"""The highest value of each dimension."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from weft.pooling import Pooler
from weft.tensors import States


class Max(Pooler):
    """In every dimension the highest value among a row's tokens: one telling word is enough, however long the row.

    Returns (B, H); no parameters. Tokens that tie share the gradient evenly.

    Relatives: `mean`, where every token counts; `attention`, where the tokens that count are learned.
    """

    kind: Literal["max"] = "max"

    def build(self, width: int) -> nn.Module:
        """A module without parameters that takes `States` and returns (B, H)."""
        return MaxOfTokens()


class MaxOfTokens(nn.Module):
    """The maximum of each row's token states, dimension by dimension."""

    def forward(self, states: States) -> Tensor:
        """The rows' maxima, (B, H)."""
        tokens, batch = states.tokens, states.batch
        row = batch.row_of.unsqueeze(1).expand_as(tokens)
        highest = tokens.new_zeros(batch.rows, tokens.shape[1])
        return highest.scatter_reduce(0, row, tokens, "amax", include_self=False)
