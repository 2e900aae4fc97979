"""The cosine of every two rows held against how far their labels are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.losses import Loss, LossFunction, Reads, TargetType, likeness


class PairwiseCosine(Loss):
    """The squared error of cosines over all pairs of a batch: 1 is asked of rows of one label, 0 of others.

    Takes what a head would read, (B, F), and targets (B,) int64 or (B, L). With several labels per row, what is asked
    is how far their labels overlap (intersection over union). Pairs that share a label and pairs that share none count
    half each, however many there are. A batch in which no two rows share a label gives 0.

    It moves the encoder and leaves heads as they are, so a phase that fits or learns them must follow.

    Relatives: `supervised_contrastive`, which asks only that rows of one label be nearer than others. The pairs are
    those of SetFit (Tunstall et al. 2022), which draws some of them instead of taking all.
    """

    kind: Literal["pairwise_cosine"] = "pairwise_cosine"
    target_types: ClassVar[tuple[TargetType, ...]] = ("label", "labels")
    reads: ClassVar[Reads] = "features"
    min_rows: ClassVar[int] = 4

    def build(self, counts: Sequence[int] = (), rows: int | None = None) -> LossFunction:
        """A function of features (B, F) and targets; needs no counts."""

        def loss(features: Tensor, targets: Tensor) -> Tensor:
            vectors = F.normalize(features.float(), dim=1)
            asked = likeness(targets).to(vectors.dtype)
            other = ~torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
            error = (vectors @ vectors.T - asked).square()
            halves = [(asked > 0) & other, (asked == 0) & other]
            alike, apart = ((error * half).sum() / half.sum().clamp(min=1) for half in halves)
            return (alike + apart) / 2 * halves[0].any()

        return loss
