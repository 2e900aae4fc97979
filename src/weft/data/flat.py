"""Answers as plain columns, for tables and frames: `urgency`, `urgency_score`, `urgency_score_LABEL`, `urgency_2`.

    one label      TASK, TASK_score; with `top` also TASK_2, TASK_2_score …; with `scores` TASK_score_LABEL
    many labels    TASK, joined by the task's separator, blank where none was given; with `scores` TASK_score_LABEL
    a number       TASK
    lists          TASK, a list of dicts: spans, tags, relations, masked positions

How each kind of prediction fills its columns is its own affair (`Prediction.cells`); that their names are unlike each
other is looked after here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.data.predictions import Prediction
from weft.errors import ConfigError


def flat_row(predictions: Mapping[str, Prediction], scores: bool = False, top: int = 1) -> dict[str, Any]:
    """The columns of one row's answers, task by task; a ConfigError where two answers would be called alike.

    Args:
        predictions: the answers, by task.
        scores: whether the probability of every label has a column.
        top: how many labels there are columns for, where a task gives one: the answer, then the likeliest others.
    """
    row: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for task, prediction in predictions.items():
        for suffix, cell in prediction.cells(scores, top).items():
            name = f"{task}{suffix}"
            if name in row:
                raise ConfigError(
                    f"the tasks {owners[name]!r} and {task!r} would both have an answer in the column {name!r}; ask "
                    "them one after the other (--task), or write .jsonl"
                )
            row[name], owners[name] = cell, task
    return row
