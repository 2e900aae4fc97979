"""No conditioning: the encoder as it is."""

from __future__ import annotations

from typing import Literal

from weft.conditioning import Blueprint, Conditioning
from weft.encoder.conditioner import Seams


class Unconditioned(Conditioning):
    """Every seam stays the identity."""

    kind: Literal["none"] = "none"

    def build(self, blueprint: Blueprint) -> Seams:
        return Seams()
