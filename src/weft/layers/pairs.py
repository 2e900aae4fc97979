"""What two text vectors say about each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Feature = Literal["u", "v", "difference", "product"]


def pair_features(u: Tensor, v: Tensor, features: Sequence[Feature]) -> Tensor:
    """The chosen features of two vectors side by side, (B, H) each → (B, features · H).

    `difference` is |u - v|, `product` is u ∗ v; both stay the same when u and v change places.
    """
    parts = {"u": u, "v": v, "difference": (u - v).abs(), "product": u * v}
    return torch.cat([parts[name] for name in features], 1)


def scaled(vectors: Tensor) -> Tensor:
    """Vectors of the same directions whose numbers have a mean square of 1, (B, H); a vector of zeros stays one."""
    long: Tensor = F.normalize(vectors, dim=1) * math.sqrt(vectors.shape[1])
    return long


def cosine(u: Tensor, v: Tensor) -> Tensor:
    """The cosine of the angle between two vectors, (B, H) each → (B, 1)."""
    return F.cosine_similarity(u, v).unsqueeze(1)
