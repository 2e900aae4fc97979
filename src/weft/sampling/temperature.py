"""Shares flattened by a temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from weft.sampling import Sampler, apportion, shuffled


class Temperature(Sampler):
    """Shares proportional to size ** (1 / temperature): small tasks get more steps than their size, large ones fewer.

    An epoch has as many steps as all tasks have batches. The counts are exact, not drawn; only the order is shuffled.

    Relatives: `proportional` is temperature 1; `annealed` goes from there towards equal shares over the epochs.
    """

    kind: Literal["temperature"] = "temperature"

    temperature: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 2.0
    """How far shares are evened out: 1 keeps them proportional to size, large values make them equal."""

    def order(self, sizes: Sequence[int], epoch: int, epochs: int, seed: int) -> list[int]:
        """Each task as often as its flattened share says, shuffled anew in every epoch."""
        return shuffled(apportion(sizes, 1 / self.temperature), epoch, seed)
