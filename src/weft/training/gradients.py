"""Gradients of several tasks on the same parameters: as flat vectors, compared, and freed of conflict."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import torch
from torch import Tensor, nn


def collect(parameters: Iterable[nn.Parameter]) -> Tensor:
    """A copy of all gradients end to end, (P,) for P numbers in all; zeros where a parameter has none."""
    parts = [(torch.zeros_like(p) if p.grad is None else p.grad).detach().reshape(-1) for p in parameters]
    if not parts:
        return torch.zeros(0)
    return torch.cat(parts) if len(parts) > 1 else parts[0].clone()


def clear(parameters: Iterable[nn.Parameter], large: int = 2**25) -> None:
    """Forget all gradients; those of a large table on a processor become zeros where they are.

    Args:
        large: bytes; what has more of them, an allocator asks the system for anew each time (see `encoder.lookup`).
    """
    for parameter in parameters:
        if parameter.device.type != "cpu" or parameter.nbytes <= large:
            parameter.grad = None
        elif parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        else:
            parameter.grad.zero_()


def assign(parameters: Iterable[nn.Parameter], flat: Tensor) -> None:
    """Make a copy of `flat`, (P,), the parameters' gradients: the reverse of `collect`.

    Every parameter gets a gradient, also one that had none, and an optimizer moves by momentum and weight decay what
    has a gradient of zeros. So give only parameters that the tasks share.
    """
    parameters = list(parameters)
    sizes = [parameter.numel() for parameter in parameters]
    if flat.shape != (sum(sizes),):
        raise ValueError(
            f"the parameters have {sum(sizes)} numbers, but the gradient has the shape {tuple(flat.shape)}"
        )
    for parameter, part in zip(parameters, flat.detach().split(sizes), strict=True):
        parameter.grad = part.view_as(parameter).to(parameter, copy=True)


def project_conflicts(gradients: Sequence[Tensor], generator: random.Random) -> Tensor:
    """The sum of the tasks' gradients, each freed of what works against another, (P,): PCGrad (Yu et al. 2020).

    Each gradient meets the others, as they were at first, in random order; where the dot product is negative, the part
    along the other is taken away. Without any conflict this is exactly the sum.

    Args:
        gradients: one per task, (P,) each; they stay as they are.
        generator: decides the orders; it moves on by the same amount whether there are conflicts or not.
    """
    if not gradients:
        raise ValueError("at least one gradient is needed")
    squares = [float(gradient.dot(gradient)) for gradient in gradients]
    total = torch.zeros_like(gradients[0])
    for task, gradient in enumerate(gradients):
        others = [other for other in range(len(gradients)) if other != task]
        generator.shuffle(others)
        for other in others:
            product = float(gradient.dot(gradients[other]))
            if product < 0 < squares[other]:  # the square of the tiniest gradients is 0
                gradient = gradient - gradients[other] * (product / squares[other])
        total += gradient
    return total


def compare_gradients(
    network: nn.Module, parameters: Sequence[nn.Parameter], losses: Mapping[str, Iterable[Tensor]]
) -> dict[str, float]:
    """The `agreement` of the tasks' gradients on some parameters; no parameter has a gradient afterwards.

    Args:
        losses: the parts of each task's loss; the gradient of one is added before the next is asked for, so never
            more than one batch is held.
    """
    network.zero_grad()
    gradients = {}
    for task, parts in losses.items():
        for part in parts:
            part.backward()
        gradients[task] = collect(parameters)
        network.zero_grad()
    return agreement(gradients)


def agreement(gradients: Mapping[str, Tensor]) -> dict[str, float]:
    """The cosine between the gradients, (P,) each, of every two tasks "a~b", in the order given.

    A gradient of zeros agrees with none: 0.
    """
    norms = {task: float(gradient.norm()) for task, gradient in gradients.items()}
    return {
        f"{a}~{b}": _cosine(float(gradients[a].dot(gradients[b])), norms[a] * norms[b])
        for a, b in combinations(gradients, 2)
    }


def _cosine(product: float, norms: float) -> float:
    return max(-1.0, min(1.0, product / norms)) if norms else 0.0
