"""Dropout and one linear layer."""

from __future__ import annotations

from typing import Literal

from torch import nn

from weft.encoder.dropout import Dropout
from weft.heads import Head


class Linear(Head):
    """The plainest head, and the best start with few labels."""

    kind: Literal["linear"] = "linear"

    def build(self, inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(Dropout(self.dropout), nn.Linear(inputs, outputs))
