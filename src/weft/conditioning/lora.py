"""Low-rank changes to the projections, per task (LoRA: Hu et al. 2021)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from weft.conditioning import Conditioning, Layers, NetworkShape, Parts, chosen_layers, task_key
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner
from weft.tensors import Batch


class Lora(Conditioning):
    """For each task, layer and part, x A B · alpha / rank is added; B is zero at the start."""

    kind: Literal["lora"] = "lora"
    rank: Annotated[int, Field(ge=1)] = 8
    alpha: Annotated[float, Field(gt=0)] = 16.0
    parts: Parts = ("q", "v")
    layers: Layers = "all"

    def build(self, shape: NetworkShape) -> Conditioner:
        return LoraConditioner(self, shape, chosen_layers(self.layers, shape.config))


class LoraConditioner(Conditioner):
    def __init__(self, options: Lora, shape: NetworkShape, layers: tuple[int, ...]) -> None:
        super().__init__()
        self.parts, self.scale = options.parts, options.alpha / options.rank
        self.places = {layer: place for place, layer in enumerate(layers)}
        width, count = shape.config.hidden_size, (len(layers), len(options.parts))
        down, up = (*count, width, options.rank), (*count, options.rank, width)
        self.down = nn.ParameterDict(
            {task_key(task): nn.Parameter(torch.randn(down) * width**-0.5) for task in shape.tasks}
        )
        self.up = nn.ParameterDict({task_key(task): nn.Parameter(torch.zeros(up)) for task in shape.tasks})

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        if layer.index not in self.places:
            return q, k, v
        place = self.places[layer.index]
        down, up = self.down[task_key(batch.task)][place], self.up[task_key(batch.task)][place]
        changed = {"q": q, "k": k, "v": v}
        for number, part in enumerate(self.parts):
            changed[part] = changed[part] + x @ down[number] @ up[number] * self.scale
        return changed["q"], changed["k"], changed["v"]

    def encoder_key(self, task: str) -> Hashable:
        return task
