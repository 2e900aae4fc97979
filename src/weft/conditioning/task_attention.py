"""Attention layers of a task's own on top of the encoder (Jia, Task-specific attention): self-attention for one
text, cross-attention for two.

The source takes the last layer's first token as the text's vector and adds neither residual nor norm; `plain = true` is
that form, and `init = "uniform"` its optional start from U(0.9, 1), near a mean over the tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from weft.conditioning import Conditioning, NetworkShape, per_task, task_key
from weft.encoder.attention import attend
from weft.encoder.conditioner import Conditioner
from weft.encoder.config import EncoderConfig
from weft.encoder.linear import LinearLayer
from weft.errors import ConfigError, Fault
from weft.tensors import Batch, States


class TaskAttention(Conditioning):
    """`counts` layers for each task (default `count`); a siamese task's two texts attend to each other."""

    kind: Literal["task_attention"] = "task_attention"
    renamed: ClassVar[Mapping[str, str]] = {"start": "init"}
    count: Annotated[int, Field(ge=0)] = 1
    """Layers of a task that `counts` does not name."""
    counts: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Layers by task, for example {sentiment = 2, paraphrase = 1, similarity = 3}."""
    plain: bool = False
    """Without residual and norm, as in the source."""
    init: Literal["normal", "uniform"] = "normal"
    """`normal`: as the encoder itself begins; `uniform`: all weights from U(0.9, 1)."""

    def build(self, shape: NetworkShape) -> Conditioner:
        unknown = ", ".join(task for task in self.counts if task not in shape.tasks)
        if unknown:
            tasks = ", ".join(shape.tasks)
            message = f"there is no task {unknown}; the tasks are: {tasks}"
            raise ConfigError(Fault("conditioning.counts", message))
        layer = partial(TopLayer, shape.config, plain=self.plain, uniform=self.init == "uniform")

        def stack(task: str) -> nn.Module:
            return nn.ModuleList(layer() for _ in range(self.counts.get(task, self.count)))

        return TaskAttentionConditioner(per_task(shape.tasks, stack), shape.siamese)


class TaskAttentionConditioner(Conditioner):
    """The layers of every task, and which tasks have two rows per example."""

    def __init__(self, tasks: nn.ModuleDict, siamese: Collection[str]) -> None:
        super().__init__()
        self.tasks, self.siamese = tasks, frozenset(siamese)

    def at_output(self, states: States) -> States:
        task, x = states.batch.task, states.tokens
        for layer in self.tasks[task_key(task)].children():
            x = layer(x, states.batch, task in self.siamese)
        return replace(states, tokens=x)

    def encoder_key(self, task: str) -> Hashable:
        return task


class TopLayer(nn.Module):
    """One attention layer over the tokens of a row, or over those of the row's partner."""

    def __init__(self, config: EncoderConfig, plain: bool, uniform: bool) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.query, self.key, self.value = (LinearLayer(width, width) for _ in range(3))
        self.norm = None if plain else nn.LayerNorm(width, config.layer_norm_eps)
        for linear in (self.query, self.key, self.value):
            if uniform:
                nn.init.uniform_(linear.weight, 0.9, 1.0)
                nn.init.uniform_(linear.bias, 0.9, 1.0)
            else:
                nn.init.normal_(linear.weight, std=config.initializer_range)
                nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, batch: Batch, across: bool) -> Tensor:
        """(T, H) → (T, H)."""
        q, k, v = self.query(x), self.key(x), self.value(x)
        gathered = attend_across(q, k, v, self.heads, batch) if across else attend(q, k, v, self.heads, batch)
        return gathered if self.norm is None else self.norm(x + gathered)


def attend_across(q: Tensor, k: Tensor, v: Tensor, heads: int, batch: Batch) -> Tensor:
    """Attention of each row's tokens over those of its partner, (T, H) → (T, H); partners are neighbours."""
    starts, lengths = batch.row_offsets.tolist(), batch.lengths.tolist()
    pieces: list[Tensor] = [q] * batch.rows
    for row in range(batch.rows):
        other = row ^ 1
        mine, theirs = (slice(starts[r], starts[r] + lengths[r]) for r in (row, other))
        queries, keys, values = (
            y.view(-1, heads, y.shape[1] // heads).transpose(0, 1) for y in (q[mine], k[theirs], v[theirs])
        )
        pieces[row] = F.scaled_dot_product_attention(queries, keys, values).transpose(0, 1).flatten(1)
    order = sorted(range(batch.rows), key=starts.__getitem__)  # the packed order
    return torch.cat([pieces[row] for row in order])
