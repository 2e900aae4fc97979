"""One task embedding, projected into every layer's queries, keys and values (S3: Q + W_task E_task)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import torch
from torch import Tensor, nn

from weft.conditioning import Blueprint, Conditioning, Layers, Parts, chosen_layers, slot
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Seams
from weft.tensors import Batch


class TaskProjected(Conditioning):
    """One vector per task, zero at the start, and per layer up to three H × H matrices that all tasks share."""

    kind: Literal["task_projected"] = "task_projected"
    parts: Parts = ("q", "k", "v")
    layers: Layers = "all"

    def build(self, blueprint: Blueprint) -> Seams:
        return TaskProjectedSeams(blueprint, self.parts, chosen_layers(self.layers, blueprint.config))


class TaskProjectedSeams(Seams):
    def __init__(self, blueprint: Blueprint, parts: Parts, layers: tuple[int, ...]) -> None:
        super().__init__()
        self.parts = parts
        self.places = {layer: place for place, layer in enumerate(layers)}
        width, spread = blueprint.config.hidden_size, blueprint.config.initializer_range
        self.vectors = nn.ParameterDict({slot(task): nn.Parameter(torch.zeros(width)) for task in blueprint.tasks})
        shape = (len(parts), width, width)
        self.matrices = nn.ParameterList(nn.Parameter(torch.randn(shape) * spread) for _ in layers)

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        if layer.index not in self.places:
            return q, k, v
        projected = self.matrices[self.places[layer.index]] @ self.vectors[slot(batch.task)]  # (parts, H)
        added = dict(zip(self.parts, projected, strict=True))
        q, k, v = (y + added[part] if part in added else y for part, y in (("q", q), ("k", k), ("v", v)))
        return q, k, v

    def pass_key(self, task: str) -> Hashable:
        return task
