"""Numbers as people write them into cells: with a decimal point, or with a decimal comma where that says one thing."""

from __future__ import annotations

import re
from typing import Any

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")  # 1,500: fifteen hundred in one place, one and a half in another


def has_decimal_comma(cell: Any) -> bool:
    """Whether a cell is a fraction as spreadsheets write it in many languages, `1,5`, or may be one, `1,500`."""
    return isinstance(cell, str) and _DECIMAL_COMMA.fullmatch(cell.strip()) is not None


def may_part_thousands(cell: Any) -> bool:
    """Whether the comma of a cell may part thousands: three digits behind it, and before it one to three without 0."""
    return isinstance(cell, str) and _THOUSANDS.fullmatch(cell.strip()) is not None


def read_number(cell: Any) -> float:
    """The number in a cell; raises ValueError, or TypeError, where there is none or where its comma says two things."""
    if has_decimal_comma(cell) and not may_part_thousands(cell):
        return float(cell.strip().replace(",", "."))
    return float(cell)


def with_decimal_comma(number: float) -> str:
    """A fraction with a decimal comma, such that `read_number` gives it back: `1,5000` for 1.5, never `1,500`."""
    written = str(number).replace(".", ",")
    return f"{written}0" if may_part_thousands(written) else written
