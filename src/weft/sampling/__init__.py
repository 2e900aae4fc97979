"""Sampling: which task each training step belongs to, one kind per file. No torch here."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence

from weft.spec import Spec


class Sampler(Spec, root=True):
    """The root of all samplers: pure functions, so every machine of a training run derives the same order."""

    @abstractmethod
    def order(self, sizes: Sequence[int], epoch: int, epochs: int, seed: int) -> list[int]:
        """The task of every training step of one epoch, by index.

        A task of size 0 never appears, every other does; without any batch the order is empty.

        Args:
            sizes: the batches of each task in one pass over its data.
            epoch: which epoch, 0 … epochs - 1.
            epochs: how many epochs there are.
            seed: of the run; with the epoch it decides every shuffle.
        """


def apportion(sizes: Sequence[int], exponent: float) -> list[int]:
    """The steps of each task, sum(sizes) in all, in shares proportional to size ** exponent.

    Exponent 1 gives back the sizes, 0 gives every task the same; what does not divide evenly goes to the largest
    remainders, earlier tasks first. From 0 to 1 the exponent never takes from the smallest task, and no task gets less
    than a smaller one, so every task with a batch keeps at least one step.
    """
    shares = [size**exponent if size else 0.0 for size in sizes]
    scale = sum(sizes) / (sum(shares) or 1.0)
    quotas = [share * scale for share in shares]
    counts = [max(int(quota), 1) if size else 0 for quota, size in zip(quotas, sizes, strict=True)]
    tasks = (task for task, size in enumerate(sizes) if size)
    by_remainder = sorted(tasks, key=lambda task: counts[task] - quotas[task])
    for task in by_remainder[: sum(sizes) - sum(counts)]:
        counts[task] += 1
    return counts


def shuffled(counts: Sequence[int], epoch: int, seed: int) -> list[int]:
    """Each task's index exactly as often as its count says, in an order that seed and epoch decide."""
    steps = [task for task, count in enumerate(counts) for _ in range(count)]
    random.Random(f"{seed} {epoch}").shuffle(steps)  # text seeds are hashed the same way on every machine
    return steps
