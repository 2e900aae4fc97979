"""Rows in the order of what a task says about them: the most urgent first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from weft.errors import ConfigError
from weft.model.answers import Tally
from weft.model.forms import AnswerForm, NestedForm
from weft.model.inputs import Inputs, choose_tasks
from weft.model.limits import Limits
from weft.model.network import Network
from weft.model.predict import answer_rows
from weft.targets import Ranking

T = TypeVar("T")


@dataclass(frozen=True)
class RowOrder:
    """The task to sort by, and how far to the front each of its predictions belongs."""

    task: str
    rank: Ranking


def row_order(network: Network, words: str, answered: Collection[str]) -> RowOrder:
    """The order that `TASK` or `TASK=LABEL` names; raises ConfigError with what is allowed.

    A label is ranked by its probability. Without one, numbers rank by themselves, labels with costs by what it is
    expected to cost not to look at a row, and of two labels without costs the second counts.

    Args:
        answered: the tasks whose answers there are to sort by.
    """
    task, label = _parse(network, words)
    choose_tasks(network, [task])
    allowed = f"; rows can be sorted by: {', '.join(_orders(network, answered)) or 'no task here'}"
    if task not in answered:
        raise ConfigError(f"rows cannot be sorted by {task!r}, which is not answered here{allowed}")
    try:
        return RowOrder(task, network.targets[task].ranking(label))
    except ConfigError as error:
        raise ConfigError(f"rows cannot be sorted by {task!r}: {error}{allowed}") from None


def ranked_rows(
    network: Network,
    inputs: Inputs,
    order: RowOrder,
    form: AnswerForm | None = None,
    tally: Tally | None = None,
    limits: Limits | None = None,
) -> Iterator[tuple[float, dict[str, Any]]]:
    """What `predict_rows` gives, each with how far to the front it belongs."""
    form = form or NestedForm()
    for row, asked, answer in answer_rows(network, inputs, tally, limits):
        rank = order.rank(answer.predictions[order.task])
        yield from ((rank, written) for written in form.rows(row, asked, answer))
    form.finish()


def highest_first(ranked: Iterable[tuple[float, T]]) -> list[T]:
    """What was ranked, the highest rank first; what ranks equal stays in order."""
    return [item for _, item in sorted(ranked, key=lambda pair: -pair[0])]


def _parse(network: Network, words: str) -> tuple[str, str | None]:
    """The task and the label that are meant; both may hold the sign between them."""
    if words in network.tasks or "=" not in words:
        return words, None
    begun = [name for name in network.tasks if words.startswith(f"{name}=")]
    task = max(begun, key=len, default=words.partition("=")[0])
    return task, words[len(task) + 1 :]


def _orders(network: Network, tasks: Collection[str]) -> Iterator[str]:
    """Everything that rows can be sorted by."""
    for task in tasks:
        target = network.targets[task]
        try:
            target.ranking()
            yield task
        except ConfigError:
            pass
        if target.row_labels:
            yield f"{task}=LABEL"
