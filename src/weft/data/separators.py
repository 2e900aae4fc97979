"""What stands between the labels of a cell, where a cell holds several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

SEPARATORS = ("|", ";", ",")
_LONGEST_PART = 40  # characters of one label among several in a cell


def separator_of(counts: Mapping[str, int]) -> str | None:
    """What stands between the labels of a cell: parts that recur in other company, and are few."""
    return next((separator for separator in SEPARATORS if _separates(separator, counts)), None)


def _separates(separator: str, counts: Mapping[str, int]) -> bool:
    cells = {cell: parts_of(cell, separator) for cell in counts}
    if not any(len(parts) > 1 for parts in cells.values()):
        return False
    company: dict[str, set[str]] = defaultdict(set)
    for cell, parts in cells.items():
        for part in parts:
            company[part].add(cell)
    uses = sum(counts[cell] * len(parts) for cell, parts in cells.items())
    short = all(len(part) <= _LONGEST_PART and len(part.split()) <= 3 for part in company)
    recurring = sum(len(found) > 1 for found in company.values())
    return short and 2 * recurring >= len(company) and 2 * len(company) <= uses


def parts_of(cell: str, separator: str) -> list[str]:
    """The labels of a cell, without blanks at their ends."""
    return [part.strip() for part in cell.split(separator) if part.strip()]
