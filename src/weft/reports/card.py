"""A run as a model card: the Markdown page that lies in the model's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from weft.reports.record import EncoderRecord, RunRecord, TaskRecord
from weft.reports.summary import interval_in_words, number, probe_names, verdict
from weft.reports.svg import FORBIDDEN


def render_card(record: RunRecord) -> str:
    """The card of a run's record, without any of the users' texts."""
    tasks = list(record.tasks.values())
    parts = [
        f"# {', '.join(code(task.name) for task in tasks)}",
        _about(record),
        "## Tasks",
        "\n".join(map(_task, tasks)),
        "## Results",
        _results(tasks),
        "\n".join(f"- {escaped(sentence)}" for sentence in verdict(record)),
        "## Use",
        _use(tasks),
        "## Limits",
        _limits(tasks),
        "## Training",
        _training(record),
    ]
    if record.config:
        parts.append(fenced(record.config, "toml"))
    return FORBIDDEN.sub("�", "\n\n".join(parts)) + "\n"


def code(words: str) -> str:
    """Words as a code span, whatever they hold: nothing inside is read as Markdown or HTML."""
    line = " ".join(words.split())
    ticks = "`" * (1 + _longest_run(line))
    room = " " if "`" in line or not line else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def escaped(words: str) -> str:
    """Words as plain Markdown text: every sign with a meaning loses it."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&])", r"\\\1", " ".join(words.split()))


def fenced(words: str, language: str) -> str:
    """Words as a block of code, behind a fence longer than any run of backticks inside."""
    fence = "`" * max(3, 1 + _longest_run(words))
    return f"{fence}{language}\n{words.rstrip()}\n{fence}"


def _about(record: RunRecord) -> str:
    encoder = record.encoder or EncoderRecord()
    base = f"the encoder {code(encoder.name)}" if encoder.name else "one encoder"
    size = f" ({encoder.parameters / 1e6:.1f} million weights)" if encoder.parameters else ""
    count = "one task" if len(record.tasks) == 1 else f"{len(record.tasks)} tasks"
    version = f" {record.weft}" if record.weft else ""
    learned = "for" if all(task.without_rows for task in record.tasks.values()) else "trained for"
    return f"A weft{version} model: {base}{size}, {learned} {count}."


def _task(task: TaskRecord) -> str:
    labels = task.labels
    names = f"; {len(labels)} labels: {', '.join(map(code, labels))}" if labels else ""
    words = "; by the words of its labels alone, calibrated on nothing" if task.without_rows else ""
    return f"- {code(task.name)}: {task.kind.replace('_', ' ')}{names}{words}"


def _results(tasks: Sequence[TaskRecord]) -> str:
    headings = ("task", "metric", "value", "95 % interval", "majority", "baseline", probe_names(tasks), "rows")
    lines: list[tuple[str, ...]] = [headings]
    lines.append(("---", "---", *["---:"] * 6))
    for task in tasks:
        baseline = "–" if task.baseline is None else f"{number(task.baseline)} ({task.baseline_name})"
        own = (number(task.value), interval_in_words(task.interval), number(task.majority))
        lines.append(
            (
                code(task.name),
                code(task.chosen),
                *own,
                baseline,
                number(task.probe),
                f"{task.result.rows:,} {task.reported_on}",
            )
        )
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _use(tasks: Sequence[TaskRecord]) -> str:
    shell = fenced('weft predict FOLDER --text "…"', "sh")
    name = json.dumps(tasks[0].name, ensure_ascii=False) if tasks else "None"
    python = fenced(f'import weft\n\nmodel = weft.load("FOLDER")\nmodel.predict(["…"], task={name})', "python")
    return f"{shell}\n\n{python}\n\nA task that reads two texts takes `--text-pair` too, and a tuple of two in Python."


def _limits(tasks: Sequence[TaskRecord]) -> str:
    where = "; ".join(f"{code(task.name)} on {task.result.rows:,} {task.reported_on} rows" for task in tasks)
    return (
        f"Measured: {where}. Not tested anywhere else: on texts of another source, time or language expect less, and"
        " measure again (`weft evaluate FOLDER --data FILE`). The intervals come from resampling the same rows and"
        " do not cover another seed. Whoever decides about people with these answers should look at the errors first."
    )


def _training(record: RunRecord) -> str:
    facts = [f"- seed {record.seed}"] if record.seed is not None else []
    encoder = record.encoder or EncoderRecord()
    if encoder.layers and encoder.width:
        facts.append(f"- encoder {code(encoder.name)}: {encoder.layers} layers, {encoder.width} wide")
    if record.conditioning:
        facts.append(f"- conditioning {code(record.conditioning)}")
    for name, task in record.tasks.items():
        if sizes := ", ".join(f"{count:,} {part}" for part, count in task.rows.items()):
            facts.append(f"- rows of {code(name)}: {sizes}")
    facts += [f"- {escaped(reason)}" for reason in record.reasons]
    if record.seconds:
        where = f" on {record.device} in {record.precision}" if record.device and record.precision else ""
        facts.append(f"- {record.seconds:,.0f} s{where}")
    if record.created:
        facts.append(f"- {escaped(record.created)}")
    return "\n".join(facts)


def _longest_run(words: str) -> int:
    return max(map(len, re.findall("`+", words)), default=0)
