"""How the learning rate rises and falls in the course of training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

DecayShape = Literal["linear", "cosine", "constant"]

# The scale after warm-up, by the part of the remaining steps that is done.
_SHAPES: Mapping[DecayShape, Callable[[float], float]] = {
    "linear": lambda done: 1 - done,
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "constant": lambda done: 1.0,
}


def scale(step: int, steps: int, warmup_ratio: float, shape: DecayShape) -> float:
    """What to multiply the learning rates by in one step; from 0 to 1, and more than 0 in every step of the run.

    Warm-up rises in even parts to 1, which is reached in the step after it; then the shape falls towards 0, which is
    reached only after the last step. So neither the first nor the last step is wasted on a learning rate of 0. Steps
    beyond the last have the scale 0, or 1 if constant.

    Args:
        step: which step, 0 … steps - 1.
        steps: of the whole run.
        warmup_ratio: the part of all steps that is warm-up, 0 … 1, rounded to whole steps.
        shape: of the course after warm-up.
    """
    if not 0 <= warmup_ratio <= 1:
        raise ValueError(f"warmup_ratio is {warmup_ratio}, but must be from 0 to 1")
    warmup = round(warmup_ratio * steps)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return _SHAPES[shape]((step - warmup) / (steps - warmup) if step < steps else 1.0)
