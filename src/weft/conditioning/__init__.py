"""Conditioning: task and label information inside the encoder, one method per file.

A method is the identity where it has learned nothing yet, as far as its mathematics allows, so that it starts from what
the encoder knows. Several methods may be listed; `combined.py` composes them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field
from torch import Tensor, nn

from weft.encoder.conditioner import Conditioner
from weft.encoder.config import EncoderConfig
from weft.errors import ConfigError, Fault
from weft.spec import Spec


def _once(parts: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(parts)) < len(parts):
        raise ValueError(f"each part can be there once; received {', '.join(parts)}")
    return parts


ConditionedLayers = Literal["all"] | Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
Parts = Annotated[tuple[Literal["q", "k", "v"], ...], Field(min_length=1), AfterValidator(_once)]


@dataclass(frozen=True)
class NetworkShape:
    """What a method may know of the network it is built for."""

    config: EncoderConfig
    tasks: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the tasks that have labels
    label_losses: Mapping[str, Callable[[Tensor], Tensor]] = field(default_factory=dict)
    """For the same tasks: the loss of calling each label itself, from a head's scores of all of them, (L, O)."""
    siamese: frozenset[str] = frozenset()  # tasks whose two texts are rows of their own
    compared: frozenset[str] = frozenset()  # tasks whose heads read a comparison of two texts, not a vector alone


class Conditioning(Spec, root=True):
    """The root of all conditioning methods."""

    excludes: ClassVar[Mapping[str, str]] = {}  # kinds it cannot be combined with, and why; "*" stands for all

    @property
    def reads_first_token(self) -> bool:
        """Whether it changes what the first token gathers, so that tasks with labels should read that token."""
        return False

    @abstractmethod
    def build(self, shape: NetworkShape) -> Conditioner:
        """The module that speaks to the encoder through its hooks."""


def task_key(task: str) -> str:
    """The name of a task's own part in a module; the brackets keep it apart from torch's own attributes."""
    return f"<{task}>"


def per_task(tasks: Iterable[str], build: Callable[[str], nn.Module]) -> nn.ModuleDict:
    """A module for each task, under its `task_key`."""
    return nn.ModuleDict({task_key(task): build(task) for task in tasks})


def tasks_by_parameter(module: nn.Module, tasks: Iterable[str]) -> dict[str, frozenset[str]]:
    """The tasks that each parameter of a module serves, by its name: one where it lies under a `task_key`, else all."""
    everyone = frozenset(tasks)
    own = {task_key(task): frozenset({task}) for task in everyone}
    return {
        name: next((own[part] for part in name.split(".") if part in own), everyone)
        for name, _ in module.named_parameters()
    }


def chosen_layers(layers: ConditionedLayers, config: EncoderConfig) -> tuple[int, ...]:
    """The layers a method acts in, 0 being the lowest; raises where the encoder has no such layer."""
    depth = config.num_hidden_layers
    if layers == "all":
        return tuple(range(depth))
    wrong = [layer for layer in layers if layer >= depth]
    if wrong:
        raise ConfigError(
            Fault("conditioning.layers", f"{wrong} is beyond the encoder's layers, which run from 0 to {depth - 1}")
        )
    return tuple(dict.fromkeys(layers))
