"""Cross-entropy over sigmoids: each score is a yes or a no of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from weft.errors import ConfigError
from weft.losses import Loss, LossFunction, TargetType


class Binary(Loss):
    """Sigmoid cross-entropy, averaged over rows and labels.

    Two labels of which each row has one: a single score says how likely the second label is, so scores are (B, 1) and
    targets (B,) int64. More than two such labels are a ConfigError. Any of L labels per row: scores (B, L), targets
    (B, L) of 0 and 1, each label judged by itself.

    Relatives: `cross_entropy` for one of several labels, `focal` for many easy rows.
    """

    kind: Literal["binary"] = "binary"
    target_types: ClassVar[tuple[TargetType, ...]] = ("label", "labels")

    positive_weight: Literal["balanced"] | Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """How much a yes matters against a no: "balanced" (noes / yeses in training, per label) or a number; 1 if unset."""

    def balanced(self) -> Self:
        return self if self.positive_weight is not None else self.model_copy(update={"positive_weight": "balanced"})

    def outputs(self, labels: int, target: TargetType = "label") -> int:
        """One score for two labels of which a row has one; one per label where a row may have any of them."""
        if target == "labels":
            return labels
        if labels > 2:
            raise ConfigError(
                f"loss 'binary' tells two labels apart, but each row has one of {labels}; use 'cross_entropy', "
                "'focal' or, if the labels are ordered, 'ordinal'"
            )
        return 1

    def build(self, counts: Sequence[int], rows: int | None = None) -> LossFunction:
        """A function of scores (B, 1) and targets (B,), or of scores and targets (B, L).

        "balanced" with targets (B, L) needs `rows`. A label without a yes, or without a no, is taken to have one.
        """

        def weight(single: bool) -> list[float] | None:
            if self.positive_weight != "balanced":
                return None if self.positive_weight is None else [self.positive_weight]
            if single:
                return [_odds(sum(counts[1:]), sum(counts))]
            if rows is None:
                raise ValueError("a balanced positive_weight with several labels per row needs build(counts, rows)")
            return [_odds(count, rows) for count in counts]

        def loss(scores: Tensor, targets: Tensor) -> Tensor:
            single = targets.dim() == 1
            weights = weight(single)
            return F.binary_cross_entropy_with_logits(
                scores,
                (targets.unsqueeze(1) if single else targets).to(scores),
                pos_weight=None if weights is None else scores.new_tensor(weights),
            )

        return loss


def _odds(yeses: int, rows: int) -> float:
    """Noes per yes."""
    return max(rows - yeses, 1) / max(yeses, 1)
