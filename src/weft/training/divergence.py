"""NaN and infinity, seen in the step they appear in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from weft.errors import DivergedError

LearnedBatch = tuple[str, Sequence[int]]  # a task, and the lines of the training rows its batch was made of
_SHOWN = 32  # lines of each batch


class DivergedStepError(DivergedError):
    """A run whose numbers are no numbers any more, with the batches of the step in which that came to light."""

    def __init__(self, message: str, step: int, batches: Sequence[LearnedBatch]) -> None:
        self.step, self.batches = step, list(batches)
        rows = "; ".join(f"task {task!r}, training rows in lines {_shown(lines)}" for task, lines in batches)
        super().__init__(
            f"training has diverged in step {step}: {message} ({rows}). Nothing of this step is kept. Start anew with "
            "a lower training.learning_rate or more training.warmup_ratio; if it fails here again, look at these rows"
        )


def check_finite(what: str, value: float, step: int, batches: Sequence[LearnedBatch]) -> None:
    """Raise where a loss, a gradient or a weight is NaN or infinite."""
    if not math.isfinite(value):
        raise DivergedStepError(f"{what} is {value}", step, batches)


def total(tensors: Iterable[Tensor]) -> float:
    """The sum of all numbers: NaN or infinite where one of them is, and the cheapest way to see it."""
    with torch.no_grad():
        return float(torch.stack([tensor.sum() for tensor in tensors]).sum())


def _shown(lines: Sequence[int]) -> str:
    more = f" and {len(lines) - _SHOWN:,} more" if len(lines) > _SHOWN else ""
    return ", ".join(map(str, lines[:_SHOWN])) + more
