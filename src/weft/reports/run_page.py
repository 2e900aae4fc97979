"""A run as one page that needs nothing else: no scripts, no other files, no network.

It holds none of the users' texts, unless the record has samples of them, which a run writes only when asked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from weft.reports.spans import STYLE as MARKS
from weft.reports.spans import TEXT_STYLE, Look, Mark, legend, looks_of, paint, swatch
from weft.reports.style import STYLE
from weft.reports.svg import (
    Dot,
    Point,
    Series,
    clean,
    confusion_matrix,
    dot_chart,
    finite,
    line_chart,
    reliability_diagram,
)
from weft.reports.terminal import (
    SIMPLE,
    Row,
    Standing,
    listed,
    measured,
    number,
    read_rows,
    simple_names,
    span,
    verdict,
)

MANY = 20  # labels from which a page first shows the weakest, and all of them only when asked
MOST_POINTS = 400  # of a drawn curve; more would not show
MOST_PAIRS = 7  # of tasks in one chart

PLACES = {"inside": "inside another", "outside": "holding others", "flat": "neither"}  # where a span may lie
PRIVACY = "This page contains texts of the data: keep it and share it as you would keep and share them."

WORDS: dict[Standing, str] = {
    "better": "clearly better",
    "unclear": "not clear",
    "worse": "clearly worse",
    "unknown": "–",
}


def render(record: Mapping[str, Any]) -> str:
    """The page of a run's record; parts that the record does not hold are left out."""
    rows = read_rows(record)
    tasks = record.get("tasks", {})
    style = STYLE + (TEXT_STYLE + MARKS if any(map(_looks, tasks.values())) else "")
    body = [
        _header(record, rows),
        _results(record, rows),
        _training(record),
        *(_task(place, row, tasks[row.task]) for place, row in enumerate(rows)),
        _config(record),
        _privacy(tasks),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>weft report: {clean(listed(tasks, 4))}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n<main>\n{''.join(body)}</main>\n</body>\n</html>\n"
    )


def _header(record: Mapping[str, Any], rows: Sequence[Row]) -> str:
    summary, *cautions = verdict(record)
    when = [_day(record["created"])] if record.get("created") else []
    version = [f"weft {record['weft']}"] if record.get("weft") else []
    seed = [f"seed {record['seed']}"] if "seed" in record else []
    listing = "".join(f"<li>{clean(one)}</li>" for one in cautions)
    return (
        f'<header>\n<p class="eyebrow">{clean(" · ".join(["Training report", *when, *version, *seed]))}</p>\n'
        f"<h1>{clean(listed([row.task for row in rows]) or 'No tasks')}</h1>\n"
        f'<p class="lead">{clean(summary)}</p>\n'
        + (f'<ul class="cautions">{listing}</ul>\n' if listing else "")
        + "</header>\n"
    )


def _results(record: Mapping[str, Any], rows: Sequence[Row]) -> str:
    simple = simple_names(rows)
    headings = ("Task", "Metric", "Value", "95 % interval", "Over majority", simple, f"Against {simple}", "Rows")
    lines = [
        [
            f'<td class="strong"><a href="#task-{place}">{clean(row.task)}</a></td>',
            _cell(headings[1], f"<code>{clean(row.metric)}</code>", "", raw=True),
            _cell(headings[2], number(row.value), "number strong"),
            _cell(headings[3], span(row.interval), "number"),
            _cell(headings[4], _signed(row.gain), "number"),
            _cell(headings[5], number(row.simple), "number"),
            _cell(headings[6], WORDS[row.against(row.simple)], f"number {row.against(row.simple)}"),
            _cell(headings[7], f"{row.rows:,} {row.part}", "number"),
        ]
        for place, row in enumerate(rows)
    ]
    dots = [
        Dot(row.task, row.metric, row.value, row.interval, _marks(row))
        for row in rows
        if row.value is not None and row.perplexities is None  # a likelihood lies next to 0, and means nothing there
    ]
    chart = (
        _figure("How sure the numbers are", dot_chart(dots, "Each task's value, interval and baselines"))
        if dots
        else ""
    )
    clearly = f"“Clearly” means that the whole 95 % interval lies on one side of the value of {simple}. "
    compared = any(row.simple is not None for row in rows)
    return (
        f"<section>\n<h2>Results</h2>\n{_table(headings, lines, 'stack', 2)}"
        f'<p class="note" style="margin-top:12px">{clearly if compared else ""}The interval comes from drawing these'
        " rows again; it says nothing about another seed or other texts.</p>\n"
        f'<div class="columns">{chart}{_cost(record)}</div>\n</section>\n'
    )


def _cost(record: Mapping[str, Any]) -> str:
    seconds, rows, tokens = (measured(record.get(key)) for key in ("seconds", "rows", "tokens"))
    memory, saved, encoder = (
        measured(record.get("peak_memory_mib")),
        measured(record.get("padding_saved")),
        record.get("encoder"),
    )
    tiles: list[tuple[str, str, str]] = []
    if seconds is not None:
        tiles.append(("Time", _duration(seconds), f"{seconds:,.1f} s" if seconds >= 60 else ""))
    if memory is not None:
        tiles.append(("Peak memory", f"{memory:,.1f} MiB", ""))
    if rows is not None:
        tiles.append(("Rows trained on", f"{rows:,.0f}", f"{rows / seconds:,.1f} rows/s" if seconds else ""))
    if tokens is not None:
        tiles.append(("Tokens", f"{tokens:,.0f}", f"{tokens / seconds:,.0f} tokens/s" if seconds else ""))
    if saved is not None:
        tiles.append(("Padding saved", f"{saved:.0%}", "of a padded batch"))
    if record.get("device"):
        tiles.append(("Device", str(record["device"]), str(record.get("precision", ""))))
    if encoder:
        tiles.append(("Encoder", str(encoder.get("name", "")), _shape(encoder)))
    if record.get("conditioning"):
        tiles.append(("Conditioning", str(record["conditioning"]), ""))
    if record.get("stopped"):
        tiles.append(("Ended", {"early": "early"}.get(record["stopped"], "as planned"), _best(record)))
    items = "".join(
        f"<div><dt>{clean(name)}</dt><dd>{clean(value)}{f'<small>{clean(more)}</small>' if more else ''}</dd></div>"
        for name, value, more in tiles
    )
    return f"<div><h3>What it took</h3><dl>{items}</dl></div>" if tiles else ""


def _training(record: Mapping[str, Any]) -> str:
    history: Sequence[Mapping[str, Any]] = record.get("history") or ()
    best: Mapping[str, Any] = record.get("best") or {}
    tasks = list(record.get("tasks", {}))
    figures = []
    if loss_history := record.get("loss_history"):
        figures.append(
            _figure(
                "Loss while training",
                _loss_chart(loss_history, tasks),
                "Smoothed; each step’s own loss is faint behind.",
            )
        )
    if dev := _follow(history, "dev"):
        metrics = {row.task: row.metric for row in read_rows(record)}
        series = [
            Series(
                f"{name} ({metrics[name]})" if metrics.get(name) else name, points, (), [best.get(name, {}).get("step")]
            )
            for name, points in dev.items()
        ]
        chart = line_chart(series, "Dev metric of each task at each evaluation", "step", "dev metric")
        figures.append(_figure("On the dev rows", chart, "A ring marks each task’s best evaluation."))
    agreement = _follow(history, "agreement")
    if agreement and len(agreement) <= MOST_PAIRS and max(map(len, agreement.values())) > 1:
        series = [Series(_pair(name), points) for name, points in agreement.items()]
        chart = line_chart(series, "Gradient agreement of each pair of tasks", "step", "cosine of gradients", zero=True)
        figures.append(
            _figure("Do the tasks pull the same way?", chart, "Below 0, two tasks’ gradients oppose each other.")
        )
    if agreement:
        figures.append(_agreement_table(agreement))
    weights = _follow(history, "weights")
    if any(len({y for _, y in points}) > 1 for points in weights.values()):
        series = [Series(name, points) for name, points in weights.items()]
        chart = line_chart(series, "Loss weight of each task", "step", "weight", zero=True)
        figures.append(_figure("Loss weights", chart))
    return (
        f'<section>\n<h2>Training</h2>\n<div class="columns">{"".join(figures)}</div>\n</section>\n' if figures else ""
    )


def _loss_chart(loss_history: Iterable[Sequence[Any]], tasks: Iterable[str]) -> str:
    by_task: dict[str, list[Point]] = {task: [] for task in tasks}  # in this order a task has one colour in all charts
    for step, task, loss in loss_history:
        by_task.setdefault(task, []).extend(finite([(step, loss)]))
    series = [Series(task, _thin(smooth(points)), _thin(points)) for task, points in by_task.items()]
    return line_chart(series, "Training loss of each task", "step", "loss", zero=True)


def _agreement_table(agreement: Mapping[str, Sequence[Point]]) -> str:
    lines = []
    for name, points in agreement.items():
        values = [value for _, value in points]
        mean = sum(values) / len(values)
        cells = [_cell("", _signed(one), "number") for one in (mean, min(values), values[-1])]
        lines.append([f"<td>{clean(_pair(name))}</td>", *cells])
    table = _table(("Pair of tasks", "Mean", "Lowest", "Last"), lines, "narrow")
    return f"<div><h3>Gradient agreement</h3>{table}</div>"


def _task(place: int, row: Row, task: Mapping[str, Any]) -> str:
    result = task.get("result", {})
    details = result.get("measures", {}).get("details", {})
    sizes = ", ".join(f"{count:,} {part}" for part, count in task.get("rows", {}).items())
    about = (
        f"{task.get('kind', '').replace('_', ' ')}; rows: {sizes}" if sizes else task.get("kind", "").replace("_", " ")
    )
    blocks = [f'<div class="grow">{_scores(result)}</div>']
    if bins := details.get("reliability"):
        error = "" if row.calibration_error is None else f"Calibration error {number(row.calibration_error)}. "
        chart = reliability_diagram(bins, f"Confidence against accuracy of {row.task}")
        note = f"{error}On the diagonal, confidence is what it says; larger discs hold more rows."
        blocks.append(
            f'<div class="dial" style="max-width:310px">{_figure("Is its confidence honest?", chart, note)}</div>'
        )
    labels, confusion = details.get("labels", ()), details.get("confusion")
    if confusion:
        chart = confusion_matrix(labels, confusion, f"Gold by answer of {row.task}")
        figure = f'<figure><figcaption>Gold against answer</figcaption><div class="wide">{chart}</div></figure>'
        blocks.append(f"<div>{figure}</div>")
    looks = _looks(task)
    if per_class := details.get("per_class"):
        blocks.append(f'<div class="grow">{_per_class(per_class, looks)}</div>')
    if nested := details.get("nested"):
        blocks.append(f"<div>{_nested(nested)}</div>")
    if confusion and len(labels) > 4 and (mistakes := _mistakes(labels, confusion)):
        blocks.append(f'<div class="grow">{mistakes}</div>')
    return (
        f'<section id="task-{place}">\n<h2>{clean(row.task)}</h2>\n<p class="note">{clean(about)}</p>\n'
        f'<div class="fit">{"".join(blocks)}</div>\n{_samples(task.get("samples") or (), looks)}</section>\n'
    )


def _scores(result: Mapping[str, Any]) -> str:
    measures, baselines = result.get("measures", {}), result.get("baselines", {})
    simple = next((key for key in SIMPLE if key in baselines), "tfidf")
    lines = []
    for metric, value in measures.get("scores", {}).items():
        strong = "number strong" if metric == result.get("metric") else "number"
        others = [measured(baselines.get(name, {}).get(metric)) for name in ("majority", simple)]
        cells = [_cell("", span(measures.get("intervals", {}).get(metric)), "number")]
        cells += [_cell("", number(other), "number quiet") for other in others]
        lines.append([f"<td><code>{clean(metric)}</code></td>", _cell("", number(measured(value)), strong), *cells])
    part = f" on {result['rows']:,} rows" if "rows" in result else ""
    table = _table(("Metric", "Value", "95 % interval", "Majority", SIMPLE[simple]), lines, "narrow")
    return f"<h3>All measures{part}</h3>{table}"


def _per_class(per_class: Mapping[str, Mapping[str, float]], looks: Mapping[str, Look]) -> str:
    if len(per_class) <= MANY:
        return f"<h3>Each label</h3>{_class_table(per_class.items(), looks)}"
    present = [item for item in per_class.items() if item[1].get("support")]
    weakest = sorted(present, key=lambda item: item[1].get("f1", 0.0))[:10]
    table = _class_table(per_class.items(), looks)
    everything = f"<details><summary>All {len(per_class)} labels</summary>{table}</details>"
    return f"<h3>The weakest labels</h3>{_class_table(weakest, looks)}{everything}"


def _class_table(classes: Iterable[tuple[str, Mapping[str, float]]], looks: Mapping[str, Look]) -> str:
    lines = []
    for label, scores in classes:
        f1 = measured(scores.get("f1"))
        named = swatch(label, looks[label]) if label in looks else _breakable(label)
        cells = [_cell("", number(measured(scores.get(name))), "number") for name in ("precision", "recall")]
        bar = f'<td class="number strong bar" style="--share:{f1 or 0:.3f}">{number(f1)}</td>'
        lines.append([f"<td>{named}</td>", *cells, bar, _cell("", f"{scores.get('support', 0):,.0f}", "number")])
    return _table(("Label", "Precision", "Recall", "F1", "Gold" if looks else "Rows"), lines, "narrow")


def _looks(task: Mapping[str, Any]) -> dict[str, Look]:
    """How marks of a task's labels look; none for tasks that mark nothing, which are measured against no lookup."""
    result = task.get("result", {})
    details = result.get("measures", {}).get("details", {})
    samples = task.get("samples") or ()
    spans = [one for sample in samples for key in ("gold", "found") for one in sample.get(key, ())]
    if not samples and "nested" not in details and "lookup" not in result.get("baselines", {}):
        return {}
    known = () if "confusion" in details else details.get("per_class", ())
    return looks_of([*known, *(_mark(one).label for one in spans)])


def _nested(nested: Mapping[str, float]) -> str:
    """How many spans were found, by how they lie to others."""
    lines = [
        [
            f"<td>{words}</td>",
            _cell("", number(measured(nested.get(place))) if count else "–", "number strong"),
            _cell("", f"{count:,.0f}", "number"),
        ]
        for place, words in PLACES.items()
        if (count := measured(nested.get(f"{place}_support"))) is not None
    ]
    return f"<h3>Spans in spans</h3>{_table(('Gold spans', 'Recall', 'Gold'), lines, 'narrow')}"


def _samples(samples: Sequence[Mapping[str, Any]], looks: Mapping[str, Look]) -> str:
    """Texts as they are marked in the data, and below that as the model marked them."""
    if not samples:
        return ""
    shown = []
    for sample in samples:
        gold, found = ([_mark(one) for one in sample.get(key, ())] for key in ("gold", "found"))
        right = len(set(gold) & set(found))
        told = f"{right:,} of {len(set(gold)):,} found; {len(set(found)) - right:,} more that are not in the data."
        shown.append(
            f'<div class="sample"><p class="which">Gold</p>{paint(sample["text"], gold, looks)}'
            f'<p class="which">Found</p>{paint(sample["text"], found, looks)}<p class="note">{told}</p></div>\n'
        )
    return f'<div class="samples"><h3>Some texts</h3>{legend(looks)}{"".join(shown)}</div>\n'


def _mark(one: Mapping[str, Any] | Sequence[Any]) -> Mark:
    """A span of a record, [start, end, label] or with these names."""
    start, end, label = (one[key] for key in ("start", "end", "label")) if isinstance(one, Mapping) else one[:3]
    return Mark(int(start), int(end), str(label))


def _privacy(tasks: Mapping[str, Mapping[str, Any]]) -> str:
    held = any(task.get("samples") for task in tasks.values())
    return f'<footer class="note">{clean(PRIVACY)}</footer>\n' if held else ""


def _mistakes(labels: Sequence[str], confusion: Sequence[Sequence[int]], most: int = 10) -> str:
    """The commonest confusions: what a reader of a large matrix looks for."""
    found = [
        (rows, gold, answer) for gold, row in enumerate(confusion) for answer, rows in enumerate(row) if gold != answer
    ]
    lines = [
        [
            f"<td>{_breakable(labels[gold])}</td>",
            f"<td>{_breakable(labels[answer])}</td>",
            _cell("", f"{rows:,}", "number"),
        ]
        for rows, gold, answer in sorted(found, reverse=True, key=lambda one: one[0])[:most]
        if rows
    ]
    return f"<h3>Commonest mistakes</h3>{_table(('Gold', 'Answer', 'Rows'), lines, 'narrow', 2)}" if lines else ""


def _config(record: Mapping[str, Any]) -> str:
    if not record.get("config"):
        return ""
    words = f"<details><summary>As it was run</summary><pre>{clean(record['config'])}</pre></details>"
    return f"<section>\n<h2>Config</h2>\n{words}\n</section>\n"


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


def _follow(history: Iterable[Mapping[str, Any]], key: str) -> dict[str, list[Point]]:
    """The (step, value) of each name under `key`, over the evaluations that have it."""
    found: dict[str, list[Point]] = {}
    for one in history:
        for name, value in (one.get(key) or {}).items():
            if points := finite([(one.get("step"), value)]):  # type: ignore[list-item]
                found.setdefault(name, []).extend(points)
    return found


def _marks(row: Row) -> dict[str, float]:
    found = {"majority": row.majority, row.simple_name: row.simple}
    return {name: value for name, value in found.items() if value is not None}


def _figure(caption: str, chart: str, note: str = "") -> str:
    below = f'<p class="note">{clean(note)}</p>' if note else ""
    return f"<figure><figcaption>{clean(caption)}</figcaption>{chart}{below}</figure>"


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]], kind: str, words: int = 1) -> str:
    """Lines of finished cells under headings, of which the first `words` stand over words and the rest over numbers."""
    head = "".join(
        f'<th scope="col"{"" if place < words else " class=number"}>{clean(name)}</th>'
        for place, name in enumerate(headings)
    )
    rows = "".join(f"<tr>{''.join(cells)}</tr>\n" for cells in lines)
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>\n'


def _cell(name: str, value: str, kind: str, raw: bool = False) -> str:
    named = f' data-name="{clean(name)}"' if name else ""
    return f'<td class="{kind}"{named}>{value if raw else clean(value)}</td>'


def _breakable(label: str) -> str:
    """A name that may be broken after an underscore rather than inside a word."""
    return clean(label).replace("_", "_<wbr>")


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}".replace("-", "−")


def _pair(name: str) -> str:
    return name.replace("~", " and ")


def _day(created: str) -> str:
    try:
        return f"{datetime.fromisoformat(created):%Y-%m-%d %H:%M}"
    except ValueError:
        return created


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _shape(encoder: Mapping[str, Any]) -> str:
    size = f"{encoder['parameters'] / 1e6:.1f}\u00a0M weights" if encoder.get("parameters") else ""
    plan = f"{encoder['layers']} layers of {encoder['width']}" if "layers" in encoder and "width" in encoder else ""
    return ", ".join(filter(None, (plan, size)))


def _best(record: Mapping[str, Any]) -> str:
    best = (record.get("best") or {}).get("overall") or {}
    return f"best overall at step {best['step']:,}" if "step" in best else ""
