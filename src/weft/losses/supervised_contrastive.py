"""Rows of one label brought together, those of others apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from weft.losses import Loss, LossFunction, Reads, TargetType, likeness


class SupervisedContrastive(Loss):
    """For each row of a batch, how unlikely it is to find the rows that share its label among all others.

    Takes what a head would read, (B, F), and targets (B,) int64 or (B, L). Rows are compared by cosine; the softmax of
    these over `temperature` says how likely a row is to be taken for each other one (Khosla et al. 2020, with the mean
    over positives outside of the logarithm). With several labels per row, rows count as far as their labels overlap
    (intersection over union). Rows that share nothing with any other say nothing; a batch of such rows gives 0.

    It moves the encoder and leaves heads as they are, so a phase that fits or learns them must follow.

    Relatives: `pairwise_cosine`, which says how near rows of one label and how far others are to be.
    """

    kind: Literal["supervised_contrastive"] = "supervised_contrastive"
    target_types: ClassVar[tuple[TargetType, ...]] = ("label", "labels")
    reads: ClassVar[Reads] = "features"
    min_rows: ClassVar[int] = 4

    temperature: Annotated[float, Field(gt=0)] = 0.1
    """The smaller, the more it is about the nearest rows."""
    anchors: bool = False
    """Whether each label's words are a row of that label, for tasks that read one text."""

    def build(self, counts: Sequence[int] = (), rows: int | None = None) -> LossFunction:
        """A function of features (B, F) and targets; needs no counts."""
        temperature = self.temperature

        def loss(features: Tensor, targets: Tensor) -> Tensor:
            vectors = F.normalize(features.float(), dim=1)
            itself = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
            alike = likeness(targets).to(vectors.dtype).masked_fill(itself, 0)
            near = (vectors @ vectors.T / temperature).masked_fill(itself, -torch.inf)
            log_p = (near - near.logsumexp(1, keepdim=True)).masked_fill(itself, 0)
            partners = alike.sum(1)
            paired = partners > 0
            each = (alike * log_p).sum(1) / partners.masked_fill(~paired, 1)
            return -each.sum() / paired.sum().clamp(min=1)

        return loss
