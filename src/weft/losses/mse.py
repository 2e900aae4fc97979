"""Mean squared error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from torch import Tensor
from torch.nn import functional as F

from weft.losses import Loss, LossFunction, TargetType


class Mse(Loss):
    """The squared difference of score and target, averaged over rows: for numbers whose size matters.

    Takes scores (B, 1) or (B,) and targets (B,) float.

    Relatives: `pearson` where only the order and spacing of a batch's scores matter, not their size.
    """

    kind: Literal["mse"] = "mse"
    target_types: ClassVar[tuple[TargetType, ...]] = ("score",)

    def outputs(self, labels: int, target: TargetType = "score") -> int:
        """One score per row, whatever `labels` is."""
        return 1

    def build(self, counts: Sequence[int] = (), rows: int | None = None) -> LossFunction:
        """A function of scores (B, 1) or (B,) and targets (B,); needs no counts."""

        def loss(scores: Tensor, targets: Tensor) -> Tensor:
            # Without the view, (B, 1) against (B,) would compare every row with every other.
            return F.mse_loss(scores.view_as(targets), targets.to(scores.dtype))

        return loss
