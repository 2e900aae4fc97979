"""How far two passes over the same rows, which differ in nothing but what dropout left out, say different things."""

from __future__ import annotations

from torch import Tensor


def between_labels(first: Tensor, second: Tensor) -> Tensor:
    """The mean divergence of the softmaxes of two (R, L) scores, halfway between that of either from the other.

    A single score per answer, (R, 1), is the chance of one of two labels. 0 where there are no answers.
    """
    if first.shape[1] == 1:
        return between_chances(first, second)
    ours, theirs = (scores.float().log_softmax(1) for scores in (first, second))
    return ((ours.exp() - theirs.exp()) * (ours - theirs)).sum() / (2 * max(len(ours), 1))


def between_chances(first: Tensor, second: Tensor) -> Tensor:
    """The same of (R, L) scores that are each the chance of a yes, the mean over all of them."""
    ours, theirs = first.float(), second.float()
    apart = (ours.sigmoid() - theirs.sigmoid()) * (ours - theirs)  # (p - q)(logit p - logit q) is KL + KL
    return apart.sum() / (2 * max(apart.numel(), 1))
