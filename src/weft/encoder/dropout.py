"""Dropout whose random bits cost little on a processor.

Torch draws one random number per element, one after the other, which takes a sixth of a training step on two cores.
Sixteen bits decide as well as thirty-two, so one draw of 64 bits decides about four elements here.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zero each element with probability `p` in training and scale the others by 1 / (1 - p)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training else x


def dropout(x: Tensor, p: float) -> Tensor:
    """Zero each element with probability `p`, to within 1 / 65536, and scale the others by 1 / (1 - p)."""
    if p == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, p)
    return x.masked_fill(_dropped(x.shape, p), 0.0) * (1.0 / (1.0 - p))


def _dropped(shape: torch.Size, p: float) -> Tensor:
    size = shape.numel()
    bits = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None)
    return (bits.view(torch.int16)[:size] < round(p * 2**16) - 2**15).view(shape)
