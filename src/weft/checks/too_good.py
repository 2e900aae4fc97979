"""Why figures may look better than a model is: the warnings of `weft check` that training tells, too.

Whoever never checks must still hear that rows are both learned from and measured on, in one task or through the encoder
that two tasks share, and that a text is its own answer. All else that check finds makes a model worse, and the figures
show that.
"""

from __future__ import annotations

from weft.checks.duplicates import Normalised, find_leaks, find_leaks_across
from weft.checks.files import find_answer_in_text
from weft.checks.findings import Finding, Part
from weft.training.prepare import PreparedRun


def find_too_good(prepared: PreparedRun) -> dict[str, list[Finding]]:
    """The warnings about each task whose figures may look too good."""
    tasks, texts = prepared.experiment.tasks, Normalised()
    parts = {
        name: {split: Part(**vars(rows)) for split, rows in of.items()} for name, of in prepared.rows.parts.items()
    }
    task_of = {part.path: name for name, splits in parts.items() for part in splits.values()}
    task_of |= {f"tasks.{name}": name for name in parts}
    found = [finding for name in parts for finding in find_answer_in_text(name, tasks[name])]
    found += [finding for name in parts for finding in find_leaks(tasks[name].target(), parts[name], texts)]
    found += find_leaks_across(parts, texts)
    warnings: dict[str, list[Finding]] = {}
    for finding in dict.fromkeys(found):
        if finding.severity == "warning":
            warnings.setdefault(task_of[finding.path], []).append(finding)
    return warnings
