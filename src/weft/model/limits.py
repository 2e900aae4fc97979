"""From which probability on an answer counts, where whoever asks says so instead of the dev rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from weft.data.redact import nearest_name
from weft.errors import ConfigError
from weft.model.answers import Answer
from weft.model.inputs import choose_tasks
from weft.model.network import Network

_FORM = "TASK=NUMBER or TASK=LABEL=NUMBER, such as urgency=0.7"


@dataclass(frozen=True)
class Limit:
    """The least probability of an answer, or of one of its labels."""

    minimum: float
    label: str | None = None


Limits = Mapping[str, tuple[Limit, ...]]  # by task


def read_limits(network: Network, words: Iterable[str], answered: Collection[str]) -> Limits:
    """The limits that `TASK=NUMBER` and `TASK=LABEL=NUMBER` name, by task; raises ConfigError with every fault."""
    found: dict[str, tuple[Limit, ...]] = {}
    faults: list[str] = []
    for given in words:
        try:
            task, limit = _read_limit(network, given, answered)
            found[task] = (*found.get(task, ()), limit)
        except ConfigError as error:
            faults += [f"--threshold {given}: {fault}" for fault in error.faults]
    if faults:
        raise ConfigError(*faults)
    return found


def apply_limits(answer: Answer, limits: Limits) -> Answer:
    """The answer with what does not reach its limit left out."""
    predictions = dict(answer.predictions)
    for task, asked in limits.items():
        for limit in asked:
            predictions[task] = predictions[task].limited(limit.minimum, limit.label)
    return replace(answer, predictions=predictions)


def _read_limit(network: Network, given: str, answered: Collection[str]) -> tuple[str, Limit]:
    names, sign, number = given.rpartition("=")
    if not sign:
        raise ConfigError(f"must be {_FORM}")
    minimum = _probability(number)
    begun = [name for name in network.tasks if names == name or names.startswith(f"{name}=")]
    task = max(begun, key=len, default=names.partition("=")[0])  # names of tasks and labels may hold the sign
    label = names[len(task) + 1 :] or None
    choose_tasks(network, [task])
    if task not in answered:
        raise ConfigError(f"the task {task!r} is not answered here")
    labels = network.targets[task].labels
    if not labels:
        raise ConfigError(f"the answers of {task!r} have no probability that a threshold could be for")
    if label is not None and label not in labels:
        raise ConfigError(f"{task!r} has no such label{_known(network, task, label)}")
    return task, Limit(minimum, label)


def _probability(number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        raise ConfigError(f"must end with a number; allowed: {_FORM}") from None
    if not 0 <= value <= 1:
        raise ConfigError(f"{number} is no probability; allowed: from 0 to 1")
    return value


def _known(network: Network, task: str, label: str) -> str:
    names = network.targets[task].shown_labels
    return f"; its labels are: {', '.join(names)}{nearest_name(label, names)}" if names else ""
