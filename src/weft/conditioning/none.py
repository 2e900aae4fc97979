"""No conditioning: the encoder as it is."""

from __future__ import annotations

from typing import Literal

from weft.conditioning import Conditioning, NetworkShape
from weft.encoder.conditioner import Conditioner


class Unconditioned(Conditioning):
    """Every seam stays the identity."""

    kind: Literal["none"] = "none"

    def build(self, shape: NetworkShape) -> Conditioner:
        return Conditioner()
