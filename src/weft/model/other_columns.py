"""Other columns than those that tasks were trained with, as whoever brings the rows says: for one task, or for all."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

from weft.errors import ConfigError
from weft.model.inputs import OtherColumns, TextColumns, choose_tasks
from weft.model.network import Network

GivenColumns = str | Mapping[str, str | Sequence[str]]  # of all tasks that read one text, or by task
GivenLabel = str | Mapping[str, str]  # of the only task, or by task


def text_columns(network: Network, given: GivenColumns | None) -> dict[str, TextColumns]:
    """The columns of texts by task; raises ConfigError for a task that is none or that reads another number of them."""
    if given is None:
        return {}
    if isinstance(given, str):
        return _for_all(network, given)
    choose_tasks(network, list(given))
    found = {name: (columns,) if isinstance(columns, str) else tuple(columns) for name, columns in given.items()}
    needed = {name: len(network.tasks[name].text_columns()) for name in found}
    faults = [
        f"the task {name!r} reads {needed[name]} column{'' if needed[name] == 1 else 's'}, but received {len(columns)}"
        for name, columns in found.items()
        if len(columns) != needed[name]
    ]
    if faults:
        raise ConfigError(*faults)
    return found


def answer_columns(network: Network, given: GivenLabel | None, measured: Sequence[str]) -> dict[str, str]:
    """The columns of answers by task; raises ConfigError where it is not said of which task of several."""
    if given is None:
        return {}
    if isinstance(given, str):
        if len(measured) > 1:
            raise ConfigError(f"{given!r} holds the answers of which task? Name it: {', '.join(measured)}")
        given = {measured[0]: given}
    choose_tasks(network, list(given))
    if raw := [name for name in given if network.tasks[name].format is not None]:
        raise ConfigError(f"the task {', '.join(raw)} makes its own answers from raw text; name no column for them")
    return dict(given)


def read_text_columns(network: Network, written: Sequence[str]) -> OtherColumns:
    """What `--column [TASK=]NAME` says, of a pair `TASK=NAME,NAME`; a task that is named goes before all."""
    found: dict[str, TextColumns] = {}
    for given in _bare(written, "column", network):
        found |= text_columns(network, given)
    by_task = _named(written, network)
    names = {task: _split(name) if len(network.tasks[task].text_columns()) == 2 else name for task, name in by_task}
    return found | text_columns(network, names)


def read_answer_columns(network: Network, written: Sequence[str], measured: Sequence[str]) -> dict[str, str]:
    """What `--label [TASK=]NAME` says."""
    found: dict[str, str] = {}
    for given in _bare(written, "label", network):
        found |= answer_columns(network, given, measured)
    return found | answer_columns(network, dict(_named(written, network)), measured)


def _for_all(network: Network, column: str) -> dict[str, TextColumns]:
    single = [name for name, task in network.tasks.items() if len(task.text_columns()) == 1]
    if not single:
        name = next(iter(network.tasks))
        raise ConfigError(f"{column!r} is one column, but all tasks read two; name both: {name}=NAME,NAME")
    return dict.fromkeys(single, (column,))


def _named(written: Sequence[str], network: Network) -> list[tuple[str, str]]:
    """The columns that are said of a task, with it."""
    parts = [(_task_of(given, network), given) for given in written]
    return [(task, given[len(task) + 1 :]) for task, given in parts if task]


def _bare(written: Sequence[str], option: str, network: Network) -> list[str]:
    """The one column that is said of no task; raises ConfigError for more, and for tasks that are none."""
    found = [given for given in written if not _task_of(given, network)]
    for given in found:
        if "=" in given:
            choose_tasks(network, [given.partition("=")[0]])
    if len(found) > 1:
        raise ConfigError(f"--{option} is given {len(found)} times without a task; write --{option} TASK=NAME")
    return found


def _task_of(given: str, network: Network) -> str:
    """The task that a word begins with, before a sign; nothing where it is a column alone."""
    return max((name for name in network.tasks if given.startswith(f"{name}=")), key=len, default="")


def _split(names: str) -> tuple[str, ...]:
    """The names in a list with commas; one with a comma in it stands in quotes."""
    return tuple(name.strip() for line in csv.reader([names], skipinitialspace=True) for name in line)
