"""Heads fitted at once to the states of all rows, instead of learned step by step.

Without dropout and with the encoder as it is, what a linear head reads of a row never changes, and the loss is a smooth
function of the head's weights alone, for most losses a convex one: a quasi-Newton method finds its least value in a
second. A penalty on large weights stands for what few rows cannot tell, as in any logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn

from weft.conditioning import task_key
from weft.layers.features import Features
from weft.losses import LossFunction
from weft.model.network import Network, loss_of
from weft.tensors import Batch
from weft.training.accelerator import Hardware
from weft.training.label_directions import label_directions
from weft.training.task_batches import TaskBatches

STRENGTH = 10.0  # of the rows against the penalty; C in other libraries
BESIDE = 0.1  # the same where a direction is known before, and rows only tell what is to be added to it
_STEPS = 300  # of the optimizer, at most
_EXACT = 1e-7  # the gradient at which it stops
MOST_READ = 2**25  # numbers that are read of the rows of a task; of more, only the first rows are read


@dataclass(frozen=True)
class HeadRows:
    """What a head reads of some rows, (R, F), the answers of these as its loss takes them, and the loss."""

    features: Tensor
    gold: Tensor
    loss: LossFunction


def fit_heads(
    network: Network, tasks: Sequence[str], batches: Mapping[str, TaskBatches], hardware: Hardware, words: bool = True
) -> None:
    """Fit the heads of some tasks to all their training rows; one that tasks share, to the rows of all.

    Args:
        words: whether heads begin with what the words of labels tell, where they are a task's own.
    """
    network.eval()
    for key in dict.fromkeys(network.head_of(task) for task in tasks):
        sharing = [task for task in tasks if network.head_of(task) == key]
        layer = network.tasks[sharing[0]].head.linear_layer(network.heads[key])
        rows = [read_rows(network, task, batches[task].once(), hardware) for task in sharing]
        features = cast(Features, network.features[task_key(sharing[0])])
        directions = label_directions(network, sharing[0]) if words and len(sharing) == 1 else None
        fit_layer(layer, rows, features.direction(network.encoder.config.hidden_size), directions)


@torch.no_grad()
def read_rows(network: Network, task: str, batches: Iterable[Batch], hardware: Hardware) -> HeadRows:
    """What the head of a task reads of rows to learn from."""
    features, gold = [], []
    for batch in batches:
        moved = batch.to(hardware.device)
        with hardware.autocast():
            features.append(network(moved, features=True).values.double().cpu())
        assert batch.gold is not None
        gold.append(batch.gold)
        if sum(part.numel() for part in features) > MOST_READ:
            break
    loss = network.targets[task].answer_loss(loss_of(network.tasks[task]))
    assert loss is not None
    return HeadRows(torch.cat(features), torch.cat(gold), loss)


def fit_layer(
    layer: nn.Linear,
    parts: Sequence[HeadRows],
    direction: Tensor | None = None,
    directions: Tensor | None = None,
    strength: float | None = None,
) -> None:
    """Give a layer the weights of least loss and penalty.

    Features are centred and scaled for this, all by one number, so that the penalty means the same for every encoder:
    the mean vector becomes 0 and the mean square of their lengths 1.

    Args:
        direction: along which answers are known to rise, (F,). What it alone can tell is fitted first, and the penalty
            is on how far weights go from there.
        directions: one for each score, (O, F), along which it is thought to rise. How far they are to be trusted is
            one number, which is fitted first; the penalty is on how far weights go from there. Where their number is
            not that of scores, they are passed over.
        strength: of the rows against the penalty; see `STRENGTH` and `BESIDE`.
    """
    everything = torch.cat([part.features for part in parts])
    centre = everything.mean(0)
    scale = (everything - centre).square().sum(1).mean().sqrt().clamp(min=1e-12)
    scaled = [replace(part, features=(part.features - centre) / scale) for part in parts]
    begin = torch.zeros(layer.weight.shape, dtype=torch.float64)
    penalty = 1 / ((strength or STRENGTH) * len(everything))
    if direction is not None:
        along = direction.double().unsqueeze(0)
        spread = (torch.cat([part.features for part in scaled]) @ along.T).square().mean().sqrt().clamp(min=1e-12)
        told = [replace(part, features=part.features @ along.T / spread) for part in scaled]
        begin = _least(told, begin[:, :1], penalty)[0] @ along / spread
        penalty = 1 / ((strength or BESIDE) * len(everything))
    elif directions is not None and directions.shape == layer.weight.shape:
        begin = _trust(scaled, directions, penalty) * directions
    weight, bias = _least(scaled, begin, penalty)
    with torch.no_grad():
        unscaled = weight / scale
        layer.weight.copy_(unscaled)
        layer.bias.copy_(bias - unscaled @ centre)


def _trust(parts: Sequence[HeadRows], directions: Tensor, penalty: float) -> float:
    """How many times directions (O, F) are to be the weights, for the least loss and penalty; never against them."""
    told = [replace(part, features=part.features @ directions.T) for part in parts]
    size = float(directions.square().sum())
    trust = torch.zeros((), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(directions), dtype=torch.float64, requires_grad=True)
    _minimise(told, [trust, bias], lambda rows: rows * trust + bias, lambda: trust.square() * (size * penalty / 2))
    return max(0.0, float(trust.detach()))


def _least(parts: Sequence[HeadRows], begin: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    """Weights and bias of least loss, with half this penalty on the squares of how far weights go from `begin`."""
    weight = begin.clone().requires_grad_()
    bias = torch.zeros(len(begin), dtype=torch.float64, requires_grad=True)
    far = penalty / 2
    _minimise(parts, [weight, bias], lambda rows: rows @ weight.T + bias, lambda: (weight - begin).square().sum() * far)
    return weight.detach(), bias.detach()


def _minimise(
    parts: Sequence[HeadRows],
    parameters: Sequence[Tensor],
    score: Callable[[Tensor], Tensor],
    price: Callable[[], Tensor],
) -> None:
    """Give parameters the values of least loss over all rows, and price.

    Args:
        score: from the features of rows to their scores, (R, F) → (R, O).
        price: of the parameters as they are.
    """
    rows = sum(len(part.features) for part in parts)
    optimizer = torch.optim.LBFGS(
        parameters, max_iter=_STEPS, tolerance_grad=_EXACT, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        total = price()
        for part in parts:
            total = total + part.loss(score(part.features), part.gold) * (len(part.features) / rows)
        total.backward()
        return total.detach()

    with torch.enable_grad():
        optimizer.step(closure)
