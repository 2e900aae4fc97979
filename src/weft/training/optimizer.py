"""AdamW over parameter groups: lower layers learn more slowly, heads at their own rate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

_BLOCK = re.compile(r"encoder\.blocks\.(\d+)\.")


def parameter_groups(
    named: Iterable[tuple[str, nn.Parameter]],
    *,
    learning_rate: float,
    head_learning_rate: float | None,
    weight_decay: float,
    layer_decay: float,
    depth: int,
) -> list[dict[str, Any]]:
    """Every trainable parameter once, in groups of one learning rate and weight decay each.

    Block N of the encoder learns at learning_rate * layer_decay ** (depth - 1 - N), its embeddings at
    learning_rate * layer_decay ** depth, whatever else is the encoder's (a pooler) at the learning rate of the topmost
    block, and all outside of it at the heads' own. Biases, norms and other parameters of fewer than two dimensions have
    no weight decay. Frozen parameters are left out.

    Args:
        named: parameters by name, those of the encoder beginning with `encoder.`.
        learning_rate: of the topmost block.
        head_learning_rate: of all that is not the encoder; the same as `learning_rate` if None.
        weight_decay: of matrices.
        layer_decay: the factor from each block to the one below; 1 lets all learn alike.
        depth: the blocks of the encoder.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    head_rate = learning_rate if head_learning_rate is None else head_learning_rate
    for name, parameter in named:
        if parameter.requires_grad:
            inside = name.startswith("encoder.")
            rate = learning_rate * layer_decay ** _below_top(name, depth) if inside else head_rate
            decay = weight_decay if _decays(name, parameter) else 0.0
            groups.setdefault((rate, decay), []).append(parameter)
    return [{"params": members, "lr": rate, "weight_decay": decay} for (rate, decay), members in groups.items()]


def adamw(
    groups: Sequence[Mapping[str, Any]], betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
) -> torch.optim.AdamW:
    """AdamW over the groups, in one fused kernel where every parameter is float32 on a CPU or CUDA device.

    The groups stay as they are: the optimizer keeps its own.
    """
    parameters = [parameter for group in groups for parameter in group["params"]]
    fused = all(p.dtype == torch.float32 and p.device.type in ("cpu", "cuda") for p in parameters)
    own = [{**group, "params": list(group["params"])} for group in groups]
    return torch.optim.AdamW(own, betas=betas, eps=eps, fused=fused or None)  # None: torch chooses the next best


def _below_top(name: str, depth: int) -> int:
    """How many blocks lie above a parameter of the encoder."""
    if name.startswith("encoder.embeddings"):
        return depth
    block = _BLOCK.match(name)
    return depth - 1 - int(block[1]) if block else 0


def _decays(name: str, parameter: nn.Parameter) -> bool:
    # Only the owner's name tells a norm: a task that happens to be called "normal" is part of its head's names, too.
    *owners, own = name.split(".")
    owner = owners[-1] if owners else ""
    return parameter.ndim >= 2 and own != "bias" and owner != "norm" and not owner.endswith("_norm")
