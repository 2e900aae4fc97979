"""Files that are complete or absent, never half written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.errors import WeftError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`, moved onto it when the block ends well and removed otherwise."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise WeftError(f"cannot write {path}: {error.strerror or error}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise WeftError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a temporary path, then move it onto `path`."""
    with replacing(path) as temporary:
        write(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
