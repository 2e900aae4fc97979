"""What presets may know of the tasks of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from weft.data.records import Example
from weft.presets import TaskFacts
from weft.targets import FittedTarget
from weft.tasks import Task
from weft.tasks.base.examples import labels_of
from weft.training.mismatches import can_be_fitted


def task_facts(task: Task, target: FittedTarget, rows: Sequence[Example]) -> TaskFacts:
    """The facts of a task that learns from these rows."""
    counts = Counter(labels_of(task.target(), rows)) if target.row_labels else Counter()
    return TaskFacts(
        rows=len(rows),
        labels=len(counts),
        rows_per_label=median(counts.values()) if counts else 0.0,
        contrasts=task.text_count == 1 and len(counts) > 1 and max(counts.values()) > 1,
        fits=can_be_fitted(task, target),
        exclusive=not task.target().multilabel,
    )
