"""The two screens: results on standard output; what a person sees while waiting on standard error."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from weft.reports.status import Heartbeat, StatusConsole

T = TypeVar("T")

console = StatusConsole()
output = Console(highlight=False)


def counting(items: Iterable[T], total: int | None, noun: str) -> Iterator[T]:
    """The same items, with a progress bar that shows how many of `total` went by; a line now and then without one."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        heart, whole = Heartbeat(console), "" if total is None else f" of {total:,}"
        for number, item in enumerate(progress.track(items, total=total, description=noun), 1):
            heart.beat(lambda: f"{number:,}{whole} {noun}, {heart.seconds:.0f} s")  # noqa: B023  (said at once)
            yield item


def show_answers(rows: Iterable[dict[str, Any]]) -> None:
    """Each row as a line of JSON, as soon as it is there."""
    for row in rows:
        output.out(json.dumps(row, ensure_ascii=False, default=str), highlight=False)  # `print` would turn :x: to emoji


def show_run(folder: Path) -> None:
    """The results of a finished run, and where they are."""
    from rich.markup import escape

    from weft.reports.record import read_record
    from weft.reports.summary import verdict
    from weft.reports.terminal import results_table

    record = read_record(folder)
    if any(task.result.rows for task in record.tasks.values()):  # otherwise the verdict says that there are no figures
        output.print(results_table(record))
    for sentence in verdict(record):
        output.print(sentence)
    place, page = (escape(str(path)) for path in (folder, folder / "report.html"))  # brackets are no markup here
    console.print(f"\nmodel and report: [bold]{place}[/] (open {page})", soft_wrap=True)
