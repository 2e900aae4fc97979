"""Heads: from what a task reads of a row to its scores, one kind per file."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field
from torch import nn

from weft.spec import Spec


class Head(Spec, root=True):
    """The root of all heads."""

    linear: ClassVar[bool] = False  # whether it is dropout and one linear layer

    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of the inputs zeroed in training."""
    share: str | None = None
    """Tasks that give the same name here use one head together; their heads must agree in every option and size."""

    @abstractmethod
    def build(self, inputs: int, outputs: int) -> nn.Module:
        """A module from (B, inputs) to (B, outputs)."""

    def linear_layer(self, module: nn.Module) -> nn.Linear:
        """The layer of a module that `build` gave, for kinds that are `linear`."""
        raise NotImplementedError
