"""Answers that cannot be learned or measured as they are, and labels that look misspelt."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from weft.checks.findings import Finding, Part
from weft.data.records import Example
from weft.data.redact import common_labels, shown_label
from weft.targets import Target
from weft.tasks import Task
from weft.tasks.base.examples import labels_of
from weft.training.reading import few

LEARNABLE, MEASURABLE = 8, 10  # rows a label needs in training, and in dev or test
_LONGEST = 60  # characters of a label that may be a slip of another
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
    if train is None or not train.complete or not counts:
        return
    if not has_labels(task, train.rows):
        said = f"{len(counts):,} different answers in {len(train.rows):,} training rows"
        advice = f"is {task.gold_column()!r} the right column? Its labels were not checked further"
        yield Finding("warning", f"tasks.{name}", f"{said}; {advice}")
        return
    names = label_names(task, train.rows)
    if target.labels_rows:  # a text may hold any number of spans
        yield from _unbalanced(train, counts, names)
    for label in target.labels:
        if label not in counts:
            yield Finding("warning", f"tasks.{name}.labels", f"{label!r} has no training row")
    yield from _scarce(train, labels_of(target, train.rows), names, counts, LEARNABLE, "to learn")
    for part in (parts[split] for split in ("dev", "test") if split in parts):
        if part.rows and part.complete:
            yield from _scarce(part, labels_of(target, part.rows), names, counts, MEASURABLE, "to measure")


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


def find_look_alikes(task: Task, part: Part) -> Iterator[Finding]:
    """Labels of one file that differ only in writing, and rare ones that look like another with a slip."""
    if not has_labels(task, part.rows):
        return
    target, names = task.target(), label_names(task, part.rows)
    counts = Counter(labels_of(target, part.rows))
    first = {label: row.line for row in reversed(part.rows) for label in target.labels_in(row.gold)}
    written: dict[str, list[str]] = defaultdict(list)
    for label in counts:
        written[_plain(label)].append(label)
    pairs = [pair for same in written.values() for pair in combinations(same, 2)]
    pairs += _slips(counts)
    for pair in dict.fromkeys(tuple(sorted(pair, key=lambda label: (counts[label], label))) for pair in pairs):
        said = " and ".join(f"{shown_label(label, names)} ({counts[label]:,} rows)" for label in pair)
        yield part.finding("warning", f"labels that look alike: {said}; are they the same?", [first[pair[0]]])


def _unbalanced(part: Part, counts: Counter[str], shown: Collection[str]) -> Iterator[Finding]:
    rows = len(part.rows)
    rare = min(RARE, 0.25 / len(counts))  # with many labels, each has a small share by rights
    common = [name for name in counts if counts[name] > COMMON * rows] if len(counts) > 1 else []
    seldom = [name for name in counts if counts[name] < rare * rows]
    for names, said in ((common, f"over {COMMON:.0%} of the rows"), (seldom, f"under {100 * rare:.2g} % of the rows")):
        if names:
            listed = few(sorted(names), lambda name: f"{shown_label(name, shown)} {100 * counts[name] / rows:.1f} %")
            yield part.finding("warning", f"unbalanced, {said} have: {listed}")


def _scarce(
    part: Part, labels: Iterable[str], names: Collection[str], known: Counter[str], least: int, purpose: str
) -> Iterator[Finding]:
    counts = Counter(labels)
    scarce = sorted((counts[label], label) for label in known if counts[label] < least)
    if scarce:
        listed = few(scarce, lambda pair: f"{shown_label(pair[1], names)} ({pair[0]})")
        yield part.finding("warning", f"labels with too few rows {purpose} (under {least}): {listed}")


def _plain(label: str) -> str:
    """The label without the differences that writing makes: case, blanks, hyphens, and 1 beside 1.0."""
    try:
        return str(float(label))
    except ValueError:
        plain = unicodedata.normalize("NFKC", label).casefold()
        return " ".join(re.sub(r"(?<=\w)[-_](?=\w)", " ", plain).split())


def _slips(counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Rare labels, each with the common ones that it is a slip of.

    Two that are a slip apart are the same with a letter left out of one or of both, so nobody has to be held against
    everybody.
    """
    common: dict[str, list[str]] = defaultdict(list)
    for label in (label for label in counts if counts[label] > 4):
        for shorter in _shortened(label):
            common[shorter].append(label)
    for rare in (label for label in counts if counts[label] < LEARNABLE):
        near = dict.fromkeys(label for shorter in _shortened(rare) for label in common.get(shorter, ()))
        yield from ((rare, label) for label in near if counts[label] > 4 * counts[rare] and _slip(rare, label))


def _shortened(label: str) -> set[str]:
    """The label, and what is left of it without each of its letters; nothing of what is too long for a label."""
    plain = _plain(label)
    return {plain, *(plain[:i] + plain[i + 1 :] for i in range(len(plain)))} if len(plain) <= _LONGEST else set()


def _slip(one: str, other: str) -> bool:
    """Whether two words are a single letter added, lost, changed or exchanged with its neighbour apart."""
    a, b = sorted((_plain(one), _plain(other)), key=len)
    if a == b or len(b) - len(a) > 1 or len(a) < 4:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if any(map(str.isdigit, a[start : start + 1] + b[start])):  # level1 and level2 are meant to differ
        return False
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    turned = a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
    return turned or a[start + 1 :] == b[start + 1 :]
