"""The sections of a task whose record has them as `details`, the layout of version 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.metrics.sections import Calibration, ClassTable, ConfusionMatrix, Section, Table

NESTING = {"inside": "inside another", "outside": "holding others", "flat": "neither"}  # how a span lies to others


def sections_from(details: Mapping[str, Any], error: float | None, spans: bool) -> list[Section]:
    """Every section that the details have something for; `error` is the calibration error, if measured."""
    sections: list[Section] = []
    if details.get("reliability"):
        sections.append(Calibration(details["reliability"], error))
    if details.get("confusion"):
        sections.append(ConfusionMatrix(details["labels"], details["confusion"]))
    if details.get("per_class"):
        sections.append(ClassTable(details["per_class"], spans))
    if details.get("nested"):
        sections.append(_nested(details["nested"]))
    return sections


def _nested(recalls: Mapping[str, float]) -> Table:
    counts = {nesting: int(recalls[f"{nesting}_support"]) for nesting in NESTING if f"{nesting}_support" in recalls}
    rows = [(NESTING[nesting], recalls[nesting] if count else None, count) for nesting, count in counts.items()]
    return Table("Recall of nested spans", ("True spans", "Recall", "Support"), rows)
