"""Task vectors added to queries, keys and values (Q + Q_task, K + K_task, V + V_task; TEA-BERT:
Mou, Xu & Yao, after EmBERT).

A vector added to all keys moves all scores of a query alike, which softmax forgets: by itself K_task changes nothing,
and `parts = ["q", "v"]` is the same method with fewer parameters. It matters beside label attention, whose scores
come from several queries.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from weft.conditioning import ConditionedLayers, Conditioning, NetworkShape, Parts, chosen_layers, task_key
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner
from weft.tensors import Batch


class TaskQkv(Conditioning):
    """Up to three vectors per layer and task, zero at the start."""

    kind: Literal["task_qkv"] = "task_qkv"
    parts: Parts = ("q", "k", "v")
    """What it changes of attention: queries (q), keys (k), values (v)."""
    layers: ConditionedLayers = "all"
    """Layers it acts in, counted from 0, the lowest; "all" for every one."""

    def build(self, shape: NetworkShape) -> Conditioner:
        layers = chosen_layers(self.layers, shape.config)
        return TaskQkvConditioner(shape.tasks, shape.config.hidden_size, layers, self.parts)


class TaskQkvConditioner(Conditioner):
    """The vectors of the tasks, (layers, parts, H)."""

    def __init__(self, tasks: Iterable[str], width: int, layers: Sequence[int], parts: Parts) -> None:
        super().__init__()
        self.parts = parts
        self.index_of = {layer: index for index, layer in enumerate(layers)}
        size = (len(layers), len(parts), width)
        self.vectors = nn.ParameterDict({task_key(task): nn.Parameter(torch.zeros(size)) for task in tasks})

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        if layer.index not in self.index_of:
            return q, k, v
        added = dict(zip(self.parts, self.vectors[task_key(batch.task)][self.index_of[layer.index]], strict=True))
        q, k, v = (y + added[part] if part in added else y for part, y in (("q", q), ("k", k), ("v", v)))
        return q, k, v

    def encoder_key(self, task: str) -> Hashable:
        return task
