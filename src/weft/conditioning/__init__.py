"""Conditioning: task and label information inside the encoder, one method per file."""

from __future__ import annotations

from abc import abstractmethod

from weft.encoder.config import EncoderConfig
from weft.encoder.seams import Seams
from weft.spec import Spec


class Conditioning(Spec, root=True):
    """The root of all conditioning methods."""

    @abstractmethod
    def build(self, config: EncoderConfig, tasks: tuple[str, ...]) -> Seams:
        """The module that speaks to the encoder through its seams."""
