"""The runs of a grid: one for each arm, size, seed and fold, each known by what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from weft.comparison.arms import Arm
from weft.comparison.contents import DigestRows, content_key, rows_digester
from weft.comparison.plan import GridPlan
from weft.config.document import parse_experiment
from weft.training.task_data import Fold


@dataclass(frozen=True)
class Job:
    """One run of a grid."""

    arm: str
    size: int | None  # training rows per task; None for all
    seed: int
    fold: int | None  # which of `folds` is answered; None where there is a test file
    folds: int | None
    document: Mapping[str, Any] = field(repr=False)  # the whole config of this run
    base: Path  # the folder of its files
    key: str  # equal for runs that give the same, but for rounding with another number of cores
    resumable: bool = True  # whether it writes states down on the way, which short ones had better not

    def fold_of(self) -> Fold | None:
        """The part of the training rows that it answers."""
        return None if self.fold is None or self.folds is None else Fold(self.folds, self.fold)

    @property
    def name(self) -> str:
        """What a person calls it."""
        parts = [self.arm, f"seed {self.seed}"]
        parts += [f"{self.size:,} rows"] if self.size is not None else []
        parts += [f"fold {self.fold + 1} of {self.folds}"] if self.fold is not None else []
        return ", ".join(parts)


def list_jobs(plan: GridPlan, device: str) -> list[Job]:
    """Every run of a grid, seed by seed, so that what is known early is known of every arm.

    Args:
        device: the kind of processor they are learned on, for its sums are rounded in another way.
    """
    folds: Sequence[int | None] = range(plan.folds) if plan.folds else (None,)
    digest_rows = rows_digester()
    return [
        _job(plan, arm, size, seed, fold, device, digest_rows)
        for seed, size, fold, arm in product(plan.seeds, plan.sizes, folds, plan.arms)
    ]


def _job(
    plan: GridPlan, arm: Arm, size: int | None, seed: int, fold: int | None, device: str, digest_rows: DigestRows
) -> Job:
    document = arm.at(seed, size)
    beside = {"fold": [fold, plan.folds], "device": device}
    key = content_key(parse_experiment(document), plan.base_folder, digest_rows, **beside)
    return Job(arm.name, size, seed, fold, plan.folds, document, plan.base_folder, key)
