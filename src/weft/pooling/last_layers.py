"""The mean over the last few layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from weft.pooling import Pooler
from weft.tensors import States


class LastLayers(Pooler):
    """The mean of the tokens in the last `count` layers, averaged: lower layers know words the last one forgot.

    On a frozen `minilm` the first token, `of = "cls"`, is worse than the mean by 5 to 30 points
    (docs/results/tables/slp_layers.md).

    Needs the hidden states named by `layers`; returns (B, H); no parameters. An encoder of fewer than `count` blocks
    gives the mean over all of them; the embeddings never take part. For the last layer the final states are used, so
    what a conditioner does to them is not lost.

    Relatives: `cls` and `mean`, each of which is `count = 1`.
    """

    kind: Literal["last_layers"] = "last_layers"

    count: Annotated[int, Field(ge=1)] = 4
    """How many layers to average, counted from the last."""

    of: Literal["cls", "mean"] = "mean"
    """What to take of each layer: the first token's state, or the mean over tokens."""

    @property
    def first_token(self) -> bool:
        return self.of == "cls"

    def layers(self, depth: int) -> tuple[int, ...]:
        """The last `count` of 1 … depth, or all of them.

        The last is among them although its states are there anyway: the module tells by it where the encoder ends.
        """
        return tuple(range(max(depth - self.count, 0) + 1, depth + 1))

    def build(self, width: int) -> nn.Module:
        """A module without parameters that takes `States` with those layers and returns (B, H)."""
        return MeanOfLayers(self.count, self.of)


class MeanOfLayers(nn.Module):
    """The mean over the last layers of each row's first or mean state."""

    def __init__(self, count: int, of: Literal["cls", "mean"]) -> None:
        super().__init__()
        self.count = count
        self.pool = {"cls": States.first, "mean": States.mean}[of]

    def forward(self, states: States) -> Tensor:
        """The rows' means over layers, (B, H); layers beyond those needed are left aside."""
        kept = sorted(layer for layer in states.layers if layer > 0)[-self.count :]
        if not kept:
            raise ValueError("no hidden states came with the batch; ask the encoder for pooler.layers(depth)")
        below = [replace(states, tokens=states.layers[layer]) for layer in kept[:-1]]
        return torch.stack([self.pool(layer) for layer in (*below, states)]).mean(0)
