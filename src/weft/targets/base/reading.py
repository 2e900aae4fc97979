"""What targets with labels read out of a cell."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from weft.data.cells import is_blank
from weft.data.records import Span
from weft.data.redact import nearest_name, shown_label
from weft.errors import kind_of


class UnlistedLabel(ValueError):  # noqa: N818 (it says what is wrong)
    """A label that is not one of those that the config lists; whoever knows that it is a name may show it."""

    def __init__(self, label: str, listed: Sequence[str]) -> None:
        self.label, self.listed = label, tuple(listed)
        super().__init__(self.said(()))

    def said(self, names: Collection[str]) -> str:
        """The message; `names` are further labels that are known to be names."""
        shown = repr(self.label) if self.label in names else shown_label(self.label, self.listed)
        return f"label {shown} is not one of: {', '.join(self.listed)}{nearest_name(self.label, self.listed)}"


def read_label(cell: Any, labels: Sequence[str]) -> str | None:
    """The label in a cell, None where it is blank; raises ValueError where it is not one of `labels`, if any are."""
    if is_blank(cell):
        return None
    if not isinstance(cell, str | int | float | bool):
        raise ValueError(f"a label must be a word or a number, but this is {kind_of(cell)}")
    if isinstance(cell, float) and not math.isfinite(cell):
        raise ValueError(f"a label must be a word or a number, but this is {cell}; leave the cell blank for no answer")
    label = str(cell).strip()
    check_label(label, labels)
    return label


def check_label(label: str, labels: Sequence[str]) -> None:
    """Raise UnlistedLabel for a label that is not one of `labels`, if any are given."""
    if labels and label not in labels:
        raise UnlistedLabel(label, labels)


def check_labels(spans: tuple[Span, ...], labels: Sequence[str]) -> tuple[Span, ...]:
    """The spans, all with labels that are allowed; raises ValueError otherwise."""
    for *_, label in spans:
        check_label(label, labels)
    return spans
