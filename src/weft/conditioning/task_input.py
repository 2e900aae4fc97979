"""A task embedding added to every input token (S3: E + E_task)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import torch
from torch import Tensor, nn

from weft.conditioning import Conditioning, NetworkShape, task_key
from weft.encoder.conditioner import Conditioner
from weft.tensors import Batch


class TaskInput(Conditioning):
    """One vector per task, zero at the start."""

    kind: Literal["task_input"] = "task_input"

    def build(self, shape: NetworkShape) -> Conditioner:
        return TaskInputConditioner(shape)


class TaskInputConditioner(Conditioner):
    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        width = shape.config.hidden_size
        self.vectors = nn.ParameterDict({task_key(task): nn.Parameter(torch.zeros(width)) for task in shape.tasks})

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        vector: Tensor = self.vectors[task_key(batch.task)]
        return x + vector

    def encoder_key(self, task: str) -> Hashable:
        return task
