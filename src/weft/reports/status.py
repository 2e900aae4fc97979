"""What is said to a person who waits, on standard error and into a log; where nobody watches, a line now and then.

Nothing of this is a result, and none of it holds a text of the users.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.control import Control

from weft.errors import WeftError

EVERY = 30.0  # seconds between lines of progress; the first comes after so many


class StatusConsole(Console):
    """Standard error, which may be still, and which may be written down too: each line with its time, without colour.

    What is drawn again and again, such as a bar, is not written down.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"stderr": True, "highlight": False, **options})
        self.every = EVERY
        self._log: IO[str] | None = None

    def log_to(self, path: Path) -> None:
        """Also append to a file; raises WeftError where that cannot be."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._log = path.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise WeftError(f"cannot write the log {path}: {error.strerror or error}") from None

    def end_log(self) -> None:
        """Close the log, if there is one."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*objects, **options)
        if self._log is not None and not all(isinstance(one, Control) for one in objects):
            plain = Console(file=self._log, width=10_000, no_color=True, highlight=False, force_terminal=False)
            with plain.capture() as captured:
                plain.print(*objects, **options)
            self.write_down(captured.get())

    def write_down(self, text: str) -> None:
        """Lines into the log alone, if there is one."""
        if self._log is not None:
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            self._log.writelines(f"{now} {line.rstrip()}\n" for line in text.splitlines() if line.strip())


class Heartbeat:
    """Says how far something is, once in so many seconds, where there is no bar to look at."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.every = console.every if isinstance(console, StatusConsole) else EVERY
        self.began = self.last = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began

    def beat(self, words: Callable[[], str]) -> None:
        """Say it, if it is time to: on a screen that is no terminal, and in the log."""
        now = time.monotonic()
        if now - self.last < self.every:
            return
        self.last = now
        if not self.console.is_terminal:
            self.console.print(words(), markup=False, soft_wrap=True)
        elif isinstance(self.console, StatusConsole):
            self.console.write_down(words())
