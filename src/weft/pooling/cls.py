"""The first token's state."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from weft.pooling import Pooler
from weft.tensors import States


class Cls(Pooler):
    """Each row's first token ([CLS], `<s>`) speaks for the row: what BERT's own sentence tasks were trained with.

    Returns (B, H); no parameters. Conditioning that acts on the first token alone (label attention) is made for this.

    Relatives: `mean` for encoders trained as sentence encoders; `last_layers` for more than the last layer.
    """

    kind: Literal["cls"] = "cls"

    @property
    def first_token(self) -> bool:
        return True

    def build(self, width: int) -> nn.Module:
        """A module without parameters that takes `States` and returns (B, H)."""
        return FirstToken()


class FirstToken(nn.Module):
    """The state of each row's first token."""

    def forward(self, states: States) -> Tensor:
        """The first tokens' states, (B, H)."""
        return states.first()
