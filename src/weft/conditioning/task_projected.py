"""One task embedding, projected into every layer's queries, keys and values (S3: Q + W_task E_task)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import torch
from torch import Tensor, nn

from weft.conditioning import Conditioning, Layers, NetworkShape, Parts, chosen_layers, task_key
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner
from weft.tensors import Batch


class TaskProjected(Conditioning):
    """One vector per task, zero at the start, and per layer up to three H × H matrices that all tasks share."""

    kind: Literal["task_projected"] = "task_projected"
    parts: Parts = ("q", "k", "v")
    layers: Layers = "all"

    def build(self, shape: NetworkShape) -> Conditioner:
        return TaskProjectedConditioner(shape, self.parts, chosen_layers(self.layers, shape.config))


class TaskProjectedConditioner(Conditioner):
    def __init__(self, shape: NetworkShape, parts: Parts, layers: tuple[int, ...]) -> None:
        super().__init__()
        self.parts = parts
        self.places = {layer: place for place, layer in enumerate(layers)}
        width, std = shape.config.hidden_size, shape.config.initializer_range
        self.vectors = nn.ParameterDict({task_key(task): nn.Parameter(torch.zeros(width)) for task in shape.tasks})
        size = (len(parts), width, width)
        self.matrices = nn.ParameterList(nn.Parameter(torch.randn(size) * std) for _ in layers)

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        if layer.index not in self.places:
            return q, k, v
        projected = self.matrices[self.places[layer.index]] @ self.vectors[task_key(batch.task)]  # (parts, H)
        added = dict(zip(self.parts, projected, strict=True))
        q, k, v = (y + added[part] if part in added else y for part, y in (("q", q), ("k", k), ("v", v)))
        return q, k, v

    def encoder_key(self, task: str) -> Hashable:
        return task
