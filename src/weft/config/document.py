"""Config documents: TOML files, `--set` changes, and where the data is."""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.config.experiment import Experiment
from weft.errors import ConfigError, RenamedKeysWarning
from weft.spec import parse


def read_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """The experiment in a TOML file, with `key=value` overrides; raises one ConfigError with every fault."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no config file {path}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder, but a config is a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be opened: {error.strerror}") from None
    return parse_experiment(document, overrides)


def parse_experiment(document: dict[str, Any], overrides: Sequence[str] = ()) -> Experiment:
    """The experiment in a plain document."""
    for override in overrides:
        document = apply_override(document, override)
    renamed: dict[str, str] = {}
    experiment = parse(Experiment, document, renamed)
    if renamed:
        pairs = ", ".join(f"{old} is now {new}" for old, new in sorted(renamed.items()))
        warnings.warn(
            f"keys of the config have newer names: {pairs}; the old ones are still read", RenamedKeysWarning, 3
        )
    return experiment


def data_folder(home: Path, experiment: Experiment, override: str | os.PathLike[str] | None) -> Path:
    """The folder of the data: the one given, else the config's `data` beside the config file, else the file's own."""
    if override is not None:
        return Path(override)
    return home / Path(experiment.data).expanduser() if experiment.data else home


def apply_override(document: dict[str, Any], override: str) -> dict[str, Any]:
    """The document with one dotted `key=value` set; the value is read as TOML, else taken as text."""
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise ConfigError(f"--set {override!r} has no value; write it as key=value, for example training.epochs=5")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    return _with_value(document, key.strip().split("."), value, override)


def _with_value(document: Any, path: list[str], value: Any, override: str) -> dict[str, Any]:
    if isinstance(document, str):  # a kind given by name alone takes options too
        document = {"kind": document}
    if not isinstance(document, dict):
        raise ConfigError(f"--set {override!r}: {path[0]!r} is inside something that is not a table")
    if len(path) == 1:
        return {**document, path[0]: value}
    return {**document, path[0]: _with_value(document.get(path[0], {}), path[1:], value, override)}
