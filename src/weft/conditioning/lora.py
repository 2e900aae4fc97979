"""Low-rank changes to the projections, per task (LoRA: Hu et al. 2021)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from weft.conditioning import ConditionedLayers, Conditioning, NetworkShape, Parts, chosen_layers, task_key
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner
from weft.tensors import Batch


class Lora(Conditioning):
    """For each task, layer and part, x A B · alpha / rank is added; B is zero at the start."""

    kind: Literal["lora"] = "lora"
    rank: Annotated[int, Field(ge=1)] = 8
    """Width of the two narrow matrices A and B; the larger, the more can be learned and the more weights there are."""
    alpha: Annotated[float, Field(gt=0)] = 16.0
    """What is added is scaled by alpha / rank."""
    parts: Parts = ("q", "v")
    """What it changes of attention: queries (q), keys (k), values (v)."""
    layers: ConditionedLayers = "all"
    """Layers it acts in, counted from 0, the lowest; "all" for every one."""

    def build(self, shape: NetworkShape) -> Conditioner:
        layers = chosen_layers(self.layers, shape.config)
        return LoraConditioner(shape.tasks, shape.config.hidden_size, layers, self.parts, self.rank, self.alpha)


class LoraConditioner(Conditioner):
    """The two narrow matrices of each task, stacked over layers and parts."""

    def __init__(
        self, tasks: Sequence[str], width: int, layers: Sequence[int], parts: Parts, rank: int, alpha: float
    ) -> None:
        super().__init__()
        self.parts, self.scale = parts, alpha / rank
        self.index_of = {layer: index for index, layer in enumerate(layers)}
        count = len(layers), len(parts)
        down, up = (*count, width, rank), (*count, rank, width)
        self.down = nn.ParameterDict({task_key(task): nn.Parameter(torch.randn(down) * width**-0.5) for task in tasks})
        self.up = nn.ParameterDict({task_key(task): nn.Parameter(torch.zeros(up)) for task in tasks})

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        if layer.index not in self.index_of:
            return q, k, v
        index = self.index_of[layer.index]
        down, up = self.down[task_key(batch.task)][index], self.up[task_key(batch.task)][index]
        changed = {"q": q, "k": k, "v": v}
        for number, part in enumerate(self.parts):
            changed[part] = changed[part] + x @ down[number] @ up[number] * self.scale
        return changed["q"], changed["k"], changed["v"]

    def encoder_key(self, task: str) -> Hashable:
        return task
