"""Hidden layers, then dropout and a linear layer."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field
from torch import nn

from weft.encoder.dropout import Dropout
from weft.heads import Head

_ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh}


class Mlp(Head):
    """Linear layers with an activation after each hidden one, dropout, and the output layer."""

    kind: Literal["mlp"] = "mlp"
    sizes: tuple[Annotated[int, Field(ge=1)], ...] = (256,)
    """Widths of the hidden layers."""
    activation: Literal["relu", "gelu", "tanh"] = "relu"
    """The function after each hidden layer."""

    def build(self, inputs: int, outputs: int) -> nn.Module:
        widths = (inputs, *self.sizes)
        hidden: list[nn.Module] = []
        for width, following in pairwise(widths):
            hidden += [nn.Linear(width, following), _ACTIVATIONS[self.activation]()]
        return nn.Sequential(*hidden, Dropout(self.dropout), nn.Linear(widths[-1], outputs))
