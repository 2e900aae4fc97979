"""What a person sees while waiting; all of it on standard error, so that output can be piped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

T = TypeVar("T")

console = Console(stderr=True, highlight=False)


def counting(items: Iterable[T], total: int, noun: str) -> Iterator[T]:
    """The same items, with a progress bar that shows how many of `total` went by."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield from progress.track(items, total=total, description=noun)
