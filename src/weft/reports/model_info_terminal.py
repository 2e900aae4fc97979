"""A model in one screen of a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from weft.reports.model_info import EncoderInfo, ModelInfo, TaskInfo
from weft.reports.summary import interval_in_words, number

_SHOWN = 12  # labels of a task; the rest are counted
_ROUNDED = 10_000  # weights from which they are told in millions


def info_screen(info: ModelInfo) -> Group:
    """What it is in a line, a table of its tasks, and a table of facts."""
    return Group(*_parts(info))


def _parts(info: ModelInfo) -> Iterator[RenderableType]:
    many = f"{len(info.tasks)} task{'s' * (len(info.tasks) != 1)}"
    told = f"a model of {many}" if info.tasks else "an encoder; it has no tasks"
    yield Text(f"{info.folder}: {told}", style="bold")
    yield ""
    if info.tasks:
        yield from (_tasks(info), "")
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="bold", overflow="fold")
    facts.add_column(overflow="fold")
    for name, words in _facts(info):
        facts.add_row(Text(name), Text(words))
    yield facts


def _tasks(info: ModelInfo) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("task", "kind", "metric"):
        table.add_column(heading, overflow="fold")
    for heading in ("value", "95 % interval", "rows"):
        table.add_column(heading, justify="right")
    for name, task in info.tasks.items():
        rows = "–" if task.rows is None else f"{task.rows:,} {task.reported_on}"
        table.add_row(Text(name), task.kind, task.metric, number(task.value), interval_in_words(task.interval), rows)
    return table


def _facts(info: ModelInfo) -> Iterator[tuple[str, str]]:
    for name, task in info.tasks.items():
        if task.labels:
            yield f"labels of {name}", _labels(task)
        if task.costs:
            pairs = [f"{true} as {given} {cost:g}" for true, row in task.costs.items() for given, cost in row.items()]
            yield f"costs of {name}", ", ".join(pairs)
    if info.tasks:
        yield "calibrated", _calibrated(info)
        yield "conditioning", info.conditioning or "none"
    yield "encoder", _encoder(info.encoder)
    beside = f", and {_millions(info.added_parameters)} beside" if info.added_parameters else ""
    yield "size", f"{info.encoder.parameters / 1e6:.1f} million weights{beside}; {info.bytes / 1e6:.1f} MB"
    if info.tasks:
        yield "trained", _trained(info)


def _millions(weights: int) -> str:
    """`1.25 million`; in full where so few would round to next to nothing."""
    return f"{weights / 1e6:.2f} million" if weights >= _ROUNDED else f"{weights:,}"


def _labels(task: TaskInfo) -> str:
    more = f", … {len(task.labels) - _SHOWN} more" if len(task.labels) > _SHOWN else ""
    return f"{', '.join(task.labels[:_SHOWN])}{more}"


def _calibrated(info: ModelInfo) -> str:
    known = {name: task.calibrated for name, task in info.tasks.items()}
    if None in known.values():
        return "not known"
    chosen = [name for name, yes in known.items() if yes]
    return ", ".join(chosen) if len(chosen) < len(known) and chosen else "all tasks" if chosen else "no task"


def _encoder(encoder: EncoderInfo) -> str:
    name = f"{encoder.name}, " if encoder.name else ""
    return (
        f"{name}{encoder.family}: {encoder.layers} layers, {encoder.width} wide, {encoder.heads} heads, "
        f"{encoder.vocabulary:,} tokens known, {encoder.max_length:,} per text"
    )


def _trained(info: ModelInfo) -> str:
    if info.created is None:
        return "not known: the folder has no record of a run (report.json)"
    parts = [
        info.created,
        f"by weft {info.weft}" if info.weft else "",
        f"in {info.seconds:,.0f} s" if info.seconds is not None else "",
        f"on {info.device} in {info.precision}" if info.device and info.precision else "",
        f"with {info.peak_memory_mib:,.0f} MiB" if info.peak_memory_mib is not None else "",
        f"(seed {info.seed})" if info.seed is not None else "",
    ]
    return " ".join(filter(None, parts))
