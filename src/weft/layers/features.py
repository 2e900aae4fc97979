"""From token states to what a head reads for each answer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from weft.layers.pairs import Feature, cosine, pair_features, scaled
from weft.tensors import States


class Features(nn.Module):
    """From States to (R, F): what a head reads for each answer."""

    def score(self, states: States, head: nn.Module) -> Tensor:
        """What a head says of all answers, (R, O)."""
        values: Tensor = head(self(states))
        return values

    def direction(self, width: int) -> Tensor | None:
        """A direction in what it gives, (F,), along which answers are known to rise before any row is seen, if any.

        Args:
            width: of a state.
        """
        return None


class TextFeatures(Features):
    """One vector per row, through a pooler: States → (B, H).

    Args:
        scale: whether vectors are scaled to a mean square of 1.
    """

    def __init__(self, pooler: nn.Module, scale: bool = True) -> None:
        super().__init__()
        self.pooler, self.scale = pooler, scale

    def forward(self, states: States) -> Tensor:
        vectors: Tensor = self.pooler(states)
        return scaled(vectors) if self.scale else vectors


class SiameseFeatures(TextFeatures):
    """The features of pairs, whose two texts are neighbouring rows; scaled, the mean of their product is the cosine."""

    def __init__(self, pooler: nn.Module, features: Sequence[Feature], scale: bool = True) -> None:
        super().__init__(pooler, scale)
        self.features = tuple(features)

    def forward(self, states: States) -> Tensor:
        vectors = super().forward(states)
        return pair_features(vectors[0::2], vectors[1::2], self.features)

    def direction(self, width: int) -> Tensor | None:
        """The cosine."""
        if "product" not in self.features or not self.scale:
            return None
        return torch.cat([torch.full((width,), float(name == "product") / width) for name in self.features])


class BothFeatures(SiameseFeatures):
    """Of pairs that are three rows, both texts in one and then each by itself: the first's vector, and the features of
    the other two."""

    def forward(self, states: States) -> Tensor:
        together, u, v = TextFeatures.forward(self, states).unflatten(0, (-1, 3)).unbind(1)
        return torch.cat([together, pair_features(u, v, self.features)], 1)

    def direction(self, width: int) -> Tensor | None:
        """The cosine of the two texts."""
        apart = super().direction(width)
        return None if apart is None else torch.cat([torch.zeros(width), apart])


class CosineFeatures(TextFeatures):
    """The cosine of pairs laid out as in `SiameseFeatures`, one number each."""

    def forward(self, states: States) -> Tensor:
        vectors = super().forward(states)
        return cosine(vectors[0::2], vectors[1::2])
