"""Tasks one after the other, round after round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from weft.sampling import Sampler


class RoundRobin(Sampler):
    """Every task has a step in each round, in the order of the config, so all get the same number of steps.

    An epoch is made of whole rounds: as many as the longest (or shortest) task has batches. With "longest", shorter
    tasks start over; with "shortest", longer ones leave rows for later epochs. Seed and epoch change nothing.

    Relatives: `proportional`, where larger tasks get more; `temperature` and `annealed`, which lie in between.
    """

    kind: Literal["round_robin"] = "round_robin"

    until: Literal["longest", "shortest"] = "longest"
    """Which task ends the epoch when it is used up."""

    def order(self, sizes: Sequence[int], epoch: int, epochs: int, seed: int) -> list[int]:
        """Rounds of all tasks that have batches, in their fixed order."""
        tasks = [task for task, size in enumerate(sizes) if size]
        last = max if self.until == "longest" else min
        return tasks * last((sizes[task] for task in tasks), default=0)
