"""Shares that even out as training goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from weft.sampling import Sampler, apportion, shuffled


class Annealed(Sampler):
    """Shares proportional to size ** a, a falling from 1 in the first epoch to 1 - strength in the last.

    Stickland and Murray (2019): learn from all the data first, then let no task be forgotten. An epoch has as many
    steps as all tasks have batches. The counts are exact, not drawn; only the order is shuffled. A run of one epoch is
    proportional throughout.

    Relatives: `proportional` is strength 0; `temperature` keeps one exponent in all epochs.
    """

    kind: Literal["annealed"] = "annealed"

    strength: Annotated[float, Field(ge=0, le=1)] = 0.8
    """How far shares are evened out by the last epoch: 0 not at all, 1 until all tasks are equal."""

    def order(self, sizes: Sequence[int], epoch: int, epochs: int, seed: int) -> list[int]:
        """Each task as often as its share in this epoch says, shuffled anew in every epoch."""
        progress = min(epoch / (epochs - 1), 1.0) if epochs > 1 else 0.0
        return shuffled(apportion(sizes, 1 - self.strength * progress), epoch, seed)
