"""The folder of a run: `OUTPUT.running` as long as it learns, `OUTPUT` when all is done."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tomli_w

from weft.checkpoints.hf import read_json
from weft.checkpoints.source import running_folder
from weft.checkpoints.state import STATE, read_document, remove_state
from weft.config.experiment import Experiment
from weft.data.atomic import refuse_existing, write_atomically
from weft.errors import ConfigError, WeftError
from weft.training.interrupt import Interrupted
from weft.training.lock import locked

CONFIG, CACHE = "weft.toml", "cache"
_STARTED = "started.json"
_BEFORE_THE_FIRST_STATE = (CONFIG, CACHE, _STARTED, "best", "metrics.jsonl", "state-")
_SHOWN = 60  # characters of a value of the config


@dataclass(frozen=True)
class Started:
    """What a run was started with beside its config file."""

    overrides: tuple[str, ...] = ()  # `--set` and `--seed`
    data: str | None = None  # the folder given with `--data`


class RunFolder:
    """Where the run with a certain output lives until it is finished."""

    def __init__(self, target: Path) -> None:
        self.target, self.path = target, running_folder(target)

    def lock(self) -> AbstractContextManager[None]:
        """Keep others out of this folder; see `locked`."""
        return locked(self.path.with_name(self.path.name + ".lock"), f"training into {self.target}")

    @contextlib.contextmanager
    def interruptible(self, command: str) -> Iterator[None]:
        """Within this context, to be interrupted in mid-step says with which command to go on, where a run can."""
        try:
            yield
        except KeyboardInterrupt:  # the second, or one after the last step
            if not self.has_state():
                raise
            raise Interrupted(self.path, command) from None

    def has_state(self) -> bool:
        """Whether there is anything to go on from."""
        return (self.path / STATE).exists()

    def started(self) -> Started:
        """What the unfinished run was started with; nothing where there is none."""
        if not (self.path / _STARTED).exists():
            return Started()
        document = read_json(self.path / _STARTED)
        return Started(tuple(document["overrides"]), document["data"])

    def start(self, experiment: Experiment, started: Started) -> None:
        """Begin a run; one that was killed before its first state gives way."""
        self._check_target()
        if self.path.exists():
            self._remove_beginning()
        document = tomli_w.dumps(experiment.to_dict())
        write_atomically(self.path / CONFIG, lambda path: path.write_text(document, encoding="utf-8"))
        text = json.dumps(asdict(started))
        write_atomically(self.path / _STARTED, lambda path: path.write_text(text, encoding="utf-8"))

    def resume(self, experiment: Experiment) -> None:
        """Go on with an unfinished run, if it was started with the same config."""
        self._check_target()
        if not (self.path / CONFIG).exists():
            raise ConfigError(f"there is no unfinished run {self.path} to resume; start it without --resume")
        read_document(self.path)  # that of another version is refused before its config, whose keys have older names
        before = tomllib.loads((self.path / CONFIG).read_text(encoding="utf-8"))
        changed = list(differences(before, tomllib.loads(tomli_w.dumps(experiment.to_dict()))))
        if changed:
            raise ConfigError(
                f"{self.path} was started with another config: {'; '.join(changed)}. Resume with the same one, or "
                "start anew with another --output"
            )

    def publish(self) -> None:
        """Give a finished run its name, and only then remove what resuming would have needed."""
        try:
            self.path.rename(self.target)
        except OSError as error:
            raise WeftError(
                f"the finished run cannot be moved from {self.path} to {self.target}: {error.strerror}"
            ) from None
        remove_state(self.target)
        (self.target / _STARTED).unlink(missing_ok=True)
        shutil.rmtree(self.target / CACHE, ignore_errors=True)
        shutil.rmtree(self.target / "best" / "overall", ignore_errors=True)
        with contextlib.suppress(OSError):
            (self.target / "best").rmdir()  # where the chosen weights are the best for every task

    def remove_if_untouched(self) -> None:
        """Remove the folder of a run that failed before it learned anything."""
        if {path.name for path in self.path.iterdir()} <= {CONFIG, CACHE, _STARTED}:
            shutil.rmtree(self.path)

    def _check_target(self) -> None:
        refuse_existing(self.target, "name another with --output (in Python, output=…)")

    def _remove_beginning(self) -> None:
        """Remove what a run leaves that was killed before its first state; refuse where there is more than that."""
        names = [path.name.removeprefix(".") for path in self.path.iterdir()]  # half-written files begin with a dot
        if not all(name.startswith(_BEFORE_THE_FIRST_STATE) for name in names):
            raise ConfigError(
                f"{self.path} holds an unfinished run; go on with it with --resume, or remove the folder to start anew"
            )
        shutil.rmtree(self.path)


def differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Every key of two configs whose value is not the same, with both values."""
    for key in dict.fromkeys((*before, *now)):
        old, new, path = before.get(key), now.get(key), f"{prefix}{key}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from differences(old, new, f"{path}.")
        elif old != new:
            yield f"{path} was {_shown(old)} and is {_shown(new)} now"


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    text = "a table" if isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def resume_command(config: str | os.PathLike[str] | Mapping[str, Any], output: Path, device: str = "auto") -> str:
    """What to type to go on with a run."""
    if isinstance(config, Mapping):
        return f"weft.train(config, {str(output)!r}, resume=True)"
    options = [] if device == "auto" else ["--device", device]
    return shlex.join(["weft", "train", os.fspath(config), "--output", str(output), *options, "--resume"])
