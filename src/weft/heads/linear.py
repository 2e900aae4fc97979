"""Dropout and one linear layer."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import nn

from weft.encoder.dropout import Dropout
from weft.heads import Head


class Linear(Head):
    """The plainest head, and the best start with few labels."""

    kind: Literal["linear"] = "linear"
    linear: ClassVar[bool] = True

    def build(self, inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(Dropout(self.dropout), nn.Linear(inputs, outputs))

    def linear_layer(self, module: nn.Module) -> nn.Linear:
        assert isinstance(module, nn.Sequential)
        layer = module[-1]
        assert isinstance(layer, nn.Linear)
        return layer
