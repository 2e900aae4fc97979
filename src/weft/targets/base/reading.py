"""What targets with labels read out of a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from weft.data.cells import is_blank
from weft.data.records import Span
from weft.data.redact import nearest_name, shown_label


def read_label(cell: Any, labels: Sequence[str]) -> str | None:
    """The label in a cell, None where it is blank; raises ValueError where it is not one of `labels`, if any are."""
    if is_blank(cell):
        return None
    if not isinstance(cell, str | int | float | bool):
        raise ValueError(f"a label must be a word or a number, but this is a {type(cell).__name__}")
    if isinstance(cell, float) and not math.isfinite(cell):
        raise ValueError(f"a label must be a word or a number, but this is {cell}; leave the cell blank for no answer")
    label = str(cell).strip()
    check_label(label, labels)
    return label


def check_label(label: str, labels: Sequence[str]) -> None:
    """Raise ValueError for a label that is not one of `labels`, if any are given."""
    if labels and label not in labels:
        raise ValueError(
            f"label {shown_label(label, labels)} is not one of: {', '.join(labels)}{nearest_name(label, labels)}"
        )


def check_labels(spans: tuple[Span, ...], labels: Sequence[str]) -> tuple[Span, ...]:
    """The spans, all with labels that are allowed; raises ValueError otherwise."""
    for *_, label in spans:
        check_label(label, labels)
    return spans
