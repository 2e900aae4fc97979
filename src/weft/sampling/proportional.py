"""All data of all tasks, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from weft.sampling import Sampler, shuffled


class Proportional(Sampler):
    """Every task gets exactly as many steps as it has batches, in shuffled order: each row is seen once per epoch.

    Large tasks dominate where sizes differ much.

    Relatives: `temperature` and `annealed` lift small tasks; `round_robin` makes all equal.
    """

    kind: Literal["proportional"] = "proportional"

    def order(self, sizes: Sequence[int], epoch: int, epochs: int, seed: int) -> list[int]:
        """Each task as often as its size, shuffled anew in every epoch."""
        return shuffled(sizes, epoch, seed)
