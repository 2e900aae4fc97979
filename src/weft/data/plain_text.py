"""Plain text: numbered lines, each of which is a text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weft.data.opening import UTF8, read_lines


def read_plain_text(path: Path, encoding: str = UTF8) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line as a text; a blank line is an empty one."""
    return ((number, {"text": line.rstrip("\r\n")}) for number, line in read_lines(path, encoding))
