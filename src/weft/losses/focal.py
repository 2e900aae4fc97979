"""Focal loss (Lin et al. 2017): cross-entropy that looks away from what is already right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from weft.losses import ClassWeights, Loss, LossFunction, TargetType, label_weights, mean_by_weight


class Focal(Loss):
    """-(1 - p) ** gamma * log p, p being the probability of what is right: for many easy rows and few hard ones.

    One of L labels per row: scores (B, L), targets (B,) int64, p from the softmax, the mean over rows. Any of L labels
    per row: scores and targets (B, L), p from each label's sigmoid, the mean over rows and labels. With `class_weights`
    it is the weighted mean, the weight being that of the row's gold label or, with several labels per row, of the
    score's own label; a batch that weighs 0 gives 0 with zero gradients. Gradients are finite even where p is 1.

    Relatives: `cross_entropy` and `binary`, each of which is `gamma = 0`.
    """

    kind: Literal["focal"] = "focal"
    target_types: ClassVar[tuple[TargetType, ...]] = ("label", "labels")

    gamma: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 2.0
    """How strongly easy rows are looked away from; 0 is plain cross-entropy."""

    class_weights: ClassWeights = None
    """How much each label matters: "balanced" (rarer labels more), or one number per label; all the same if unset."""

    @property
    def weighting(self) -> ClassWeights:
        return self.class_weights

    def balanced(self) -> Self:
        return self if self.class_weights is not None else self.model_copy(update={"class_weights": "balanced"})

    def build(self, counts: Sequence[int], rows: int | None = None) -> LossFunction:
        """A function of scores (B, L) and targets (B,) or (B, L); L is the length of `counts`."""
        weights, gamma = label_weights(self.class_weights, counts), self.gamma

        def loss(scores: Tensor, targets: Tensor) -> Tensor:
            single = targets.dim() == 1
            each = _focal(_log_right(scores, targets, single), gamma)
            if weights is None:
                return each.mean()
            weight = each.new_tensor(weights)
            weight = weight[targets] if single else weight.expand_as(each)
            return mean_by_weight(weight * each, weight)

        return loss


def _log_right(scores: Tensor, targets: Tensor, single: bool) -> Tensor:
    """The log probability of what is right, (B,) for single labels and (B, L) for several."""
    if single:
        return scores.log_softmax(1).gather(1, targets.unsqueeze(1)).squeeze(1)
    return F.logsigmoid(torch.where(targets > 0.5, scores, -scores))


def _focal(log_p: Tensor, gamma: float) -> Tensor:
    # Below gamma 1 the power has an infinite slope at p = 1, which times log p = 0 would be NaN.
    miss = (-log_p.expm1()).clamp_min(torch.finfo(log_p.dtype).eps)
    return -(miss**gamma) * log_p
