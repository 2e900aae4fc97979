"""The results of a run as a table in a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from weft.reports.record import RunRecord, Standing
from weft.reports.summary import interval_in_words, number

STYLES: dict[Standing, str] = {"better": "green", "unclear": "yellow", "worse": "red", "unknown": ""}


def results_table(record: RunRecord) -> Table:
    """Task, metric, value with interval, baselines and rows; green where clearly above the baseline, red below."""
    table = Table(box=None, header_style="bold", pad_edge=False, collapse_padding=False)
    table.add_column("task", overflow="fold")
    table.add_column("metric")
    for heading in ("value", "95 % interval", "majority", "baseline", "rows"):  # `verdict` names the baseline
        table.add_column(heading, justify="right", no_wrap=True)
    for name, task in record.tasks.items():
        value = Text(number(task.value), style=STYLES[task.against(task.baseline)])
        baselines = (number(task.majority), number(task.baseline))
        rows = f"{task.result.rows:,} {task.reported_on}"
        table.add_row(Text(name), Text(task.chosen), value, interval_in_words(task.interval), *baselines, rows)
    return table
