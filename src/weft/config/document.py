"""Config documents: TOML files, `--set` changes, and where the data is."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.config.experiment import Experiment
from weft.config.misplaced import with_place
from weft.config.override import apply_override
from weft.config.toml_hints import explain_bytes, explain_toml
from weft.data.formats import can_read
from weft.data.tables import RowsInMemory, are_rows
from weft.errors import ConfigError, Fault, RenamedKeysWarning, warn_caller
from weft.spec import WHOLE, dotted, nearest, parse

_DEPTH = 32  # levels of tables and lists; ours have at most six
_INTEGERS = range(-(2**63), 2**63)  # as TOML has them
_TASK = (
    'write a table for each, such as [tasks.urgency] and below it kind = "classification", train = "messages.csv", '
    'text = "message", label = "urgency"; or draft a config from data: weft init messages.csv'
)


def read_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """The experiment in a TOML file, with `key=value` overrides; raises one ConfigError with every fault."""
    try:
        return _parse(read_document(path), overrides)
    except ConfigError as error:
        set_outside = [override.partition("=")[0].strip() for override in overrides]
        raise ConfigError(*(_in_file(path, fault, set_outside) for fault in error.located)) from None


def _in_file(path: Path, fault: Fault, set_outside: Sequence[str]) -> Fault:
    """The fault of a key, after the file that holds it, unless --set does."""
    if not fault.path or any(f"{fault.path}.".startswith(f"{key}.") for key in set_outside):
        return fault
    return Fault(str(path) if fault.path == WHOLE else f"{path}: {fault.path}", fault.message)


def read_document(path: Path) -> dict[str, Any]:
    """A TOML file as plain data."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors of Windows put a mark before it
        return tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"there is no config file {path}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder, but a config is a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        if can_read(path):
            command = f"weft init {shlex.quote(str(path))}"
            raise ConfigError(f"{path} holds rows and is no config; draft one from it with: {command}") from None
        problem = explain_bytes(error) if isinstance(error, UnicodeDecodeError) else explain_toml(error, text)
        raise ConfigError(f"{path} is not valid TOML: {problem}") from None
    except ValueError:  # Python converts no number of thousands of digits
        raise ConfigError(f"{path} is not valid TOML: it holds a number of thousands of digits") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply; {_DEPTH} levels are allowed") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be opened: {error.strerror}") from None


def parse_experiment(document: Mapping[str, Any], overrides: Sequence[str] = ()) -> Experiment:
    """The experiment in a plain document, in which rows in memory may stand for the files of a task."""
    return _parse(with_rows(document), overrides)


def with_rows(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with each task's rows as one value, which nobody looks into before they are read."""
    tasks, known = document.get("tasks"), dict[int, RowsInMemory]()
    if not isinstance(tasks, Mapping):
        return dict(document)
    return {**document, "tasks": {name: _with_sources(task, known) for name, task in tasks.items()}}


def _with_sources(task: Any, known: dict[int, RowsInMemory]) -> Any:
    """A task whose rows are one value each, the same where it is given twice; `known` by what was given."""
    if not isinstance(task, Mapping):
        return task
    found = dict(task)
    for split, source in ((split, task[split]) for split in ("train", "dev", "test") if split in task):
        if isinstance(source, os.PathLike):
            found[split] = os.fspath(source)
        elif _are_files(source):
            found[split] = [os.fspath(name) for name in source]
        elif are_rows(source):
            found[split] = known[id(source)] = known.get(id(source)) or RowsInMemory(source)
    return found


def _are_files(source: Any) -> bool:
    """Whether this is a list of names and not of rows: of texts that all end as a file does that weft reads."""
    return isinstance(source, list | tuple) and bool(source) and all(_is_file(name) for name in source)


def _is_file(name: Any) -> bool:
    return isinstance(name, os.PathLike) or (isinstance(name, str) and can_read(Path(name)))


def is_grid(document: Mapping[str, Any]) -> bool:
    """Whether a document is a grid of `weft compare`, which has a config as its base, and no config itself."""
    return "base" in document and "tasks" not in document


def _parse(document: dict[str, Any], overrides: Sequence[str]) -> Experiment:
    if is_grid(document):
        raise ConfigError(
            "this is a grid of several configs, and no config; run: weft compare GRID, or write one of them with: "
            "weft compare GRID --use NAME --output CONFIG"
        )
    written = document
    for override in overrides:
        document = apply_override(document, override)
    _check_new_tasks(written.get("tasks"), document.get("tasks"))
    check_bounds(document)
    renamed: dict[str, str] = {}
    try:
        experiment = parse(Experiment, document, renamed)
    except ConfigError as error:
        raise ConfigError(*(_with_example(with_place(fault, document), document) for fault in error.located)) from None
    if renamed:
        pairs = ", ".join(f"{old} is now {new}" for old, new in sorted(renamed.items()))
        message = f"keys of the config have newer names: {pairs}; the old ones are still read"
        warn_caller(RenamedKeysWarning(message))
    return experiment


def _with_example(fault: Fault, document: Mapping[str, Any]) -> Fault:
    """The fault, and what a task looks like where there is none."""
    lacking = fault.path == "tasks" and not document.get("tasks")
    return Fault(fault.path, f"{fault.message}; {_TASK}") if lacking else fault


def _check_new_tasks(written: Any, changed: Any) -> None:
    """Raise for tasks that --set alone speaks of without saying of what kind they are: their names are misspelt."""
    if not isinstance(written, Mapping) or not isinstance(changed, Mapping):
        return
    added = {name: task for name, task in changed.items() if name not in written and isinstance(task, Mapping)}
    lost = [name for name, task in added.items() if "kind" not in task]
    known = ", ".join(written)
    if faults := [f"--set tasks.{name}: there is no such task, but: {known}{nearest(name, written)}" for name in lost]:
        raise ConfigError(*faults)


def data_folder(home: Path, experiment: Experiment, override: str | os.PathLike[str] | None) -> Path:
    """The folder of the data: the one given, else the config's `data` beside the config file, else the file's own."""
    if override is not None:
        return Path(override)
    return home / Path(experiment.data).expanduser() if experiment.data else home


def check_bounds(document: dict[str, Any]) -> None:
    """Raise where a document is nested without end, or has numbers beyond those of TOML."""
    if faults := list(_unbounded(document)):
        raise ConfigError(*faults)


def _unbounded(document: dict[str, Any]) -> Iterator[str]:
    """A fault for everything that is nested without end, or a number beyond those of TOML."""
    pending: list[tuple[tuple[str, ...], Any]] = [((), document)]
    while pending:
        path, value = pending.pop()
        if len(path) > _DEPTH:
            yield f"{dotted(path[:3])}…: is nested too deeply; {_DEPTH} levels are allowed"
        elif isinstance(value, dict):
            pending += [((*path, str(key)), inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            pending += [((*path, str(index)), inner) for index, inner in enumerate(value)]
        elif isinstance(value, int) and value not in _INTEGERS:
            yield f"{dotted(path)}: is outside the range of 64-bit integers"
