"""From token states to what a head reads of each row."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from weft.layers.pairs import Feature, cosine, pair_features
from weft.tensors import States


class TextReader(nn.Module):
    """One vector per row, through a pooler: States → (B, H)."""

    def __init__(self, pooler: nn.Module) -> None:
        super().__init__()
        self.pooler = pooler

    def forward(self, states: States) -> Tensor:
        vectors: Tensor = self.pooler(states)
        return vectors


class SiameseReader(TextReader):
    """The features of B pairs whose first texts are rows 0 … B-1 and whose second are the next B."""

    def __init__(self, pooler: nn.Module, features: Sequence[Feature]) -> None:
        super().__init__(pooler)
        self.features = tuple(features)

    def forward(self, states: States) -> Tensor:
        u, v = super().forward(states).chunk(2)
        return pair_features(u, v, self.features)


class CosineReader(TextReader):
    """The cosine of B pairs laid out as in `SiameseReader`, (B, 1)."""

    def forward(self, states: States) -> Tensor:
        u, v = super().forward(states).chunk(2)
        return cosine(u, v)
