"""Labels that look like one label written in two ways."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations

from weft.checks.findings import Finding, Part
from weft.checks.labels import LEARNABLE, has_labels, label_names
from weft.data.redact import shown_label
from weft.tasks import Task
from weft.tasks.base.examples import labels_of
from weft.training.reading import count_rows

_SHOWN = 20  # pairs
_LONGEST = 40  # characters of a label; what is longer may be a text
_SHORTEST = 4  # characters of a word in which a slip can be told from another word


def find_look_alikes(task: Task, part: Part) -> Iterator[Finding]:
    """Labels of one file that differ only in writing, and rare ones that look like another with a slip."""
    if not has_labels(task, part.rows):
        return
    target, names = task.target(), label_names(task, part.rows)
    counts = Counter(labels_of(target, part.rows))
    first = {label: row.line for row in reversed(part.rows) for label in target.labels_in(row.gold)}
    pairs = [*_pairs_written_alike(counts), *_pairs_with_a_slip(counts)]
    ordered = list(dict.fromkeys(tuple(sorted(pair, key=lambda label: (counts[label], label))) for pair in pairs))
    remedy = _one_way(task, ordered[:_SHOWN], names)
    for pair in ordered[:_SHOWN]:
        labels = " and ".join(f"{shown_label(label, names)} ({count_rows(range(counts[label]))})" for label in pair)
        yield part.finding("warning", f"labels that look alike: {labels}", [first[pair[0]]], remedy=remedy)
    if rest := ordered[_SHOWN:]:
        message = f"… and {len(rest):,} more pairs of labels that look alike"
        yield part.finding("warning", message, [first[pair[0]] for pair in rest])


def _one_way(task: Task, pairs: Iterable[tuple[str, ...]], names: Collection[str]) -> str:
    """How the rarer label of each pair becomes the other: by the key `map` where the task has it and both are shown."""
    shown = {rare: other for rare, other in pairs if all(repr(x) == shown_label(x, names) for x in (rare, other))}
    said = task.respelling({rare: shown.get(other, other) for rare, other in shown.items()})
    return "if they are the same, write them in one way" + (f", or say so: {said}" if said else "")


def _pairs_written_alike(counts: Counter[str]) -> Iterator[tuple[str, str]]:
    written: dict[str, list[str]] = defaultdict(list)
    for label in counts:
        written[plain(label)].append(label)
    for same in written.values():
        yield from combinations(same, 2)


def _pairs_with_a_slip(counts: Counter[str]) -> Iterator[tuple[str, str]]:
    """Each rare label with those far more frequent that are one letter apart, found by what both are without it."""
    shortened: dict[str, list[str]] = defaultdict(list)
    for label in (label for label in counts if counts[label] > 4 and len(label) <= _LONGEST):
        for key in _without_a_letter(plain(label)):
            shortened[key].append(label)
    for rare in (label for label in counts if counts[label] < LEARNABLE and len(label) <= _LONGEST):
        near = dict.fromkeys(other for key in _without_a_letter(plain(rare)) for other in shortened.get(key, ()))
        yield from ((rare, other) for other in near if counts[other] > 4 * counts[rare] and is_slip(rare, other))


def _without_a_letter(word: str) -> set[str]:
    """The word, and it without any one of its characters that is no digit: words one letter apart share one of them."""
    return {word, *(word[:index] + word[index + 1 :] for index in range(len(word)) if not word[index].isdigit())}


def plain(label: str) -> str:
    """The label without the differences that writing makes: case, blanks, hyphens, and 1 beside 1.0."""
    try:
        return str(float(label))
    except ValueError:
        words = unicodedata.normalize("NFKC", label).casefold()
        return " ".join(re.sub(r"(?<=\w)[-_](?=\w)", " ", words).split())


def is_slip(one: str, other: str) -> bool:
    """Whether two words are a single letter added, lost, changed or exchanged with its neighbour apart."""
    a, b = sorted((plain(one), plain(other)), key=len)
    if a == b or len(b) - len(a) > 1 or len(a) < _SHORTEST:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if any(map(str.isdigit, a[start : start + 1] + b[start])):  # level1 and level2 are meant to differ
        return False
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    turned = a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
    return turned or a[start + 1 :] == b[start + 1 :]
