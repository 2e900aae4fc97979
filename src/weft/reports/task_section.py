"""What is shown of one task: all its metrics, the sections its kind gives, and texts where they were asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from weft.metrics.sections import (
    Calibration,
    Cell,
    ClassTable,
    ConfusionMatrix,
    CostTable,
    DecisionTable,
    TableSection,
    WrongRows,
)
from weft.reports.charts import reliability_diagram
from weft.reports.html import breakable, figure, number_cell, raw_cell, table
from weft.reports.matrix import confusion_matrix
from weft.reports.record import AnnotatedText, TaskRecord
from weft.reports.spans import Look, PaintedSpan, legend, looks_of, paint, swatch
from weft.reports.summary import interval_in_words, number
from weft.reports.svg import clean

MANY = 20  # labels from which a page first shows the weakest, and all of them only when asked
WEAKEST = 10
MOST_CONFUSIONS = 10
MOST_LINES = 12  # of a table; more are shown when asked for
LARGE = 4  # labels up to which a confusion matrix needs no list of its largest confusions


def task_section(index: int, task: TaskRecord) -> str:
    """The section of the task that comes `index`-th on the page."""
    kind = task.kind.replace("_", " ")
    sizes = ", ".join(f"{count:,} {part}" for part, count in task.rows.items())
    about = f"{kind}; rows: {sizes}" if sizes else kind
    looks = looks_of_task(task)
    blocks = [f'<div class="grow">{_metrics(task)}</div>']
    ordered = sorted(task.shown_sections, key=lambda section: list(_DRAWN_BY).index(section.kind))
    blocks += [draw(task, section, looks) for section in ordered for draw in _DRAWN_BY[section.kind]]
    return (
        f'<section id="task-{index}">\n<h2>{breakable(task.name)}</h2>\n<p class="note">{clean(about)}</p>\n'
        f'<div class="fit">{"".join(blocks)}</div>\n{_texts(task.samples, looks)}</section>\n'
    )


def looks_of_task(task: TaskRecord) -> dict[str, Look]:
    """How spans of a task's labels look; none for tasks that mark nothing."""
    known = [label for section in task.sections for label in section.span_labels]
    shown = [span[2] for sample in task.samples for span in (*sample.gold, *sample.found)]
    return looks_of([*known, *shown])


def _metrics(task: TaskRecord) -> str:
    result, lines = task.result, []
    names = {"majority": "Majority", task.baseline_key: task.baseline_name, "probe": task.probe_name}
    compared = [name for name in names if name in result.baselines]
    for metric, value in result.measures.scores.items():
        baselines = [result.baselines[name].get(metric) for name in compared]
        lines.append(
            [
                raw_cell(f"<code>{breakable(metric)}</code>"),
                number_cell(number(value), "strong" if metric == task.chosen else ""),
                number_cell(interval_in_words(result.measures.intervals.get(metric))),
                *(number_cell(number(baseline), "quiet") for baseline in baselines),
            ]
        )
    headings = ("Metric", "Value", "95 % interval", *(names[name] for name in compared))
    return f"<h3>All metrics on {result.rows:,} rows</h3>{table(headings, lines, 'narrow')}"


def _calibration(task: TaskRecord, section: Calibration, looks: Mapping[str, Look]) -> str:
    error = "" if section.error is None else f"Expected calibration error {number(section.error)}. "
    where = "Fitted to these rows: expect more on others. " if task.fitted_here else ""
    where = "Calibrated on nothing: no row was learned from. " if task.without_rows else where
    note = f"{error}{where}On the diagonal, confidence equals accuracy; larger discs hold more rows."
    chart = reliability_diagram(section.bins, f"Confidence against accuracy of {task.name}")
    return f'<div class="dial">{figure("Calibration", chart, note)}</div>'


def _confusion(task: TaskRecord, section: ConfusionMatrix, looks: Mapping[str, Look]) -> str:
    drawn = confusion_matrix(section.labels, section.counts, f"True by predicted labels of {task.name}")
    return f"<div>{figure('Confusion matrix (true ↓ predicted →)', drawn)}</div>"


def _most_confused(task: TaskRecord, section: ConfusionMatrix, looks: Mapping[str, Look]) -> str:
    """The most frequent confusions: what a reader of a large matrix looks for."""
    labels = section.labels
    pairs = [
        (rows, true, predicted)
        for true, row in enumerate(section.counts)
        for predicted, rows in enumerate(row)
        if rows and true != predicted
    ]
    lines = [
        [raw_cell(breakable(labels[true])), raw_cell(breakable(labels[predicted])), number_cell(f"{rows:,}")]
        for rows, true, predicted in sorted(pairs, key=lambda pair: -pair[0])[:MOST_CONFUSIONS]
    ]
    if len(labels) <= LARGE or not lines:
        return ""
    shown = table(("True", "Predicted", "Rows"), lines, "narrow", (0, 1))
    return f'<div class="grow"><h3>Most frequent confusions</h3>{shown}</div>'


def _classes(task: TaskRecord, section: ClassTable, looks: Mapping[str, Look]) -> str:
    classes = section.classes
    if len(classes) <= MANY:
        shown = f"<h3>Per-class metrics</h3>{_class_table(classes.items(), looks)}"
    else:
        present = [item for item in classes.items() if item[1].get("support")]
        weakest = sorted(present, key=lambda item: item[1].get("f1", 0.0))[:WEAKEST]
        table_of_all = _class_table(classes.items(), looks)
        everything = f"<details><summary>All {len(classes)} labels</summary>{table_of_all}</details>"
        shown = f"<h3>Per-class metrics, lowest F1 first</h3>{_class_table(weakest, looks)}{everything}"
    return f'<div class="grow">{shown}</div>'


def _class_table(classes: Iterable[tuple[str, Mapping[str, float]]], looks: Mapping[str, Look]) -> str:
    lines = []
    for label, scores in classes:
        name = swatch(label, looks[label]) if label in looks else breakable(label)
        cells = [number_cell(number(scores.get(metric))) for metric in ("precision", "recall")]
        bar = f'<td class="number strong bar" style="--share:{scores.get("f1") or 0:.3f}">'
        lines.append(
            [
                raw_cell(name),
                *cells,
                f"{bar}{number(scores.get('f1'))}</td>",
                number_cell(f"{scores.get('support', 0):,.0f}"),
            ]
        )
    return table(("Label", "Precision", "Recall", "F1", "Support"), lines, "narrow")


def _any_table(task: TaskRecord, section: TableSection, looks: Mapping[str, Look]) -> str:
    words = {index for row in section.rows for index, value in enumerate(row) if isinstance(value, str)}
    lines = [[_any_cell(value) for value in row] for row in section.rows]
    shown = table(section.columns, lines[:MOST_LINES], "narrow", words)
    if more := lines[MOST_LINES:]:
        rest = table(section.columns, more, "narrow", words)
        shown += f"<details><summary>{len(more)} more</summary>{rest}</details>"
    note = f'<p class="note">{clean(section.note)}</p>' if section.note else ""
    look = "any whole" if section.holds_texts else "any"
    return f'<div class="{look}"><h3>{clean(section.heading)}</h3><div class="across">{shown}</div>{note}</div>'


def _any_cell(value: Cell) -> str:
    if isinstance(value, str):
        return f'<td dir="auto">{breakable(value)}</td>'
    return number_cell(f"{value:,}" if isinstance(value, int) else number(value))


def _texts(texts: Sequence[AnnotatedText], looks: Mapping[str, Look]) -> str:
    """Texts with their true spans, and below with the predicted ones."""
    if not texts:
        return ""
    shown = []
    for sample in texts:
        right = len(set(sample.gold) & set(sample.found))
        wrong = len(set(sample.found)) - right
        counts = f"{right:,} of {len(set(sample.gold)):,} true spans predicted; {wrong:,} predicted that are not true."
        true, predicted = (
            paint(sample.text, [PaintedSpan(*span) for span in spans], looks) for spans in (sample.gold, sample.found)
        )
        shown.append(
            f'<div class="sample"><p class="which">True</p>{true}<p class="which">Predicted</p>{predicted}'
            f'<p class="note">{counts}</p></div>\n'
        )
    return f'<div class="samples"><h3>Annotated texts</h3>{legend(looks)}{"".join(shown)}</div>\n'


_Draw = Callable[[TaskRecord, Any, Mapping[str, Look]], str]
_DRAWN_BY: dict[str, tuple[_Draw, ...]] = {
    Calibration.kind: (_calibration,),
    ConfusionMatrix.kind: (_confusion, _most_confused),
    ClassTable.kind: (_classes,),
    CostTable.kind: (_any_table,),
    DecisionTable.kind: (_any_table,),
    TableSection.kind: (_any_table,),
    WrongRows.kind: (_any_table,),
}
