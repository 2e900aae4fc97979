"""Every task's rows as training uses them: to learn from, to choose by, to report on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from weft.data.dataset import Splits, StoredRows
from weft.data.records import Example
from weft.data.redact import common_labels, nearest_name, shown_label, slip_of
from weft.errors import DataError
from weft.tasks import Task
from weft.tasks.base.examples import fold_lines, held_out_lines, labels_of, reduce_rows, reduce_test
from weft.training.faults import Faults
from weft.training.reading import SHOWN, UNLIKELY, Origin, SplitRows, count_rows, read_files

ReadFiles = Callable[[Mapping[str, Task], Path, Faults], dict[str, dict[str, SplitRows]]]

_LONGEST_LABEL = 100  # characters; a column of longer ones holds texts


@dataclass(frozen=True)
class TaskData:
    """The rows of tasks that read files: as the files hold them, and as training will see them, by split."""

    files: dict[str, dict[str, SplitRows]]
    parts: dict[str, dict[str, SplitRows]]

    def splits(self, task: str) -> Splits:
        """A task's rows to train with."""
        parts = self.parts[task]
        return Splits(*(StoredRows(parts[split].rows if split in parts else []) for split in ("train", "dev", "test")))

    def by_origin(self, task: str) -> list[list[Example]]:
        """A task's rows to train with, those of one file together and in its order, whatever they are used for."""
        found: dict[Origin, list[Example]] = {}
        for part in self.parts[task].values():
            found.setdefault(part.origin, []).extend(part.rows)
        return [sorted(rows, key=lambda row: row.line) for rows in found.values()]


@dataclass(frozen=True)
class Fold:
    """One of `count` parts of the training rows, counted from 0: the rows to report on instead of a test file's."""

    count: int
    index: int


def read_task_data(
    tasks: Mapping[str, Task],
    base: Path,
    seed: int,
    faults: Faults,
    *,
    fold: Fold | None = None,
    read: ReadFiles = read_files,
) -> TaskData:
    """The rows of every task that reads files, with a fault for all that cannot be learned from."""
    files = read(tasks, base, faults)
    folded = files if fold is None else _set_fold_aside(tasks, files, fold, seed, faults)
    held_out = held_out_lines(tasks, _training_rows(folded), seed)
    parts = {name: _divide(name, tasks[name], splits, held_out.get(name, ()), seed) for name, splits in folded.items()}
    for name, task in tasks.items():
        _check_parts(name, task, parts[name], faults)
    return TaskData(files, parts)


def load_data(tasks: Mapping[str, Task], base: Path, seed: int, fold: Fold | None = None) -> dict[str, Splits]:
    """The rows of every task that reads files; raises one DataError with every fault of every file."""
    faults = Faults()
    data = read_task_data(tasks, base, seed, faults, fold=fold)
    faults.raise_all()
    return {name: data.splits(name) for name in tasks}


def _training_rows(files: Mapping[str, Mapping[str, SplitRows]]) -> dict[str, list[Example]]:
    return {name: splits["train"].rows for name, splits in files.items() if "train" in splits}


def _set_fold_aside(
    tasks: Mapping[str, Task], files: Mapping[str, dict[str, SplitRows]], fold: Fold, seed: int, faults: Faults
) -> dict[str, dict[str, SplitRows]]:
    """The splits with one part of the training rows as test."""
    folded = dict(files)
    folds: dict[str, list[set[int]]] = {}
    with faults.catch(""):
        folds = fold_lines(tasks, _training_rows(files), fold.count, seed)
    for name, lines in folds.items():
        train, tested = files[name]["train"], lines[fold.index]
        test = replace(train, path=f"tasks.{name}.test", rows=[row for row in train.rows if row.line in tested])
        learned = replace(train, rows=[row for row in train.rows if row.line not in tested])
        if train.complete and not test.rows:  # it would be measured on its dev rows
            few = f"none of the rows of a fold has an answer; ask for fewer than {fold.count} folds"
            faults.add(train.path, train.locate(few), DataError)
        folded[name] = {**files[name], "train": learned, "test": test}
    return folded


def _divide(
    name: str, task: Task, files: Mapping[str, SplitRows], held_out: Collection[int], seed: int
) -> dict[str, SplitRows]:
    """The splits with the held-out lines of the training file as dev; training and test rows as many as asked for."""
    if "test" in files:
        files = {**files, "test": replace(files["test"], rows=reduce_test(files["test"].rows, task))}
    if (train := files.get("train")) is None:
        return dict(files)
    if "dev" not in files and not held_out and not isinstance(task.dev, float):  # all rows are to be learned from
        return dict(files) | {"train": replace(train, rows=reduce_rows(train.rows, task, seed) if train.rows else [])}
    dev = replace(train, path=f"tasks.{name}.dev", rows=[row for row in train.rows if row.line in held_out])
    rows = [row for row in train.rows if row.line not in held_out]
    kept = replace(train, rows=reduce_rows(rows, task, seed) if rows else [])
    return {"train": train, "dev": dev} | dict(files) | {"train": kept}


def _check_parts(name: str, task: Task, parts: Mapping[str, SplitRows], faults: Faults) -> None:
    """Note rows from which nothing can be learned, or which could never be answered right."""
    train = parts.get("train")
    if train is None or not train.complete:
        return
    target = task.target()
    if len({target.key(row.gold) for row in train.rows}) < 2:
        rows = f"all {count_rows(train.rows)} have" if len(train.rows) > 1 else "there is one row, so all have"
        same = f"{rows} the same answer, and there is nothing to learn"
        faults.add(train.path, train.locate(f"{same}; check the column of the answer"), DataError)
    dev = parts.get("dev")
    if dev is not None and dev.complete and not dev.rows and task.dev != 0:
        few = f"{task.dev_share:.0%} of so few rows per label leaves none to choose by"
        faults.add(dev.path, f"{few}; name a dev file, or hold out a larger share", DataError)
    counts = Counter(labels_of(target, train.rows))
    if any(len(label) > _LONGEST_LABEL for label in counts):
        long = sum(len(label) > _LONGEST_LABEL for label in counts)
        texts = f"{long:,} of {len(counts):,} labels have more than {_LONGEST_LABEL} characters, so the column "
        texts += f"{train.column!r} seems to hold texts; name the column of the labels"
        faults.add(train.path, train.locate(texts), DataError)
        return
    for part in (parts[split] for split in ("dev", "test") if split in parts):
        _check_unseen(part, task, counts, faults)


def _check_unseen(part: SplitRows, task: Task, known: Mapping[str, int], faults: Faults) -> None:
    """Note labels that never occur in training, and how the config says that one is a slip."""
    target = task.target()
    lines: dict[str, list[int]] = defaultdict(list)
    for row in part.rows:
        for label in target.labels_in(row.gold):
            if label not in known:
                lines[label].append(row.line)
    together = Counter(known) + Counter(label for row in part.rows for label in target.labels_in(row.gold))
    names = {*common_labels(known), *common_labels(together), *target.labels}
    shown = SHOWN if len(lines) <= UNLIKELY else 0
    ordered = sorted(lines)
    for label in ordered[:shown]:
        others = names - {label}  # it may be one of the names itself
        shown_as = f"{shown_label(label, names)} never occurs in training{nearest_name(label, others)}"
        near = slip_of(label, others)
        said = task.respelling({} if near is None else {label: near})
        message = f"label {shown_as} ({count_rows(lines[label])})" + (f"; if so, say {said}" if said else "")
        faults.add(part.path, part.locate(message, lines[label]), DataError)
    if rest := ordered[shown:]:
        more = f"… and {len(rest):,} more labels that never occur in training"
        many = f"{len(rest):,} different labels never occur in training; is this the right column?"
        where = [line for label in rest for line in lines[label]]
        faults.add(part.path, part.locate(more if shown else many, where), DataError)
