"""Labels that people write where there is no answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from weft.checks.findings import Finding, Part
from weft.checks.labels import has_labels
from weft.tasks import Task
from weft.tasks.base.examples import labels_of

_NOTHING = frozenset(
    ("n/a", "na", "n.a.", "n. a.", "nan", "nil", "none", "null", "unknown", "missing", "tbd", "-", "--", "–", "—", "?")
)  # in small letters


def find_no_answers(task: Task, part: Part) -> Iterator[Finding]:
    """A note about labels that may say that there is none, with the key that leaves such rows out.

    They may be shown, being words of ours. Labels that the config lists are meant.
    """
    if not task.target().labels_rows or not has_labels(task, part.rows):
        return
    target = task.target()
    counts = Counter(label for label in labels_of(target, part.rows) if label.casefold() in _NOTHING)
    odd = {label: rows for label, rows in counts.items() if label not in target.labels}
    if remedy := task.respelling(dict.fromkeys(odd, "")):
        listed = ", ".join(f"{label!r} ({rows:,})" for label, rows in odd.items())
        message = f"learned like any other label, with its rows: {listed}"
        yield part.finding("note", message, remedy=f"if that means that there is no answer: {remedy}")
