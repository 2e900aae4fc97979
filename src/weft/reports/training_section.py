"""How training went: loss, dev metric, gradient cosines and loss weights over the steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from weft.reports.charts import Series, line_chart
from weft.reports.html import breakable, cell, figure, number_cell, table
from weft.reports.record import EvaluationRecord, RunRecord
from weft.reports.summary import signed
from weft.reports.svg import Point, shorten

MOST_POINTS = 400  # of a drawn curve; more would not show
MOST_PAIRS = 7  # of tasks in one chart
LONGEST = 20  # letters of a task's name beside its metric


def training_section(record: RunRecord) -> str:
    """The section, empty where nothing was recorded."""
    figures = [_losses(record), _dev(record), _cosines(record.history), _weights(record.history)]
    shown = "".join(figures)
    if not shown and not record.reasons:
        return ""
    return f'<section>\n<h2>Training</h2>\n{_reasons(record)}<div class="columns">{shown}</div>\n</section>\n'


def _reasons(record: RunRecord) -> str:
    """Why it learned as it did, a sentence each."""
    return "".join(f'<p class="note">Chosen by the preset: {breakable(reason)}.</p>\n' for reason in record.reasons)


def _losses(record: RunRecord) -> str:
    if not record.loss_history:
        return ""
    by_task: dict[str, list[Point]] = {task: [] for task in record.tasks}  # so a task has one colour in all charts
    for step, task, loss in record.loss_history:
        by_task.setdefault(task, []).extend([] if loss is None else [(step, loss)])
    series = [Series(task, _thin(smooth(points)), _thin(points)) for task, points in by_task.items()]
    chart = line_chart(series, "Training loss of each task", "step", "loss", zero=True)
    return figure("Training loss", chart, "Smoothed; each step’s own loss is faint behind.")


def _dev(record: RunRecord) -> str:
    series = [
        Series(_with_metric(record, name), points, (), _best_steps(record, name))
        for name, points in _follow((one.step, one.dev) for one in record.history).items()
    ]
    if not series:
        return ""
    chart = line_chart(series, "Dev metric of each task at each evaluation", "step", "dev metric")
    ringed = any(_best_steps(record, name) for name in record.best if name != "overall")
    return figure("Dev metric", chart, "A ring marks each task’s best evaluation." if ringed else "")


def _with_metric(record: RunRecord, name: str) -> str:
    metric = record.tasks[name].chosen if name in record.tasks else ""
    return f"{shorten(name, LONGEST)} ({metric})" if metric else name


def _best_steps(record: RunRecord, name: str) -> list[float]:
    step = record.best[name].step if name in record.best else None
    return [] if step is None else [step]


def _cosines(history: Sequence[EvaluationRecord]) -> str:
    pairs = _follow((one.step, one.agreement) for one in history)
    if not pairs:
        return ""
    heading, note = "Gradient cosine between tasks", "Below 0, two tasks’ gradients oppose each other."
    drawn = ""
    if len(pairs) <= MOST_PAIRS and max(map(len, pairs.values())) > 1:
        series = [Series(_pair(name), points) for name, points in pairs.items()]
        title = "Gradient cosine of each pair of tasks"
        drawn = line_chart(series, title, "step", "cosine of gradients", zero=True)
    return f"<div>{figure(heading, drawn, note)}{_cosine_table(pairs)}</div>"


def _cosine_table(pairs: Mapping[str, Sequence[Point]]) -> str:
    lines = []
    for name, points in pairs.items():
        values = [value for _, value in points]
        mean = sum(values) / len(values)
        cells = [number_cell(signed(value)) for value in (mean, min(values), values[-1])]
        lines.append([cell(_pair(name)), *cells])
    return table(("Pair of tasks", "Mean", "Lowest", "Last"), lines, "narrow")


def _weights(history: Sequence[EvaluationRecord]) -> str:
    weights = _follow((one.step, one.weights) for one in history)
    if not any(len({y for _, y in points}) > 1 for points in weights.values()):
        return ""
    series = [Series(name, points) for name, points in weights.items()]
    return figure("Loss weights", line_chart(series, "Loss weight of each task", "step", "weight", zero=True))


def smooth(points: Sequence[Point]) -> list[Point]:
    """The points, each y the mean of those up to it, recent ones weighing most; more points, more memory."""
    keep = 1 - 1 / max(1.0, len(points) / 15)
    smoothed, total, weight = [], 0.0, 0.0
    for x, y in points:
        total, weight = keep * total + y, keep * weight + 1
        smoothed.append((x, total / weight))
    return smoothed


def _thin(points: Sequence[Point]) -> list[Point]:
    return list(points[:: -(-len(points) // MOST_POINTS) or 1])


def _follow(evaluations: Iterable[tuple[int, Mapping[str, float | None]]]) -> dict[str, list[Point]]:
    """The (step, value) of each name, over the evaluations that have it."""
    points: dict[str, list[Point]] = {}
    for step, values in evaluations:
        for name, value in values.items():
            if value is not None:
                points.setdefault(name, []).append((step, value))
    return points


def _pair(name: str) -> str:
    return name.replace("~", " and ")
