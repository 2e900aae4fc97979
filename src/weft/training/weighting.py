"""How much each task's loss counts: as given, or learned from its own uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn


class LossWeights(nn.Module):
    """The tasks' weights, fixed or learned by homoscedastic uncertainty (Kendall et al. 2018).

    Fixed, a loss becomes weight * loss. Learned, it becomes weight * exp(-s) * loss + s / 2, where s is the task's own
    parameter, the log variance of its noise, and starts at 0: a task whose loss stays high comes to count less. Since a
    step concerns one task, only that task's parameter gets a gradient.

    Args:
        weights: a number of at least 0 for each task.
        learned: whether there are parameters to learn.
    """

    def __init__(self, weights: Mapping[str, float], learned: bool = False) -> None:
        super().__init__()
        for task, weight in weights.items():
            if not (math.isfinite(weight) and weight >= 0):
                raise ValueError(f"the loss of task {task!r} has weight {weight}, but it must be finite and at least 0")
        self.weights = dict(weights)
        # By number, not by name: tasks may have names, such as "a.b", that parameters may not.
        self.log_variances = nn.ParameterList(torch.zeros(()) for _ in weights if learned)
        self._numbers = {task: number for number, task in enumerate(weights)} if learned else {}

    def forward(self, task: str, loss: Tensor) -> Tensor:
        """The loss of a batch of one task, () → ()."""
        loss = self.weights[task] * loss
        if task not in self._numbers:
            return loss
        log_variance: Tensor = self.log_variances[self._numbers[task]]
        return (-log_variance).exp() * loss + log_variance / 2

    def current(self) -> dict[str, float]:
        """What each task's loss is multiplied by now."""
        numbers = self._numbers
        return {
            task: weight * math.exp(-self.log_variances[numbers[task]].item()) if task in numbers else weight
            for task, weight in self.weights.items()
        }
