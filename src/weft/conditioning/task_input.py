"""A task embedding added to every input token (E + E_task; TEA-BERT: Mou, Xu & Yao)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
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
        return TaskInputConditioner(shape.tasks, shape.config.hidden_size)


class TaskInputConditioner(Conditioner):
    """The vectors of the tasks, (H,)."""

    def __init__(self, tasks: Iterable[str], width: int) -> None:
        super().__init__()
        self.vectors = nn.ParameterDict({task_key(task): nn.Parameter(torch.zeros(width)) for task in tasks})

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        vector: Tensor = self.vectors[task_key(batch.task)]
        return x + vector

    def encoder_key(self, task: str) -> Hashable:
        return task
