"""Which files belong together: the splits of one data set, known by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weft.drafting.names import split_of
from weft.drafting.sample import Sample
from weft.errors import ConfigError

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class DataSet:
    """Files of one kind of rows: `train`, and `dev` and `test` where they are given."""

    name: str
    splits: dict[str, Sample]  # in the order of SPLITS
    unsure: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, group: Mapping[str, Sample], *unsure: str) -> DataSet:
        return cls(name, {split: group[split] for split in SPLITS if split in group}, list(unsure))

    @property
    def train(self) -> Sample:
        return self.splits["train"]


def group_files(samples: Sequence[Sample]) -> tuple[list[DataSet], list[Sample]]:
    """The data sets that files make up, each with rows to learn from, and the files for which there is no use.

    `train.csv`, `dev.csv` and `test.csv` are one; so are `a_train.csv` and `a_test.csv`. A file without such a word in
    its name is a data set of its own, and a lone `dev` or `test` joins the only one there is.
    """
    groups: dict[tuple[Path, str], dict[str, Sample]] = {}
    for sample in samples:
        split, rest = split_of(sample.path.stem)
        group = groups.setdefault((sample.path.parent, rest if split else sample.path.stem), {})
        _put(group, split or "train", sample)
    with_rows = {key: group for key, group in groups.items() if "train" in group}
    if not with_rows:
        return [_without_train(*next(iter(groups.items())))], [
            sample for group in list(groups.values())[1:] for sample in group.values()
        ]
    unused = []
    for group in (group for key, group in groups.items() if key not in with_rows):
        unused += _join(group, with_rows)
    return [DataSet.of(_name(folder, rest), group) for (folder, rest), group in with_rows.items()], unused


def _put(group: dict[str, Sample], split: str, sample: Sample) -> None:
    if split == "dev" and "dev" in group and "test" not in group:
        words = sample.path.stem.lower()
        split = "test" if "eval" in words else split
    if split in group:
        raise ConfigError(
            f"{group[split].path} and {sample.path} both seem to be the {split} rows of one data set; name one of "
            "them, or give them names that differ in more than that"
        )
    group[split] = sample


def _without_train(key: tuple[Path, str], group: dict[str, Sample]) -> DataSet:
    """Files of which none is called train: the largest is learned from."""
    split = max(group, key=lambda name: group[name].rows)
    found = {"train": group[split], **{name: sample for name, sample in group.items() if name != split}}
    unsure = f"{group[split].path.name} is called {split}, but there is no other file to learn from"
    return DataSet.of(_name(*key), found, unsure)


def _join(group: dict[str, Sample], others: dict[tuple[Path, str], dict[str, Sample]]) -> list[Sample]:
    """Put lone dev and test files to the only data set; those that find no place there."""
    if len(others) != 1:
        return list(group.values())
    (only,) = others.values()
    free = {split: sample for split, sample in group.items() if split not in only}
    only |= free
    return [sample for split, sample in group.items() if split not in free]


def _name(folder: Path, rest: str) -> str:
    return rest or folder.resolve().name or "weft"
