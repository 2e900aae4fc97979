"""Pooling: one state per row out of the states of its tokens, one kind per file."""

from __future__ import annotations

from abc import abstractmethod

from torch import nn

from weft.spec import Spec


class Pooler(Spec, root=True):
    """The root of all poolers.

    A kind builds a module whose forward takes `States` and returns (B, H), rows in the order of the batch. Each row's
    result depends on that row's tokens alone.
    """

    scaled: bool = True
    """Whether a head reads vectors of one length, whose numbers have a mean square of 1. How long they are says more
    about the length of a text than about what it says, and a head fitted to few rows would take it for a sign."""

    @property
    def first_token(self) -> bool:
        """Whether it reads nothing but each row's first token."""
        return False

    def layers(self, depth: int) -> tuple[int, ...]:
        """The hidden states to ask of an encoder of `depth` blocks, as `Encoder.forward` counts them; none here.

        The final states (`States.tokens`) are always there and need no asking.
        """
        return ()

    @abstractmethod
    def build(self, width: int) -> nn.Module:
        """A module that takes `States` of that width H and returns (B, H)."""
