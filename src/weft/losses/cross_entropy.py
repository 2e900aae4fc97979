"""Cross-entropy over a softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from weft.losses import ClassWeights, Loss, LossFunction, TargetType, label_weights, mean_by_weight


class CrossEntropy(Loss):
    """Minus the log probability of each row's gold label: the usual loss where a row has one of L labels.

    Takes scores (B, L) and targets (B,) int64; returns the mean over rows. With `class_weights` it is the mean weighted
    by each row's gold label, so weights matter only relative to each other, and not at all in a batch of one row. A
    batch whose gold labels all weigh 0 gives 0 with zero gradients.

    Relatives: `focal` for many easy rows, `ordinal` for ordered labels, `binary` for two labels through one score.
    """

    kind: Literal["cross_entropy"] = "cross_entropy"
    target_types: ClassVar[tuple[TargetType, ...]] = ("label",)

    class_weights: ClassWeights = None
    """How much each label matters: "balanced" (rarer labels more), or one number per label; all the same if unset."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of each gold label's probability that is spread evenly over all labels."""

    @property
    def weighting(self) -> ClassWeights:
        return self.class_weights

    def balanced(self) -> Self:
        return self if self.class_weights is not None else self.model_copy(update={"class_weights": "balanced"})

    def build(self, counts: Sequence[int], rows: int | None = None) -> LossFunction:
        """A function of scores (B, L) and targets (B,); L is the length of `counts`."""
        weights, smoothing = label_weights(self.class_weights, counts), self.label_smoothing

        def loss(scores: Tensor, targets: Tensor) -> Tensor:
            if weights is None:
                return F.cross_entropy(scores, targets, label_smoothing=smoothing)
            weight = scores.new_tensor(weights)
            weighted = F.cross_entropy(scores, targets, weight, label_smoothing=smoothing, reduction="none")
            return mean_by_weight(weighted, weight[targets])

        return loss
