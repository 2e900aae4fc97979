"""A running average of the weights that learn: steadier than the last ones, for the price of a copy of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_EARLY = 9  # so the first average is a tenth of the beginning, whatever the decay


class WeightAverage:
    """The exponential moving average of some parameters.

    Early on less of the past is kept than `decay` says, or the average would stay where the weights began.

    Args:
        parameters: that learn, by name.
        decay: how much of the average each step keeps.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter], decay: float) -> None:
        self.parameters, self.decay = dict(parameters), decay
        self.tensors = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}

    @torch.no_grad()
    def update(self, steps: int) -> None:
        """Take in the weights of now, after so many steps of the optimizer."""
        kept = min(self.decay, steps / (steps + _EARLY))
        torch._foreach_lerp_(list(self.tensors.values()), list(self.parameters.values()), 1 - kept)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The parameters are their averages meanwhile."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def settle(self) -> None:
        """Let the parameters be their averages from now on."""
        for name, parameter in self.parameters.items():
            parameter.copy_(self.tensors[name])

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `tensors` was."""
        for name, tensor in self.tensors.items():
            tensor.copy_(tensors[name])

    def _exchange(self) -> None:
        for name, parameter in self.parameters.items():
            self.tensors[name], parameter.data = parameter.data, self.tensors[name]
