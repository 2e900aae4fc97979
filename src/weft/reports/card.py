"""A run as a model card: the Markdown page that lies in the model's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from weft.reports.svg import FORBIDDEN
from weft.reports.terminal import Row, number, read_rows, simple_names, span, verdict


def render_card(record: Mapping[str, Any]) -> str:
    """The card of a run's record, without any of the users' texts."""
    rows = read_rows(record)
    tasks: Mapping[str, Any] = record.get("tasks", {})
    parts = [
        f"# {', '.join(code(row.task) for row in rows)}",
        _about(record, rows),
        "## Tasks",
        "\n".join(_task(name, task) for name, task in tasks.items()),
        "## Results",
        _results(rows),
        "\n".join(f"- {escaped(sentence)}" for sentence in verdict(record)),
        "## Use",
        _use(rows),
        "## Limits",
        _limits(rows),
        "## Training",
        _training(record),
    ]
    if record.get("config"):
        parts.append(fenced(record["config"], "toml"))
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


def _about(record: Mapping[str, Any], rows: Sequence[Row]) -> str:
    encoder = record.get("encoder") or {}
    base = f"the encoder {code(str(encoder['name']))}" if encoder.get("name") else "one encoder"
    size = f" ({encoder['parameters'] / 1e6:.1f} million weights)" if encoder.get("parameters") else ""
    count = "one task" if len(rows) == 1 else f"{len(rows)} tasks"
    version = f" {record['weft']}" if record.get("weft") else ""
    return f"A weft{version} model: {base}{size}, trained for {count}."


def _task(name: str, task: Mapping[str, Any]) -> str:
    labels = task.get("result", {}).get("measures", {}).get("details", {}).get("labels", ())
    kind = task.get("kind", "").replace("_", " ")
    answers = (
        f"; {len(labels)} labels: {', '.join(code(label) for label in labels)}" if labels else "; answers with a number"
    )
    return f"- {code(name)}: {kind}{answers}"


def _results(rows: Sequence[Row]) -> str:
    headings = ("task", "metric", "value", "95 % interval", "majority", simple_names(rows), "rows")
    lines = [headings, ("---", "---", *["---:"] * 5)]
    for row in rows:
        numbers = (number(row.value), span(row.interval), number(row.majority), number(row.simple))
        lines.append((code(row.task), code(row.metric), *numbers, f"{row.rows:,} {row.part}"))
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _use(rows: Sequence[Row]) -> str:
    shell = fenced('weft predict FOLDER --text "…"', "sh")
    task = json.dumps(rows[0].task, ensure_ascii=False) if rows else "None"
    python = fenced(f'import weft\n\nmodel = weft.load("FOLDER")\nmodel.predict(["…"], task={task})', "python")
    return f"{shell}\n\n{python}\n\nA task that reads two texts takes `--text-pair` too, and a tuple of two in Python."


def _limits(rows: Sequence[Row]) -> str:
    where = "; ".join(f"{code(row.task)} on {row.rows:,} {row.part} rows" for row in rows)
    return (
        f"Measured: {where}. Not tested anywhere else: on texts of another source, time or language expect less, and"
        " measure again (`weft evaluate FOLDER --data FILE`). The intervals come from drawing the same rows again and"
        " do not cover another seed. Whoever decides about people with these answers should look at the errors first."
    )


def _training(record: Mapping[str, Any]) -> str:
    facts = [f"- seed {record['seed']}"] if "seed" in record else []
    encoder = record.get("encoder") or {}
    if "layers" in encoder and "width" in encoder:
        facts.append(
            f"- encoder {code(str(encoder.get('name', '')))}: {encoder['layers']} layers, {encoder['width']} wide"
        )
    if record.get("conditioning"):
        facts.append(f"- conditioning {code(str(record['conditioning']))}")
    for name, task in record.get("tasks", {}).items():
        if sizes := ", ".join(f"{count:,} {part}" for part, count in task.get("rows", {}).items()):
            facts.append(f"- rows of {code(name)}: {sizes}")
    if record.get("seconds"):
        where = (
            f" on {record['device']} in {record['precision']}" if "device" in record and "precision" in record else ""
        )
        facts.append(f"- {record['seconds']:,.0f} s{where}")
    if record.get("created"):
        facts.append(f"- {escaped(str(record['created']))}")
    return "\n".join(facts)


def _longest_run(words: str) -> int:
    return max(map(len, re.findall("`+", words)), default=0)
