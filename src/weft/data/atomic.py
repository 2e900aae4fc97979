"""Files that are complete or absent, never half written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, WeftError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, moved onto it when the block ends well and removed otherwise."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = _new_file(path)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise WeftError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def refuse_existing(folder: Path, remedy: str = "name another with --output", *, but_empty: bool = False) -> None:
    """Raise where a folder to be written is there, so that nothing is written over or mixed; `but_empty` is allowed."""
    if folder.exists() and not (but_empty and folder.is_dir() and not any(folder.iterdir())):
        raise ConfigError(f"the output {folder} exists already; {remedy}, or remove it")


def cannot_write(path: Path, error: OSError) -> WeftError:
    """Why nothing can be written at a path: a file stands where its folder should be, or what the system says."""
    if file := next((folder for folder in path.parents if folder.is_file()), None):
        return WeftError(f"cannot write {path}: {file} is a file, and no folder; name another place")
    return WeftError(f"cannot write {path}: {error.strerror or error}; name another place")


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a temporary path, then move it onto `path`."""
    with replacing(path) as temporary:
        write(temporary)


def _new_file(path: Path) -> Path:
    """An empty file beside a path, readable by whom any new file is.

    `tempfile` makes files that only their owner reads, and what others may do can be asked of the process only by
    changing it for a moment, in all threads; so the file is made here and the system applies its mask.
    """
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{path.suffix}")
        try:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        return temporary
