"""What a cell of a table holds."""

from __future__ import annotations

from typing import Any


def is_blank(cell: Any) -> bool:
    """Whether nobody wrote anything into a cell: no value, or a text of blanks."""
    return cell is None or (isinstance(cell, str) and not cell.strip())
