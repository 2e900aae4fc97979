"""A task embedding added to every input token (S3: E + E_task)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import torch
from torch import Tensor, nn

from weft.conditioning import Blueprint, Conditioning, slot
from weft.encoder.conditioner import Seams
from weft.tensors import Batch


class TaskInput(Conditioning):
    """One vector per task, zero at the start."""

    kind: Literal["task_input"] = "task_input"

    def build(self, blueprint: Blueprint) -> Seams:
        return TaskInputSeams(blueprint)


class TaskInputSeams(Seams):
    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__()
        width = blueprint.config.hidden_size
        self.vectors = nn.ParameterDict({slot(task): nn.Parameter(torch.zeros(width)) for task in blueprint.tasks})

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        vector: Tensor = self.vectors[slot(batch.task)]
        return x + vector

    def pass_key(self, task: str) -> Hashable:
        return task
