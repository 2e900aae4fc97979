"""No conditioning: the encoder as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from weft.conditioning import Conditioning, NetworkShape
from weft.encoder.conditioner import Conditioner


class Unconditioned(Conditioning):
    """Every hook stays the identity."""

    kind: Literal["none"] = "none"
    excludes: ClassVar[Mapping[str, str]] = {"*": "leave none out"}

    def build(self, shape: NetworkShape) -> Conditioner:
        return Conditioner()
