"""Where a key belongs that stands in the wrong table, or has the name that another kind of task gives its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weft.config.training import Training
from weft.errors import Fault
from weft.spec import dotted
from weft.tasks import Task


def with_place(fault: Fault, document: Mapping[str, Any]) -> Fault:
    """The fault; that of an unknown key with where it belongs, as far as its name says."""
    if not fault.unknown_key:
        return fault
    *table, key = fault.path.split(".")
    if key in Training.model_fields and table[:1] != ["training"]:
        message = f"unknown key here; it is an option of the table [training]: write training.{key}"
        return replace(fault, message=message)
    if table[:1] != ["tasks"] and key in _options_of_tasks():
        tasks = document.get("tasks")
        name = next(iter(tasks)) if isinstance(tasks, Mapping) and len(tasks) == 1 else "NAME"
        return replace(
            fault, message=f"unknown key here; it is an option of a task: write {dotted(('tasks', name, key))}"
        )
    if len(table) == 2 and table[0] == "tasks" and (answer := _other_answer(key, document["tasks"].get(table[1]))):
        message = f"unknown key; a task of this kind names the column of its answers with {answer!r}"
        return replace(fault, message=message)
    return fault


def _options_of_tasks() -> set[str]:
    """The names that options of all kinds of tasks have in a config."""
    return {field.alias or name for kind in Task.kinds().values() for name, field in kind.model_fields.items()}


def _other_answer(key: str, task: Any) -> str | None:
    """The option that names a task's answers, where the key is the one of another kind."""
    kinds = Task.kinds()
    own = kinds.get(str(task.get("kind"))) if isinstance(task, Mapping) else None
    if own is None or own.answer_option not in own.model_fields or key == own.answer_option:
        return None
    return own.answer_option if key in {kind.answer_option for kind in kinds.values()} else None
