"""Ctrl-C and SIGTERM that wait for a safe moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from weft.errors import WeftError


class Interrupted(WeftError):  # noqa: N818 (nothing went wrong)
    """A run that was asked to stop and wrote its state down.

    Args:
        folder: of the unfinished run.
        command: what to type to go on with it.
        number: the signal that asked.
    """

    def __init__(self, folder: Path, command: str = "--resume", number: int = signal.SIGINT) -> None:
        self.folder, self.command = folder, command
        self.exit_code = 128 + number
        super().__init__(f"interrupted; everything so far is in {folder}. Go on with: {command}")


class Interruption:
    """Within this context the first Ctrl-C or SIGTERM only sets `asked`; a second one interrupts at once.

    Args:
        acknowledge: called at once when the first one comes.
    """

    def __init__(self, acknowledge: Callable[[], None]) -> None:
        self.asked: int | None = None  # the signal
        self._acknowledge = acknowledge
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = number
        with suppress(RuntimeError):  # the signal came while something was being written
            self._acknowledge()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
