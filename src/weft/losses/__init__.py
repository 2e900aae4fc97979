"""Losses: how far scores are from their targets, one kind per file.

A loss is chosen by `kind` in a config and builds a plain function, which owns no model and no parameters:

    loss = CrossEntropy(class_weights="balanced").build(counts=[90, 10])
    loss(scores, targets).backward()

Which targets a loss takes is in its `target_types`:

    "label"   one of L labels per row       targets (B,) int64, the label's index
    "labels"  any of L labels per row       targets (B, L) float, 0 or 1
    "score"   a number per row              targets (B,) float

Most read the scores of a head. A loss that `reads` features, what a head would be given, is no loss of a task but of a
phase, in which it stands for that of every task whose targets it takes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor

from weft.errors import ConfigError
from weft.spec import Spec

TargetType = Literal["label", "labels", "score"]
Reads = Literal["scores", "features"]
LossFunction = Callable[[Tensor, Tensor], Tensor]
ClassWeights = Literal["balanced"] | tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] | None


class Loss(Spec, root=True):
    """The root of all losses.

    A kind states the `target_types` it takes, how many scores per row it needs (`outputs`), and builds the function.
    """

    target_types: ClassVar[tuple[TargetType, ...]]
    ordered: ClassVar[bool] = False  # whether the order of the labels matters
    by_answer: ClassVar[bool] = True  # whether every answer counts by itself, so that a head can be fitted by it
    min_rows: ClassVar[int] = 1  # rows of a batch below which it is mostly noise
    reads: ClassVar[Reads] = "scores"  # what a head says, or what it reads: losses of the latter are for phases

    @property
    def weighting(self) -> ClassWeights:
        """How much each label matters; None where all weigh the same, or where the kind has no such option."""
        return None

    def balanced(self) -> Self:
        """The same loss with all labels weighing the same in total, unless the options say what each weighs."""
        return self

    def outputs(self, labels: int, target: TargetType = "label") -> int:
        """The scores a head gives per row for so many labels; one per label unless a kind says otherwise."""
        return labels

    @abstractmethod
    def build(self, counts: Sequence[int], rows: int | None = None) -> LossFunction:
        """A function of scores (B, `outputs`) and targets that returns the batch's mean loss, a scalar.

        Args:
            counts: training rows per label, in the order of the labels; empty where targets are scores.
            rows: training rows. Only "labels" targets need it, where a row may count for several labels or for none.

        Raises:
            ConfigError: the options do not suit that many labels.
        """


def label_weights(choice: ClassWeights, counts: Sequence[int]) -> list[float] | None:
    """One weight per label, or None where all weigh the same.

    "balanced" is sum(counts) / (L * count), so that every label weighs the same in total. A label without a training
    row weighs as much as one with a single row.
    """
    if choice is None:
        return None
    if choice == "balanced":
        return [sum(counts) / (len(counts) * max(count, 1)) for count in counts]
    if len(choice) != len(counts):
        raise ConfigError(
            f"class_weights has {len(choice)} numbers, but the task has {len(counts)} labels; "
            "give one number per label, in the order of the labels"
        )
    if not any(choice):
        raise ConfigError("class_weights are all zero, so nothing would be learned; give at least one label a weight")
    return list(choice)


def mean_by_weight(weighted: Tensor, weights: Tensor) -> Tensor:
    """The sum of the already weighted losses over the sum of their weights, a scalar.

    Where all weights are zero it is 0 with zero gradients.
    """
    total = weights.sum()
    return weighted.sum() / total.masked_fill(total == 0, torch.inf)


def likeness(targets: Tensor) -> Tensor:
    """How far the labels of each two rows are the same, (B, B) from 0 to 1: intersection over union where several."""
    if targets.ndim == 1:
        return (targets[:, None] == targets[None, :]).float()
    both = targets @ targets.T
    sizes = targets.sum(1)
    return both / (sizes[:, None] + sizes[None, :] - both).clamp(min=1)
