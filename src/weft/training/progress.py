"""What a person sees of a run: a bar with the loss of every task, and a line after each evaluation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from weft.reports.status import Heartbeat, StatusConsole


class Callback:
    """Sees a run and says nothing; the base of those that do."""

    def note(self, text: str) -> None:
        """A sentence worth reading."""

    def warn(self, text: str) -> None:
        """A sentence that must not be missed: why figures may look better than the model is."""
        self.note(f"warning: {text}")

    @contextmanager
    def reading(self) -> Iterator[Callable[[int], None]]:
        """Raw text is tokenized; what is yielded is told how many bytes are done."""
        yield lambda done: None

    def begin(self, steps: int, done: int) -> None:
        """The run starts, or goes on after `done` steps."""

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        """One batch has been learned from."""

    def evaluated(self, entry: dict[str, Any]) -> None:
        """The dev rows have been looked at."""

    def end(self) -> None:
        """The run is over, however it ended."""


class ProgressCallback(Callback):
    """A live bar on standard error; where that is no terminal, a line now and then."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or StatusConsole()
        self.heart = Heartbeat(self.console)
        self.steps = self.done = 0
        self.losses: dict[str, float] = {}
        self.rows = 0
        self.began = time.monotonic()
        self.bar: Progress | None = None
        self.line: TaskID | None = None

    def note(self, text: str) -> None:
        self.console.print(f"[dim]{escape(text)}[/]", soft_wrap=True)

    def warn(self, text: str) -> None:
        self.console.print(f"[yellow]warning: {escape(text)}[/]", soft_wrap=True)

    @contextmanager
    def reading(self) -> Iterator[Callable[[int], None]]:
        columns = (TextColumn("tokenizing"), DownloadColumn(), TransferSpeedColumn(), TimeElapsedColumn())
        heart, hidden = Heartbeat(self.console), not self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=hidden) as bar:
            line = bar.add_task("tokenizing", total=None)

            def tell(done: int) -> None:
                bar.update(line, completed=done)
                heart.beat(lambda: f"tokenizing: {done / 1e6:,.1f} MB, {heart.seconds:.0f} s")

            yield tell

    def begin(self, steps: int, done: int) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self.bar = Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal)
        self.line = self.bar.add_task("training", total=steps, completed=done, speed="")
        self.bar.start()
        self.began, self.rows = time.monotonic(), 0
        self.heart, self.steps, self.done = Heartbeat(self.console), steps, done

    def step(self, epoch: str, task: str, loss: float, rows: int) -> None:
        if self.bar is None or self.line is None:
            return
        before = self.losses.get(task, loss)
        self.losses[task] = 0.9 * before + 0.1 * loss
        self.rows += rows
        self.done += 1
        speed = self.rows / max(time.monotonic() - self.began, 1e-9)
        shown = " · ".join(f"{name} {value:.3f}" for name, value in self.losses.items())
        self.bar.update(self.line, advance=1, description=f"{epoch} · {shown}", speed=f"{speed:.0f} rows/s")
        self.heart.beat(lambda: f"step {self.done:,} of {self.steps:,} · {epoch} · {shown} · {speed:.0f} rows/s")

    def evaluated(self, entry: dict[str, Any]) -> None:
        perplexities = {task: scores.get("perplexity") for task, scores in entry.get("scores", {}).items()}
        told = {task: f"perplexity {value:.1f}" for task, value in perplexities.items() if value is not None}
        scores = " · ".join(f"{task} {told.get(task, f'{value:.3f}')}" for task, value in entry["dev"].items())
        if not scores:
            return
        best = " [green]best so far[/]" if entry.get("best") else ""
        gain = "" if entry["overall"] is None else f" · overall gain {entry['overall']:+.3f}"
        phase = f"phase {entry['phase'] + 1} " if entry.get("phase") else ""
        self.console.print(f"{phase}epoch {entry['epoch']}: dev {scores}{gain}{best}")

    def end(self) -> None:
        if self.bar is not None:
            self.bar.stop()
