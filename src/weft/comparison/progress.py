"""What a person sees of a grid: the plan, a bar with the time left, and a table of what is known so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from weft.reports.status import StatusConsole


@dataclass(frozen=True)
class MeanSoFar:
    """What is known of a variant of a task while the grid goes on."""

    task: str
    variant: str
    size: int | None
    seeds: int
    mean: float


class ComparisonCallback:
    """Sees a comparison and says nothing; the base of those that do."""

    def note(self, text: str) -> None:
        """A sentence worth reading."""

    def begin(self, runs: int, seconds: float) -> None:
        """So many runs are to be made, which will take about so long."""

    def update(self, done: float, under_way: Sequence[str], seconds_left: float, known: Sequence[MeanSoFar]) -> None:
        """How many runs are done, parts of runs included; what is under way; and what is known so far."""

    def end(self) -> None:
        """It is over, however it ended."""


def in_words(seconds: float) -> str:
    """`about 40 s`, `about 3 h 20 min`; in no figures where it is not known."""
    if math.isinf(seconds):
        return "an unknown time"
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 100 else f"about {minutes // 60} h {minutes % 60} min"


class LiveTable(ComparisonCallback):
    """A bar and a table on standard error; a line per run where that is no terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or StatusConsole()
        self.live: Live | None = None
        self.runs, self.told = 0, 0

    def note(self, text: str) -> None:
        self.console.print(escape(text), soft_wrap=True)

    def begin(self, runs: int, seconds: float) -> None:
        self.end()  # of the runs before, where the best are made once more to be kept
        self.runs, self.told, self.bar = runs, 0, _bar(self.console)
        self.line = self.bar.add_task("runs", total=runs, left=f"{in_words(seconds)} left")
        if self.console.is_terminal:
            self.live = Live(self.bar, console=self.console, transient=True, refresh_per_second=4)
            self.live.start()

    def update(self, done: float, under_way: Sequence[str], seconds_left: float, known: Sequence[MeanSoFar]) -> None:
        left = f"{in_words(seconds_left)} left" if done < self.runs else ""
        if self.live is not None:
            shown = escape(" · ".join(under_way[:2])) or "runs"
            self.bar.update(self.line, completed=int(done), description=shown, left=left)
            self.live.update(Group(self.bar, known_table(known)))
        elif int(done) > self.told:
            self.told = int(done)
            self.console.print(f"{self.told} of {self.runs} runs done{left and f', {left}'}")

    def end(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
    )


def known_table(known: Sequence[MeanSoFar]) -> Table:
    """Means so far: no intervals and no verdicts before all is known."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("task", "variant", "rows"):
        table.add_column(heading, overflow="fold")
    for heading in ("seeds", "mean so far"):
        table.add_column(heading, justify="right")
    for cell in known:
        rows = "all" if cell.size is None else f"{cell.size:,}"
        table.add_row(escape(cell.task), escape(cell.variant), rows, str(cell.seeds), f"{cell.mean:.3f}")
    return table
