"""Heads fitted at once to the states of all rows, instead of learned step by step.

Without dropout and with the encoder as it is, what a linear head reads of a row never changes, and the loss is a smooth
function of the head's weights alone, for most losses a convex one: a quasi-Newton method finds its least value in a
second. A penalty on large weights stands for what few rows cannot tell, as in any logistic regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.losses import LossFunction
from weft.model.network import Network, loss_of
from weft.training.accelerator import Hardware
from weft.training.task_batches import TaskBatches

STRENGTH = 10.0  # of the rows against the penalty; C in other libraries
_STEPS = 300  # of the optimizer, at most
_EXACT = 1e-7  # the gradient at which it stops
_MOST = 2**25  # numbers that are read of the rows of a task; of more, only the first rows are read


@dataclass(frozen=True)
class HeadRows:
    """What a head reads of some rows, (R, F), the answers of these as its loss takes them, and the loss."""

    features: Tensor
    gold: Tensor
    loss: LossFunction


def fit_heads(network: Network, tasks: Sequence[str], batches: Mapping[str, TaskBatches], hardware: Hardware) -> None:
    """Fit the heads of some tasks to all their training rows; one that tasks share, to the rows of all."""
    network.eval()
    for key in dict.fromkeys(network.head_of(task) for task in tasks):
        sharing = [task for task in tasks if network.head_of(task) == key]
        layer = network.tasks[sharing[0]].head.linear_layer(network.heads[key])
        fit_layer(layer, [read_rows(network, task, batches[task], hardware) for task in sharing])


@torch.no_grad()
def read_rows(network: Network, task: str, batches: TaskBatches, hardware: Hardware) -> HeadRows:
    """What the head of a task reads of its training rows."""
    features, gold = [], []
    for batch in batches.once():
        moved = batch.to(hardware.device)
        with hardware.autocast():
            features.append(network(moved, features=True).values.double().cpu())
        assert batch.gold is not None
        gold.append(batch.gold)
        if sum(part.numel() for part in features) > _MOST:
            break
    loss = network.targets[task].answer_loss(loss_of(network.tasks[task]))
    assert loss is not None
    return HeadRows(torch.cat(features), torch.cat(gold), loss)


def fit_layer(layer: nn.Linear, parts: Sequence[HeadRows], strength: float = STRENGTH) -> None:
    """Give a layer the weights of least loss and penalty.

    Features are centred and scaled for this, all by one number, so that the penalty means the same for every encoder:
    the mean vector becomes 0 and the mean square of their lengths 1.
    """
    everything = torch.cat([part.features for part in parts])
    centre = everything.mean(0)
    scale = (everything - centre).square().sum(1).mean().sqrt().clamp(min=1e-12)
    scaled = [((part.features - centre) / scale, part) for part in parts]
    weight = torch.zeros(layer.weight.shape, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(weight), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weight, bias], max_iter=_STEPS, tolerance_grad=_EXACT, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        total = weight.square().sum() / (2 * strength * len(everything))
        for features, part in scaled:
            total = total + part.loss(features @ weight.T + bias, part.gold) * (len(features) / len(everything))
        total.backward()
        return total.detach()

    with torch.enable_grad():
        optimizer.step(closure)
    with torch.no_grad():
        unscaled = weight / scale
        layer.weight.copy_(unscaled)
        layer.bias.copy_(bias - unscaled @ centre)
