"""Plain data at the two ends of a model: what was read, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Gold = str | tuple[str, ...] | float  # one label, any number of labels, or a score
Prediction = dict[str, Any]  # plain JSON data; which keys depends on the target


@dataclass(frozen=True, slots=True)
class Example:
    """One row of a task: its text, or the two texts of a pair, and its gold answer."""

    texts: tuple[str, ...]
    gold: Gold
    line: int  # in the file it came from
