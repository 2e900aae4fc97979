"""Labels and scores that can hardly be learned or measured as they are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from weft.checks.findings import Finding, Part
from weft.data.records import Example
from weft.data.redact import common_labels, shown_label
from weft.data.separators import separator_of
from weft.targets import Target
from weft.tasks import PLENTY, PLENTY_PER_LABEL, Task
from weft.tasks.base.examples import labels_of
from weft.training.reading import few

LEARNABLE, MEASURABLE = 8, 10  # rows a label needs in training, and in dev or test
_MORE_ROWS = "label more of their rows, or join them with other labels"
COMMON, RARE = 0.8, 0.02  # shares of the rows from which a label is called too common or too rare


def has_labels(task: Task, rows: Sequence[Example]) -> bool:
    """Whether the answers look like labels, rather than like texts of which almost every row has its own."""
    kinds = len(set(labels_of(task.target(), rows)))
    return task.gold_column() not in task.text_columns() and 0 < kinds <= max(20, len(rows) // 2)


def label_names(task: Task, rows: Sequence[Example]) -> frozenset[str]:
    """The labels that findings may show: those that the config lists, and those that many rows have."""
    target = task.target()
    return common_labels(Counter(labels_of(target, rows))) | frozenset(target.labels)


def find_odd_labels(name: str, task: Task, parts: Mapping[str, Part]) -> Iterator[Finding]:
    """Labels that dominate, are rare, cannot be learned or measured, or were never seen in training."""
    train, target = parts.get("train"), task.target()
    counts = Counter(labels_of(target, train.rows)) if train is not None else Counter()
    if task.without_rows:
        yield from _unmeasurable(target, parts, frozenset(target.labels), Counter(target.labels))
    if train is None or not train.complete or not counts:
        return
    if not has_labels(task, train.rows):
        message = f"{len(counts):,} different answers in {len(train.rows):,} training rows"
        advice = f"is {task.gold_column()!r} the right column? Its labels were not checked further"
        yield Finding("warning", f"tasks.{name}", f"{message}; {advice}")
        return
    names = label_names(task, train.rows)
    if target.labels_rows:  # a text may hold any number of spans
        yield from _unbalanced(train, counts, names, _weights(task))
    for label in target.labels:
        if label not in counts:
            yield Finding("warning", f"tasks.{name}.labels", f"{label!r} has no training row")
    yield from _scarce(train, labels_of(target, train.rows), names, counts, LEARNABLE, "to learn")
    yield from _unmeasurable(target, parts, names, counts)


def _unmeasurable(
    target: Target, parts: Mapping[str, Part], names: Collection[str], known: Counter[str]
) -> Iterator[Finding]:
    for part in (parts[split] for split in ("dev", "test") if split in parts):
        if part.rows and part.complete:
            yield from _scarce(part, labels_of(target, part.rows), names, known, MEASURABLE, "to measure")


def find_small_parts(target: Target, parts: Mapping[str, Part]) -> Iterator[Finding]:
    """Splits without rows, with a single answer, or with too few scores."""
    for split, part in parts.items():
        golds = [row.gold for row in part.rows]
        if not part.complete:
            continue
        if golds and split != "train" and target.same(golds):
            yield part.finding("warning", f"all {len(golds):,} rows have the same answer: nothing to measure")
        least, purpose = (LEARNABLE, "learn from") if split == "train" else (MEASURABLE, "measure on")
        if 0 < len(golds) < least and not any(labels_of(target, part.rows)):
            yield part.finding("warning", f"{len(golds)} rows are too few to {purpose}")


def find_unmeasured(name: str, task: Task, parts: Mapping[str, Part]) -> Iterator[Finding]:
    """A task that learns, and of which nothing will tell how good it has become."""
    train = parts.get("train")
    others = [part for split, part in parts.items() if split != "train"]
    if train is None or not train.complete or any(part.rows or not part.complete for part in others):
        return
    message = "nothing will be measured: there is no test file, and no row is held out"
    remedy = "name a file (test), or hold some out (dev = 0.2)"
    if task.dev is None:
        remedy += f"; by itself a tenth is held out from {PLENTY} rows on, with {PLENTY_PER_LABEL} of most labels"
    yield Finding("note", f"tasks.{name}.test", message, remedy, message)


def find_several(name: str, task: Task, train: Part | None) -> Iterator[Finding]:
    """Labels that look like several in one cell, where the config says that a row has one."""
    target = task.target()
    if train is None or not train.complete or target.multilabel or "multilabel" not in type(task).model_fields:
        return
    separator = separator_of(Counter(labels_of(target, train.rows)))
    if separator is not None:
        message = f"labels seem to be several in a cell, with {separator!r} between them, and are learned as one each"
        own = "" if separator == "|" else f", separator = {json.dumps(separator)}"
        yield train.finding("note", message, column=train.column, remedy=f"if they are: multilabel = true{own}")


def _weights(task: Task) -> str:
    """The key by which rare labels count more, where the task says nothing of its loss."""
    if task.loss is not None:
        return ""
    several = '{ kind = "binary", positive_weight = "balanced" }'
    one = '{ kind = "cross_entropy", class_weights = "balanced" }'
    return f"to make rare labels count more: loss = {several if task.target().multilabel else one}"


def _unbalanced(part: Part, counts: Counter[str], shown: Collection[str], remedy: str) -> Iterator[Finding]:
    rows = len(part.rows)
    rare = min(RARE, 0.25 / len(counts))  # with many labels, each has a small share by rights
    common = [name for name in counts if counts[name] > COMMON * rows] if len(counts) > 1 else []
    seldom = [name for name in counts if counts[name] < rare * rows]
    for names, message in (
        (common, f"over {COMMON:.0%} of the rows"),
        (seldom, f"under {100 * rare:.2g} % of the rows"),
    ):
        if names:
            listed = few(sorted(names), lambda name: f"{shown_label(name, shown)} {100 * counts[name] / rows:.1f} %")
            yield part.finding("warning", f"unbalanced, {message} have: {listed}", remedy=remedy)


def _scarce(
    part: Part, labels: Iterable[str], names: Collection[str], known: Counter[str], least: int, purpose: str
) -> Iterator[Finding]:
    counts = Counter(labels)
    scarce = sorted((counts[label], label) for label in known if counts[label] < least)
    if scarce:
        listed = few(scarce, lambda pair: f"{shown_label(pair[1], names)} ({pair[0]})")
        message = f"labels with too few rows {purpose} (under {least}): {listed}"
        yield part.finding("warning", message, remedy=_MORE_ROWS if least == LEARNABLE else "")
