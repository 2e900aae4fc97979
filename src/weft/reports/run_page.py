"""A run as one page that needs nothing else: no scripts, no other files, no network.

It holds none of the users' texts, unless the record has samples of them, which a run writes only when asked to.
"""

from __future__ import annotations

from datetime import datetime

from weft.reports.charts import Dot, dot_chart
from weft.reports.html import breakable, figure, number_cell, page, raw_cell, table
from weft.reports.matrix import STYLE as MATRIX
from weft.reports.record import BestRecord, EncoderRecord, RunRecord, Standing, TaskRecord
from weft.reports.spans import STYLE as SPANS
from weft.reports.spans import TEXT_STYLE
from weft.reports.style import STYLE
from weft.reports.summary import baseline_names, interval_in_words, listed, number, probe_names, signed, verdict
from weft.reports.svg import clean
from weft.reports.task_section import looks_of_task, task_section
from weft.reports.training_section import training_section

PRIVACY = "This page contains texts of the data: keep it and share it as you would keep and share them."

WORDS: dict[Standing, str] = {
    "better": "clearly above",
    "unclear": "not clear",
    "worse": "clearly below",
    "unknown": "–",
}


def render(record: RunRecord, title: str = "Training report") -> str:
    """The page of a run's record, or of an evaluation's; parts that the record does not hold are left out."""
    tasks = record.tasks.values()
    style = STYLE + MATRIX + (TEXT_STYLE + SPANS if any(map(looks_of_task, tasks)) else "")
    body = [
        _header(record, title),
        _results(record),
        training_section(record),
        *(task_section(index, task) for index, task in enumerate(tasks)),
        _config(record),
        _privacy(record),
    ]
    return page(f"weft report: {listed(record.tasks, 4)}", style, "".join(body))


def _header(record: RunRecord, title: str) -> str:
    summary, *cautions = verdict(record)
    when = [_day(record.created)] if record.created else []
    version = [f"weft {record.weft}"] if record.weft else []
    seed = [f"seed {record.seed}"] if record.seed is not None else []
    listing = "".join(f"<li>{breakable(caution)}</li>" for caution in cautions)
    return (
        f'<header>\n<p class="eyebrow">{clean(" · ".join([title, *when, *version, *seed]))}</p>\n'
        f"<h1>{breakable(listed(record.tasks) or 'No tasks')}</h1>\n"
        f'<p class="lead">{breakable(summary)}</p>\n'
        + (f'<ul class="cautions">{listing}</ul>\n' if listing else "")
        + "</header>\n"
    )


def _results(record: RunRecord) -> str:
    tasks = list(record.tasks.values())
    headings = (
        *("Task", "Metric", "Value", "95 % interval"),
        *("Gain over majority class", "Baseline", "Against baseline", "Probe", "Rows"),
    )
    lines = [_result(index, task, headings) for index, task in enumerate(tasks)]
    dots = [
        Dot(task.name, task.chosen, task.value, task.interval, _baselines(task))
        for task in tasks
        if task.value is not None and task.perplexities is None  # a likelihood lies next to 0, and means nothing there
    ]
    title = "Each task's value, interval and baselines"
    chart = figure("Values with 95 % intervals", dot_chart(dots, title)) if dots else ""
    compared = [task for task in tasks if task.baseline is not None]
    clearly = (
        f"The baseline is {baseline_names(compared)}, without an encoder; “clearly” means that the whole 95 % interval"
        " lies on one side of it. "
    )
    probed = any(task.probe is not None for task in tasks)
    before = f"The probe is what the encoder knew before: {probe_names(tasks).lower()}. " if probed else ""
    return (
        f"<section>\n<h2>Results</h2>\n{table(headings, lines, 'stack', (0, 1))}"
        f'<p class="note under">{clearly if compared else ""}{before}The interval comes from resampling these'
        " rows; it says"
        " nothing about another seed or other texts.</p>\n"
        f'<div class="columns">{chart}{_cost(record)}</div>\n</section>\n'
    )


def _result(index: int, task: TaskRecord, headings: tuple[str, ...]) -> list[str]:
    standing = task.against(task.baseline)
    named = "" if task.baseline is None else f" <small>{clean(task.baseline_name)}</small>"
    return [
        f'<td class="strong"><a href="#task-{index}">{breakable(task.name)}</a></td>',
        raw_cell(f"<code>{breakable(task.chosen)}</code>", "", headings[1]),
        number_cell(number(task.value), "strong", headings[2]),
        number_cell(interval_in_words(task.interval), "", headings[3]),
        number_cell(signed(task.gain), "", headings[4]),
        raw_cell(f"<span>{number(task.baseline)}{named}</span>", "number", headings[5]),
        number_cell(WORDS[standing], standing, headings[6]),
        number_cell(number(task.probe), "", headings[7]),
        number_cell(f"{task.result.rows:,} {task.reported_on}", "", headings[8]),
    ]


def _baselines(task: TaskRecord) -> dict[str, float]:
    values = {"majority": task.majority, task.baseline_name: task.baseline, task.probe_name: task.probe}
    return {name: value for name, value in values.items() if value is not None}


def _cost(record: RunRecord) -> str:
    tiles = [tile for tile in _tiles(record) if tile[1]]
    items = "".join(
        f"<div><dt>{clean(name)}</dt><dd>{breakable(value)}{f'<small>{clean(more)}</small>' if more else ''}</dd></div>"
        for name, value, more in tiles
    )
    return f"<div><h3>Cost</h3><dl>{items}</dl></div>" if tiles else ""


def _tiles(record: RunRecord) -> list[tuple[str, str, str]]:
    """Name, value and a second line of all that a run took; the value is empty where it is not known."""
    seconds, tokens, encoder = record.seconds, record.tokens, record.encoder or EncoderRecord()
    return [
        (
            "Time",
            "" if seconds is None else _duration(seconds),
            f"{seconds:,.1f} s" if seconds and seconds >= 60 else "",
        ),
        ("Peak memory", "" if record.peak_memory_mib is None else f"{record.peak_memory_mib:,.1f} MiB", ""),
        ("Trained on", *_rows(record)),
        (
            "Tokens",
            "" if tokens is None else f"{tokens:,}",
            f"{tokens / seconds:,.0f} tokens/s" if tokens and seconds else "",
        ),
        ("Padding saved", "" if record.padding_saved is None else f"{record.padding_saved:.0%}", "of a padded batch"),
        ("Device", record.device or "", record.precision or ""),
        ("Encoder", encoder.name, _shape(encoder)),
        ("Conditioning", record.conditioning or "", ""),
        ("Ended", _ended(record), _best(record)),
    ]


def _rows(record: RunRecord) -> tuple[str, str]:
    """The training rows, each counted once, and how often a row was learned from on average."""
    rows, passes = record.rows, record.row_passes
    if not rows or passes is None:
        return "", ""
    speed = f", {passes / record.seconds:,.1f}\u00a0rows/s" if record.seconds else ""
    times = f"{passes / rows:.1f}".removesuffix(".0")
    return f"{rows:,} rows", f"{times} {'pass' if times == '1' else 'passes'}{speed}"


def _ended(record: RunRecord) -> str:
    return "" if record.stopped is None else "early" if record.stopped == "early" else "as planned"


def _best(record: RunRecord) -> str:
    best = record.best.get("overall", BestRecord())
    which = "the last weights, of" if best.value is None else "best overall at"  # where no dev rows told
    return "" if best.step is None else f"{which} step\u00a0{best.step:,}"


def _shape(encoder: EncoderRecord) -> str:
    size = f"{encoder.parameters / 1e6:.1f}\u00a0M weights" if encoder.parameters else ""
    plan = f"{encoder.layers} layers of {encoder.width}" if encoder.layers and encoder.width else ""
    return ", ".join(filter(None, (plan, size)))


def _config(record: RunRecord) -> str:
    if not record.config:
        return ""
    words = f"<details><summary>As it was run</summary><pre>{clean(record.config)}</pre></details>"
    return f"<section>\n<h2>Config</h2>\n{words}\n</section>\n"


def _privacy(record: RunRecord) -> str:
    held = any(task.holds_texts for task in record.tasks.values())
    return f'<footer class="note">{clean(PRIVACY)}</footer>\n' if held else ""


def _day(created: str) -> str:
    try:
        return f"{datetime.fromisoformat(created):%Y-%m-%d %H:%M}"
    except ValueError:
        return created


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
