"""Several methods at once, each speaking in the order listed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor, nn

from weft.conditioning import Conditioning, NetworkShape
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner, Readout
from weft.tensors import Batch, States


class Combined(Conditioning):
    """A list of methods; at most one of them may decide what the first token gathers."""

    kind: Literal["combined"] = "combined"
    example: ClassVar[Mapping[str, Any]] = {"methods": ("label_attention", "lora")}
    methods: tuple[Conditioning, ...]
    """The methods, in the order in which they act; a list in place of one method is the same."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if any(isinstance(method, Combined) for method in self.methods):
            raise ValueError("combined cannot be inside combined; list all methods in one")
        names = [method.to_dict()["kind"] for method in self.methods]
        deciding = [name for name, method in zip(names, self.methods, strict=True) if method.reads_first_token]
        if len(deciding) > 1:
            raise ValueError(f"{' and '.join(deciding)} both decide what the first token gathers; keep one of them")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is listed twice; a method can be there once")
        for name, method in zip(names, self.methods, strict=True):
            for other in names:
                if other != name and (why := method.excludes.get(other, method.excludes.get("*"))):
                    raise ValueError(f"{name} and {other} cannot be combined: {why}")
        return self

    @property
    def reads_first_token(self) -> bool:
        return any(method.reads_first_token for method in self.methods)

    def build(self, shape: NetworkShape) -> Conditioner:
        return CombinedConditioner([method.build(shape) for method in self.methods])


class CombinedConditioner(Conditioner):
    """Each hook goes through all methods in turn."""

    def __init__(self, methods: Sequence[Conditioner]) -> None:
        super().__init__()
        self.methods = nn.ModuleList(methods)

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        for method in self._all():
            x = method.at_input(x, batch)
        return x

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        for method in self._all():
            q, k, v = method.at_qkv(q, k, v, x, layer, batch)
        return q, k, v

    def at_readout(self, q_first: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch) -> Readout | None:
        readouts = (method.at_readout(q_first, k, v, layer, batch) for method in self._all())
        return next((readout for readout in readouts if readout is not None), None)

    def at_block(self, x: Tensor, index: int, batch: Batch) -> Tensor | None:
        return _sum([method.at_block(x, index, batch) for method in self._all()])

    def at_output(self, states: States) -> States:
        for method in self._all():
            states = method.at_output(states)
        return states

    @property
    def reaches_inside(self) -> bool:
        return any(method.reaches_inside for method in self._all())

    def encoder_key(self, task: str) -> Hashable:
        return tuple(method.encoder_key(task) for method in self._all())

    def extra_loss(self, task: str, head: Callable[[Tensor], Tensor]) -> Tensor | None:
        return _sum([method.extra_loss(task, head) for method in self._all()])

    def start(self, words: Callable[[Sequence[str]], Tensor], class_means: Callable[[str], Tensor]) -> None:
        for method in self._all():
            method.start(words, class_means)

    def _all(self) -> list[Conditioner]:
        return [method for method in self.methods if isinstance(method, Conditioner)]


def _sum(parts: Sequence[Tensor | None]) -> Tensor | None:
    given = [part for part in parts if part is not None]
    return reduce(torch.add, given) if given else None
