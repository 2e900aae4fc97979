"""Where a key belongs that stands in the wrong table, or has the name that another kind of task gives its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.config.training import Training
from weft.errors import Fault
from weft.spec import UNKNOWN
from weft.tasks import Task


def with_place(fault: Fault, document: Mapping[str, Any]) -> Fault:
    """The fault; that of an unknown key with where it belongs, as far as its name says."""
    if not fault.message.startswith(UNKNOWN):
        return fault
    *table, key = fault.path.split(".")
    if key in Training.model_fields and table[:1] != ["training"]:
        return Fault(fault.path, f"{UNKNOWN} here; it is an option of the table [training]: write training.{key}")
    if len(table) == 2 and table[0] == "tasks" and (answer := _other_answer(key, document["tasks"].get(table[1]))):
        return Fault(fault.path, f"{UNKNOWN}; a task of this kind names the column of its answers with {answer!r}")
    return fault


def _other_answer(key: str, task: Any) -> str | None:
    """The option that names a task's answers, where the key is the one of another kind."""
    kinds = Task.kinds()
    own = kinds.get(str(task.get("kind"))) if isinstance(task, Mapping) else None
    if own is None or own.answer_option not in own.model_fields or key == own.answer_option:
        return None
    return own.answer_option if key in {kind.answer_option for kind in kinds.values()} else None
