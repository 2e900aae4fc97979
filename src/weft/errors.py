"""Every error weft raises on purpose.

    WeftError
    ├── ConfigError        a choice in a config file or an argument is not possible
    ├── DataError          an input file or text cannot be read (carries file, line, column)
    │   └── InputError     the same, of what `Estimator` is given (also a ValueError)
    ├── CheckpointError    a model folder cannot be read or written (carries missing, surplus, mismatched)
    └── DivergedError      training has come to numbers that are none

A message says where, what was received, what is allowed and what to do. It never contains a user's text.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

IN_MEMORY = Path("the rows given")  # what errors call rows that come from no file; they are counted as Python does


_KINDS: dict[type, str] = {
    **{bool: "a yes or no", int: "a whole number", float: "a number", str: "a text", bytes: "a text in bytes"},
    **{list: "a list", tuple: "a list", dict: "an object", type(None): "no value"},
}  # in words that people use, whatever Python calls them


def kind_of(value: object) -> str:
    """What kind of thing a value is, as a message calls it: `a whole number`; never what it says."""
    return _KINDS.get(type(value)) or f"a value of type {type(value).__name__}"


class WeftError(Exception):
    """Something the user can mend; anything else that escapes weft is a bug of ours."""

    exit_code = 1  # of the command that ends with it


@dataclass(frozen=True)
class Fault:
    """What is wrong at a dotted path of the config, or from where it is read; empty where it is about no key."""

    path: str
    message: str
    unknown_key: bool = False  # whether nothing reads what is written there

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ConfigError(WeftError):
    """A choice that is not possible; `faults` lists every one there is, not only the first, `located` with its path."""

    def __init__(self, *faults: str | Fault) -> None:
        self.located = tuple(fault if isinstance(fault, Fault) else Fault("", fault) for fault in faults)
        self.faults = tuple(map(str, self.located))
        super().__init__("\n".join(self.faults))


class DataError(WeftError):
    """Input that cannot be read, with its file, line and column.

    `general` is the message without what holds for this row alone, so that rows with the same fault can be counted.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        column: str | None = None,
        general: str | None = None,
    ) -> None:
        self.message, self.file, self.line, self.column = message, file, line, column
        self.general = message if general is None else general
        parts = [
            str(file) if file is not None else "",
            "" if line is None else f"row {line - 1} (counted from 0)" if file == IN_MEMORY else f"line {line}",
            f"column {column!r}" if column is not None else "",
        ]
        where = ", ".join(part for part in parts if part)
        super().__init__(f"{where}: {message}" if where else message)

    def in_file(self, file: str | Path) -> DataError:
        """The same error, of a row whose file is known now."""
        return DataError(self.message, file=file, line=self.line, column=self.column, general=self.general)

    def named(self, tasks: Sequence[str]) -> DataError:
        """The same error with the tasks that it keeps from being answered."""
        message = f"{self.message} (read by the task {', '.join(tasks)})"
        return DataError(message, file=self.file, line=self.line, column=self.column)


class InputError(DataError, ValueError):
    """What `Estimator` can neither learn from nor answer; a ValueError too, as callers of scikit-learn expect."""


class CellError(ValueError):
    """What is wrong with the words, spans or relations of a cell, one of them by its number; `general` of any of them.

    Whoever knows the row makes a DataError of it.
    """

    def __init__(self, message: str, general: str | None = None) -> None:
        self.general = message if general is None else general
        super().__init__(message)


class RenamedKeysWarning(UserWarning):
    """Keys of a config have newer names; the old ones are still read."""


class CheckpointError(WeftError):
    """A model folder that cannot be used, with the names of the tensors concerned."""

    def __init__(
        self,
        message: str,
        *,
        missing: Iterable[str] = (),
        surplus: Iterable[str] = (),
        mismatched: Iterable[str] = (),
    ) -> None:
        self.missing, self.surplus, self.mismatched = tuple(missing), tuple(surplus), tuple(mismatched)
        super().__init__(message)


def warn_caller(warning: Warning) -> None:
    """Warn of what a user's own line brought about: the nearest one that is none of weft's."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "weft":
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


class TruncationWarning(UserWarning):
    """Some texts were longer than the model reads; given once per call, with how many."""


class EmptyTextWarning(UserWarning):
    """Some texts had nothing to read, so what was answered for them means nothing; given once per call."""


class DivergedError(WeftError):
    """Training has come to numbers that are not finite, and would again with the same rows, options and seed."""
