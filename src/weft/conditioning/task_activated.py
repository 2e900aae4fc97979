"""A projected task embedding, an activation and a projection on queries, keys and values (S3).

Q becomes W_proj · act(Q + W_task E_task). With `init = "random"`, the source's own choice, W_proj forgets what the
encoder knows, which is what its poor figures for this method show; `identity` with `activation = "none"` starts as the
identity.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.conditioning import Conditioning, Layers, NetworkShape, Parts, chosen_layers, task_key
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner
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
    init: Literal["random", "identity"] = "random"
    """How the output projection starts."""
    parts: Parts = ("q", "k", "v")
    layers: Layers = "all"

    def build(self, shape: NetworkShape) -> Conditioner:
        return TaskActivatedConditioner(self, shape, chosen_layers(self.layers, shape.config))


class TaskActivatedConditioner(Conditioner):
    def __init__(self, options: TaskActivated, shape: NetworkShape, layers: tuple[int, ...]) -> None:
        super().__init__()
        self.parts, self.activate = options.parts, _ACTIVATIONS[options.activation]
        self.places = {layer: place for place, layer in enumerate(layers)}
        width, std = shape.config.hidden_size, shape.config.initializer_range
        size = (len(options.parts), width, width)

        def begin(identity: bool) -> nn.Parameter:
            return nn.Parameter(torch.eye(width).repeat(size[0], 1, 1) if identity else torch.randn(size) * std)

        self.vectors = nn.ParameterDict({task_key(task): nn.Parameter(torch.zeros(width)) for task in shape.tasks})
        self.matrices = nn.ParameterList(begin(identity=False) for _ in layers)
        self.outputs = nn.ParameterList(begin(identity=options.init == "identity") for _ in layers)

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        if layer.index not in self.places:
            return q, k, v
        place = self.places[layer.index]
        added = self.matrices[place] @ self.vectors[task_key(batch.task)]  # (parts, H)
        changed = {"q": q, "k": k, "v": v}
        for part, vector, output in zip(self.parts, added, self.outputs[place], strict=True):
            changed[part] = F.linear(self.activate(changed[part] + vector), output)
        return changed["q"], changed["k"], changed["v"]

    def encoder_key(self, task: str) -> Hashable:
        return task
