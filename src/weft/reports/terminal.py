"""The results of a run, and what decisions cost or find, as tables in a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from weft.metrics.sections import ClassTable, DecisionTable
from weft.reports.record import RunRecord, Standing
from weft.reports.summary import interval_in_words, number

STYLES: dict[Standing, str] = {"better": "green", "unclear": "yellow", "worse": "red", "unknown": ""}


def results_table(record: RunRecord) -> Table:
    """Task, metric, value with interval, baselines and rows; green where clearly above the baseline, red below."""
    table = Table(box=None, header_style="bold", pad_edge=False, collapse_padding=True)
    table.add_column("task", overflow="fold")
    table.add_column("metric")
    for heading in ("value", "95 % interval", "majority", "baseline", "probe", "rows"):  # `verdict` names the baseline
        table.add_column(heading, justify="right", no_wrap=True)
    for name, task in record.tasks.items():
        value = Text(number(task.value), style=STYLES[task.against(task.baseline)])
        baselines = (number(task.majority), number(task.baseline), number(task.probe))
        rows = f"{task.result.rows:,} {task.reported_on}"
        table.add_row(Text(name), Text(task.chosen), value, interval_in_words(task.interval), *baselines, rows)
    return table


def class_table(task: str, section: ClassTable) -> Table:
    """Precision, recall, F1 and support of each label of a task."""
    table = Table(title=Text(f"{task}: each label"), title_justify="left")
    for index, heading in enumerate(("label", "precision", "recall", "f1", "support")):
        table.add_column(heading, justify="right" if index else "left", overflow="fold")
    for label, scores in section.classes.items():
        figures = (number(scores.get(name)) for name in ("precision", "recall", "f1"))
        table.add_row(Text(label), *figures, f"{scores.get('support', 0):,.0f}")
    return table


def decision_table(task: str, section: DecisionTable) -> tuple[Table, Text]:
    """A table of what decisions of a task cost or find, and the sentences below it."""
    table = Table(title=Text(f"{task}: {section.heading}"), title_justify="left")
    for index, heading in enumerate(section.columns):
        table.add_column(heading, justify="right" if index else "left")
    for row in section.rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else number(cell) for cell in row))
    return table, Text(section.note)
