"""The results of a run in a terminal, and in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.table import Table
from rich.text import Text

Standing = Literal["better", "unclear", "worse", "unknown"]

WIDE = 0.2  # an interval from which a number is more hint than result
MISCALIBRATED = 0.1
SIMPLE = {"tfidf": "TF-IDF", "lookup": "lookup"}  # methods without an encoder, by their names in a record
STYLES: dict[Standing, str] = {"better": "green", "unclear": "yellow", "worse": "red", "unknown": ""}


@dataclass(frozen=True)
class Row:
    """One task's chosen metric beside its baselines; what was not measured is None."""

    task: str
    metric: str
    value: float | None
    interval: tuple[float, float] | None
    majority: float | None
    simple: float | None  # of the method without an encoder
    simple_name: str  # TF-IDF, or lookup where words are asked about
    rows: int
    part: str  # the rows it was measured on: test, dev
    calibration_error: float | None
    perplexities: tuple[float, float | None] | None = None  # at masked words: its own, and that of their frequency

    def against(self, baseline: float | None) -> Standing:
        """`better` or `worse` only where the whole interval lies on that side of the baseline."""
        if baseline is None or self.value is None:
            return "unknown"
        if self.interval is None:
            return "unclear"
        low, high = self.interval
        return "better" if low > baseline else "worse" if high < baseline else "unclear"

    @property
    def gain(self) -> float | None:
        return None if self.value is None or self.majority is None else self.value - self.majority


def read_rows(record: Mapping[str, Any]) -> list[Row]:
    """A row per task, in the record's order."""
    return [_read_row(name, task) for name, task in record.get("tasks", {}).items()]


def results_table(record: Mapping[str, Any]) -> Table:
    """Task, metric, value with interval, baselines and rows; green where clearly above the simple method, red below."""
    table = Table(box=None, header_style="bold", pad_edge=False, collapse_padding=False)
    table.add_column("task", overflow="fold")
    table.add_column("metric")
    rows = read_rows(record)
    names = {row.simple_name for row in rows}
    simple = simple_names(rows) if len(names) < 2 else "simple"  # the sentence below the table names them
    for heading in ("value", "95 % interval", "majority", simple, "rows"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        value = Text(number(row.value), style=STYLES[row.against(row.simple)])
        cells = (span(row.interval), number(row.majority), number(row.simple), f"{row.rows:,} {row.part}")
        table.add_row(Text(row.task), Text(row.metric), value, *cells)
    return table


def verdict(record: Mapping[str, Any]) -> list[str]:
    """What the results say, in plain sentences: against methods without an encoder, then reasons for caution."""
    rows = read_rows(record)
    if not rows:
        return ["No task was measured."]
    return [*_summary(rows), *_perplexities(rows), *_cautions(rows)]


def simple_names(rows: Sequence[Row]) -> str:
    """What the methods without an encoder are called."""
    return " or ".join(dict.fromkeys(row.simple_name for row in rows)) or "TF-IDF"


def number(value: float | None) -> str:
    """Three decimals, and five where three would show next to nothing."""
    return "–" if value is None else f"{value:.5f}" if 0 < abs(value) < 0.01 else f"{value:.3f}"


def span(interval: Sequence[float] | None) -> str:
    """An interval as `0.712 to 0.840`, unmistakable where ends are negative."""
    return "–" if interval is None else f"{number(interval[0])} to {number(interval[1])}"


def listed(names: Iterable[str], most: int = 6) -> str:
    """`a`, `a and b`, `a, b and c`; beyond `most` names how many more."""
    words = list(names)
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def measured(value: Any) -> float | None:
    """A number of the record, or None where it is missing or not finite."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _read_row(name: str, task: Mapping[str, Any]) -> Row:
    result = task.get("result", {})
    metric = result.get("metric") or task.get("metric", "")
    measures = result.get("measures", {})
    scores, baselines = measures.get("scores", {}), result.get("baselines", {})
    ends = [measured(end) for end in measures.get("intervals", {}).get(metric) or ()]
    return Row(
        task=name,
        metric=metric,
        value=measured(scores.get(metric)),
        interval=(ends[0], ends[1]) if len(ends) == 2 and ends[0] is not None and ends[1] is not None else None,
        majority=measured(baselines.get("majority", {}).get(metric)),
        simple=next((measured(baselines[key].get(metric)) for key in SIMPLE if key in baselines), None),
        simple_name=next((name for key, name in SIMPLE.items() if key in baselines), SIMPLE["tfidf"]),
        rows=int(result.get("rows", 0)),
        part=task.get("reported_on", "test"),
        calibration_error=measured(scores.get("calibration_error")),
        perplexities=None
        if (own := measured(scores.get("perplexity"))) is None
        else (own, measured(baselines.get("majority", {}).get("perplexity"))),
    )


def _summary(rows: Sequence[Row]) -> list[str]:
    rows = [row for row in rows if row.perplexities is None]  # nothing without an encoder tells masked words
    if not rows:
        return []
    parts = {row.part for row in rows}
    where = f"On the {parts.pop()} rows" if len(parts) == 1 else "On rows not trained on"
    groups = {standing: [row.task for row in rows if row.against(row.simple) == standing] for standing in STYLES}
    clauses, simple = [], simple_names(rows)
    if names := groups["better"]:
        clauses.append(f"{listed(names)} clearly {_verb(names, 'beats', 'beat')} {simple}")
    if names := groups["unclear"]:
        clauses.append(f"{listed(names)} {_verb(names, 'is', 'are')} not clearly different from {simple}")
    if names := groups["worse"]:
        clauses.append(f"{listed(names)} {_verb(names, 'is', 'are')} clearly worse than {simple}")
    if names := groups["unknown"]:
        clauses.append(f"{listed(names)} {_verb(names, 'was', 'were')} not compared with {simple}")
    return [f"{where}, {'; '.join(clauses)}."]


def _perplexities(rows: Sequence[Row]) -> list[str]:
    found = []
    for row in rows:
        if row.perplexities is not None:
            own, common = row.perplexities
            beside = "" if common is None else f"; knowing only how common each token is, {common:.1f}"
            found.append(f"Perplexity of {row.task} at masked words: {own:.1f}{beside}.")
    return found


def _cautions(rows: Sequence[Row]) -> list[str]:
    found = []
    for row in rows:
        if row.value is None and row.rows:
            found.append(f"{row.task} has no finite {row.metric}: training may have diverged.")
        if row.majority is not None and row.against(row.majority) in ("unclear", "worse"):
            found.append(
                f"{row.task} has not been shown to beat the commonest answer: {number(row.value)}"
                f" ({span(row.interval)}) against {number(row.majority)}."
            )
        if row.interval and row.interval[1] - row.interval[0] > WIDE:
            found.append(
                f"{row.task} was measured on only {row.rows:,} rows: its interval, {span(row.interval)}, is wide."
            )
        if row.calibration_error is not None and row.calibration_error > MISCALIBRATED:
            found.append(
                f"Confidence in {row.task} is off by {number(row.calibration_error)} on average:"
                " do not read it as a probability."
            )
    if chosen := [row.task for row in rows if row.part == "dev"]:
        found.append(
            f"{listed(chosen)} {_verb(chosen, 'was', 'were')} measured on the dev rows that also chose the weights:"
            " expect less on new texts."
        )
    return found


def _verb(names: Sequence[str], one: str, several: str) -> str:
    return one if len(names) == 1 else several
