"""The mean of the tokens' states."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from weft.pooling import Pooler
from weft.tensors import States


class Mean(Pooler):
    """Every token of a row counts the same, special tokens included: what most sentence encoders were trained with.

    Returns (B, H); no parameters. A row of one token gives that token's state.

    Relatives: `attention` learns which tokens count more and starts here; `max` keeps the strongest.
    """

    kind: Literal["mean"] = "mean"

    def build(self, width: int) -> nn.Module:
        """A module without parameters that takes `States` and returns (B, H)."""
        return MeanOfTokens()


class MeanOfTokens(nn.Module):
    """The mean of each row's token states."""

    def forward(self, states: States) -> Tensor:
        """The rows' means, (B, H)."""
        return states.mean()
