"""The runs of a grid: one for each arm, size, seed and fold, each known by what it is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

from weft.comparison.arms import Arm
from weft.comparison.plan import GridPlan
from weft.config.document import parse_experiment
from weft.config.experiment import Experiment
from weft.corpus.files import corpus_files
from weft.data.tables import RowsInMemory, open_rows
from weft.errors import WeftError
from weft.training.prepare import source_folder
from weft.training.task_data import Fold

_DigestRows = Callable[[RowsInMemory], str]
_FORMAT = 1  # of stored results; another one makes all runs anew
_ENCODER_FILES = ("*.json", "*.safetensors", "*.txt", "*.model")


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
    digest_rows = lru_cache(maxsize=None)(_digest_rows)  # as they are now; another call may find others
    return [
        _job(plan, arm, size, seed, fold, device, digest_rows)
        for seed, size, fold, arm in product(plan.seeds, plan.sizes, folds, plan.arms)
    ]


def _job(
    plan: GridPlan, arm: Arm, size: int | None, seed: int, fold: int | None, device: str, digest_rows: _DigestRows
) -> Job:
    document = arm.at(seed, size)
    experiment = parse_experiment(document)
    content = {
        "format": _FORMAT,
        "weft": version("weft"),
        "config": {key: value for key, value in experiment.to_dict().items() if key != "data"},
        "files": dict(_digests(experiment, plan.base_folder, digest_rows)),
        "fold": [fold, plan.folds],
        "device": device,
    }
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]
    return Job(arm.name, size, seed, fold, plan.folds, document, plan.base_folder, key)


def _digests(experiment: Experiment, base: Path, digest_rows: _DigestRows) -> Iterator[tuple[str, str]]:
    """A digest of everything that is read: the tasks' files or rows, and the encoder or tokenizer."""
    for name, task in experiment.tasks.items():
        for split, source in task.sources().items():
            if isinstance(source, RowsInMemory):
                digest = digest_rows(source)
            else:
                digest = " ".join(map(_digest_of, _files(base / source)))
            yield f"tasks.{name}.{split}", digest
    try:
        folder = source_folder(experiment, base)
    except WeftError:  # which is said when the arms are checked
        return
    paths = sorted({path for pattern in _ENCODER_FILES for path in folder.glob(pattern)})
    yield "encoder", " ".join(f"{path.name}:{_digest_of(path)}" for path in paths)


def _files(path: Path) -> list[Path]:
    try:
        return corpus_files(path)  # a folder or a pattern, where raw text is read
    except WeftError:
        return []


def _digest_of(path: Path) -> str:
    """The digest of a file; empty where it cannot be read, which is said when the arms are checked."""
    try:
        status = path.stat()
        return _digest(path, status.st_size, status.st_mtime_ns)
    except OSError:
        return ""


def _digest_rows(source: RowsInMemory) -> str:
    """The digest of rows in memory."""
    digest = hashlib.sha256()
    for row in open_rows(source)[1]:
        digest.update(json.dumps(dict(row.columns), default=repr, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


@cache
def _digest(path: Path, size: int, modified: int) -> str:
    """The digest of a file as it is now; a process reads it once."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
