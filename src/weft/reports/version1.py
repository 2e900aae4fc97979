"""The sections of a task whose record is of version 1, which had `details` of measures instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.metrics.sections import Calibration, ClassTable, ConfusionMatrix, Section, TableSection

NESTING = {"inside": "inside another", "outside": "around another", "flat": "neither"}  # how a span lies to others


def sections_from(result: Mapping[str, Any]) -> list[Section]:
    """Every section that the details of a result have something for."""
    measures = result.get("measures") or {}
    details = measures.get("details") or {}
    sections: list[Section] = []
    if details.get("reliability"):
        error = (measures.get("scores") or {}).get("calibration_error")
        sections.append(Calibration(details["reliability"], error))
    if details.get("confusion"):
        sections.append(ConfusionMatrix(details.get("labels", ()), details["confusion"]))
    if details.get("per_class"):
        spans = "nested" in details or "lookup" in (result.get("baselines") or {})  # only these were compared with it
        sections.append(ClassTable(details["per_class"], spans))
    if details.get("nested"):
        sections.append(_nested(details["nested"]))
    return sections


def _nested(recalls: Mapping[str, float]) -> TableSection:
    counts = {nesting: int(recalls[f"{nesting}_support"]) for nesting in NESTING if f"{nesting}_support" in recalls}
    rows = [(NESTING[nesting], recalls[nesting] if count else None, count) for nesting, count in counts.items()]
    return TableSection("Recall of nested spans", ("True spans", "Recall", "Support"), rows)
