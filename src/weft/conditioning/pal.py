"""Projected attention layers (PAL: Stickland & Murray 2019): low-rank attention beside each layer, per task."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from weft.conditioning import ConditionedLayers, Conditioning, NetworkShape, chosen_layers, per_task, task_key
from weft.encoder.attention import attend
from weft.encoder.conditioner import Conditioner
from weft.encoder.linear import LinearLayer
from weft.errors import ConfigError, Fault
from weft.tensors import Batch


class Pal(Conditioning):
    """Down to `width`, multi-head attention there, and up again; down and up are shared by a task's layers.

    What comes out is added to the block's result before its last norm. The way up is zero at the start.
    """

    kind: Literal["pal"] = "pal"
    width: Annotated[int, Field(ge=1)] = 204
    """Numbers per token that the attention works with, a multiple of `heads`."""
    heads: Annotated[int, Field(ge=1)] = 12
    """Attention heads."""
    layers: ConditionedLayers = "all"
    """Layers it acts in, counted from 0, the lowest; "all" for every one."""

    def build(self, shape: NetworkShape) -> Conditioner:
        if self.width % self.heads:
            message = f"pal's width {self.width} cannot be divided among {self.heads} heads"
            raise ConfigError(Fault("conditioning", message))
        config, layers = shape.config, chosen_layers(self.layers, shape.config)
        sizes = config.hidden_size, self.width, self.heads, len(layers)
        return PalConditioner(layers, per_task(shape.tasks, lambda _: TaskPal(*sizes, config.initializer_range)))


class PalConditioner(Conditioner):
    """The projected attention of every task."""

    def __init__(self, layers: Sequence[int], tasks: nn.ModuleDict) -> None:
        super().__init__()
        self.index_of = {layer: index for index, layer in enumerate(layers)}
        self.tasks = tasks

    def at_block(self, x: Tensor, index: int, batch: Batch) -> Tensor | None:
        if index not in self.index_of:
            return None
        added: Tensor = self.tasks[task_key(batch.task)](x, self.index_of[index], batch)
        return added

    def encoder_key(self, task: str) -> Hashable:
        return task


class TaskPal(nn.Module):
    """The projected attention of one task."""

    def __init__(self, width: int, narrow: int, heads: int, layers: int, std: float) -> None:
        super().__init__()
        self.heads = heads
        self.down = LinearLayer(width, narrow, bias=False)
        self.up = LinearLayer(narrow, width, bias=False)
        self.qkv = nn.ModuleList(LinearLayer(narrow, 3 * narrow) for _ in range(layers))
        for linear in (self.down, *self.qkv):
            nn.init.normal_(linear.weight, std=std)
        for linear in self.qkv:
            nn.init.zeros_(linear.bias)  # type: ignore[arg-type]
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor, index: int, batch: Batch) -> Tensor:
        """(T, H) → (T, H), in the layer of this index among those chosen."""
        q, k, v = self.qkv[index](self.down(x)).chunk(3, -1)
        added: Tensor = self.up(attend(q, k, v, self.heads, batch))
        return added
