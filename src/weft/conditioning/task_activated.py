"""A projected task embedding, an activation and a projection on queries, keys and values (TEA-BERT: Mou, Xu & Yao).

Q becomes W_proj · act(Q + W_task E_task). With `init = "random"`, the source's own choice, W_proj forgets what the
encoder knows, which is what its poor figures for this method show; `identity` with `activation = "none"` starts as the
identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.conditioning import ConditionedLayers, Conditioning, NetworkShape, Parts, chosen_layers, task_key
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner
from weft.encoder.linear import linear
from weft.tensors import Batch

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "elu": F.elu,
    "tanh": torch.tanh,
    "selu": F.selu,
    "gelu": F.gelu,
}


class TaskActivated(Conditioning):
    """One vector per task, and per layer and part a task projection and an output projection that all tasks share."""

    kind: Literal["task_activated"] = "task_activated"
    activation: Literal["none", "elu", "tanh", "selu", "gelu"] = "elu"
    """The function between adding the task vector and the output projection."""
    init: Literal["random", "identity"] = "random"
    """How the output projection starts."""
    parts: Parts = ("q", "k", "v")
    """What it changes of attention: queries (q), keys (k), values (v)."""
    layers: ConditionedLayers = "all"
    """Layers it acts in, counted from 0, the lowest; "all" for every one."""

    def build(self, shape: NetworkShape) -> Conditioner:
        layers, config = chosen_layers(self.layers, shape.config), shape.config
        size, identity = (len(self.parts), config.hidden_size, config.hidden_size), self.init == "identity"
        return TaskActivatedConditioner(
            {task: nn.Parameter(torch.zeros(config.hidden_size)) for task in shape.tasks},
            {layer: nn.Parameter(torch.randn(size) * config.initializer_range) for layer in layers},
            {layer: _projection(size, config.initializer_range, identity) for layer in layers},
            self.parts,
            _ACTIVATIONS[self.activation],
        )


class TaskActivatedConditioner(Conditioner):
    """The vectors of the tasks, (H,), and by layer both projections of each part, (parts, H, H)."""

    def __init__(
        self,
        vectors: Mapping[str, nn.Parameter],
        matrices: Mapping[int, nn.Parameter],
        outputs: Mapping[int, nn.Parameter],
        parts: Parts,
        activate: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__()
        self.parts, self.activate = parts, activate
        self.index_of = {layer: index for index, layer in enumerate(matrices)}
        self.vectors = nn.ParameterDict({task_key(task): vector for task, vector in vectors.items()})
        self.matrices = nn.ParameterList(matrices.values())
        self.outputs = nn.ParameterList(outputs.values())

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        if layer.index not in self.index_of:
            return q, k, v
        index = self.index_of[layer.index]
        added = self.matrices[index] @ self.vectors[task_key(batch.task)]  # (parts, H)
        changed = {"q": q, "k": k, "v": v}
        for part, vector, output in zip(self.parts, added, self.outputs[index], strict=True):
            changed[part] = linear(self.activate(changed[part] + vector), output)
        return changed["q"], changed["k"], changed["v"]

    def encoder_key(self, task: str) -> Hashable:
        return task


def _projection(size: tuple[int, int, int], std: float, identity: bool) -> nn.Parameter:
    return nn.Parameter(torch.eye(size[1]).repeat(size[0], 1, 1) if identity else torch.randn(size) * std)
