"""One minus Pearson's correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor

from weft.losses import Loss, LossFunction, TargetType


class Pearson(Loss):
    """1 - r over the batch, from 0 (scores rise in line with the targets) to 2: for tasks judged by correlation.

    Takes scores (B, 1) or (B,) and targets (B,) float. A batch of one row, or one whose scores or targets are all the
    same, has no correlation: it gives 1 with zero gradients. Scores that are not numbers give NaN, as they should.

    The loss says nothing about the size of scores, and it is noisy in small batches; 16 rows or more suit it.

    Relatives: `mse` where the size of scores matters.
    """

    kind: Literal["pearson"] = "pearson"
    target_types: ClassVar[tuple[TargetType, ...]] = ("score",)
    by_answer: ClassVar[bool] = False  # scores that are all the same, as of a head of zeros, give no gradient
    min_rows: ClassVar[int] = 8

    def outputs(self, labels: int, target: TargetType = "score") -> int:
        """One score per row, whatever `labels` is."""
        return 1

    def build(self, counts: Sequence[int] = (), rows: int | None = None) -> LossFunction:
        """A function of scores (B, 1) or (B,) and targets (B,); needs no counts."""

        def loss(scores: Tensor, targets: Tensor) -> Tensor:
            dtype = torch.promote_types(scores.dtype, targets.dtype)  # half-precision scores would lose the differences
            return 1 - (_direction(scores.view_as(targets).to(dtype)) * _direction(targets.to(dtype))).sum()

        return loss


def _direction(values: Tensor) -> Tensor:
    """The values (B,), centred and of length 1; zeros without a gradient where all values are the same."""
    centred = values - values.mean()
    length: Tensor = torch.linalg.vector_norm(centred)
    limits = torch.finfo(values.dtype)
    # The mean of equal values is off by rounding, so equal values seldom centre to exactly zero.
    constant = length <= 8 * limits.eps * torch.linalg.vector_norm(values) + limits.tiny
    return (centred / length.masked_fill(constant, 1)).masked_fill(constant, 0)
