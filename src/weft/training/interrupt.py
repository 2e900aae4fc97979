"""Ctrl-C that waits for a safe moment."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from weft.errors import WeftError


class Interrupted(WeftError):  # noqa: N818 (nothing went wrong)
    """A run that was asked to stop and wrote its state down."""

    exit_code = 130

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"interrupted; everything so far is in {folder}. Go on with: --resume")


class Interruption:
    """Within this context the first Ctrl-C only sets `asked`; a second one interrupts at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
