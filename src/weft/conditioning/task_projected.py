"""One task embedding, projected into every layer's queries, keys and values (Q + W_task E_task; TEA-BERT)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from weft.conditioning import ConditionedLayers, Conditioning, NetworkShape, Parts, chosen_layers, task_key
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner
from weft.tensors import Batch


class TaskProjected(Conditioning):
    """One vector per task, zero at the start, and per layer up to three H × H matrices that all tasks share."""

    kind: Literal["task_projected"] = "task_projected"
    parts: Parts = ("q", "k", "v")
    """What it changes of attention: queries (q), keys (k), values (v)."""
    layers: ConditionedLayers = "all"
    """Layers it acts in, counted from 0, the lowest; "all" for every one."""

    def build(self, shape: NetworkShape) -> Conditioner:
        config, layers = shape.config, chosen_layers(self.layers, shape.config)
        sizes = config.hidden_size, config.initializer_range
        return TaskProjectedConditioner(shape.tasks, *sizes, layers, self.parts)


class TaskProjectedConditioner(Conditioner):
    """The vectors of the tasks, (H,), and by layer the matrices of all parts, (parts, H, H)."""

    def __init__(self, tasks: Iterable[str], width: int, std: float, layers: Sequence[int], parts: Parts) -> None:
        super().__init__()
        self.parts = parts
        self.index_of = {layer: index for index, layer in enumerate(layers)}
        self.vectors = nn.ParameterDict({task_key(task): nn.Parameter(torch.zeros(width)) for task in tasks})
        size = (len(parts), width, width)
        self.matrices = nn.ParameterList(nn.Parameter(torch.randn(size) * std) for _ in layers)

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        if layer.index not in self.index_of:
            return q, k, v
        projected = self.matrices[self.index_of[layer.index]] @ self.vectors[task_key(batch.task)]  # (parts, H)
        added = dict(zip(self.parts, projected, strict=True))
        q, k, v = (y + added[part] if part in added else y for part, y in (("q", q), ("k", k), ("v", v)))
        return q, k, v

    def encoder_key(self, task: str) -> Hashable:
        return task
