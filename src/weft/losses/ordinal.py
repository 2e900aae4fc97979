"""Squared earth mover's distance for ordered labels, mixed with cross-entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from weft.losses import Loss, LossFunction, TargetType


class Ordinal(Loss):
    """A loss that grows with how far, in the order of the labels, probability lies from the gold label.

    Takes scores (B, L) and targets (B,) int64, the labels being in their natural order (low, middle, high). The squared
    earth mover's distance is the sum over labels of the squared difference between the softmax's cumulative
    distribution and the gold's: 0 where all probability is on the gold label, d where all of it is d labels away, and
    less where it is spread out. Returns `mix` times that plus (1 - `mix`) times cross-entropy, averaged over rows. The
    scores stay one per label, so the highest still is the answer. With one label the loss is 0.

    Relatives: `cross_entropy`, which is `mix = 0` and takes all mistakes as equally bad; `mse` for numbers.
    """

    kind: Literal["ordinal"] = "ordinal"
    target_types: ClassVar[tuple[TargetType, ...]] = ("label",)
    ordered: ClassVar[bool] = True

    mix: Annotated[float, Field(ge=0, le=1)] = 0.5
    """The share of the earth mover's distance in the loss; the rest is cross-entropy."""

    def build(self, counts: Sequence[int], rows: int | None = None) -> LossFunction:
        """A function of scores (B, L) and targets (B,); needs no counts."""
        mix = self.mix

        def loss(scores: Tensor, targets: Tensor) -> Tensor:
            gold = F.one_hot(targets, scores.shape[1])
            gap = (scores.softmax(1) - gold).cumsum(1)  # (B, L) the difference of the cumulative distributions
            return mix * gap.square().sum(1).mean() + (1 - mix) * F.cross_entropy(scores, targets)

        return loss
