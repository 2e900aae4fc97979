"""One process at a time: a lock that goes with the process that holds it, however that ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from weft.data.atomic import cannot_write
from weft.errors import ConfigError

_HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN, errno.EDEADLK)  # by another; what else fails is the disk's


@contextmanager
def locked(path: Path, purpose: str) -> Iterator[None]:
    """Hold the lock file `path` within this context; raises ConfigError where another process holds it.

    The system gives the lock back when the process ends, so a file that is left behind by one that was killed is no
    obstacle. Where the disk knows no locks, everybody gets in.

    Args:
        purpose: what the other process is doing, for the message.
    """
    handle = _acquire(path, purpose)
    try:
        yield
    finally:
        os.close(handle)  # before it is removed: Windows removes no open file
        with suppress(OSError):
            path.unlink()


def _acquire(path: Path, purpose: str) -> int:
    while True:
        handle = _open(path)
        try:
            _lock(handle)
        except OSError as error:
            if error.errno in _HELD:
                holder = os.pread(handle, 20, 1).decode() if hasattr(os, "pread") else ""
                os.close(handle)
                raise ConfigError(
                    f"another process{f' ({holder})' if holder else ''} is {purpose}; wait for it, or name another "
                    "--output"
                ) from None
        if _is_still_there(handle, path):
            os.ftruncate(handle, 0)
            os.write(handle, f" {os.getpid()}".encode())
            return handle
        os.close(handle)  # the one that held it has removed the file in between


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise cannot_write(path, error) from None


def _is_still_there(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


try:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

except ImportError:  # Windows
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]  # the first byte
