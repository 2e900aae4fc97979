"""What the cells of one column are like, in numbers."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from weft.data.cells import is_blank
from weft.data.numbers import has_decimal_comma, read_number
from weft.data.redact import common_labels

_LONGEST_NAME = 40  # characters; a longer name of a column may be a text
_SCALAR = (str, int, float, bool)


@dataclass(frozen=True, eq=False)
class SampledColumn:
    """A column and its cells, one per row looked at; None where a row has none."""

    name: str
    cells: Sequence[Any]
    known: bool = True  # whether its name is one: in a header, or the key of several rows

    @property
    def shown(self) -> str:
        """Its name as a comment or a message may show it: on one line, and not if it may be a text."""
        return shown_name(self.name) if self.known else _measured(self.name)

    @cached_property
    def filled(self) -> list[Any]:
        """The cells in which somebody wrote something."""
        return [cell for cell in self.cells if not is_blank(cell)]

    @cached_property
    def scalar(self) -> bool:
        """Whether every cell is a text, a number or a yes or no."""
        return all(isinstance(cell, _SCALAR) for cell in self.filled)

    @cached_property
    def listed(self) -> bool:
        """Whether every cell is a list."""
        return all(isinstance(cell, list) for cell in self.filled)

    @cached_property
    def dated(self) -> bool:
        """Whether every cell is a day or a time, as Parquet has them or as people write them."""
        return all(
            isinstance(cell, datetime.date | datetime.time) or (isinstance(cell, str) and _DATE.fullmatch(cell.strip()))
            for cell in self.filled
        )

    @cached_property
    def texts(self) -> bool:
        """Whether every cell is a text."""
        return all(isinstance(cell, str) for cell in self.filled)

    @cached_property
    def values(self) -> list[str]:
        """The cells as labels are read: as text, without blanks at the ends."""
        return [_as_text(cell) for cell in self.filled]

    @cached_property
    def counts(self) -> Counter[str]:
        """How many rows have each value."""
        return Counter(self.values)

    @property
    def different(self) -> int:
        return len(self.counts)

    @cached_property
    def longest(self) -> int:
        """Characters of the longest value."""
        return max(map(len, self.counts), default=0)

    @cached_property
    def length(self) -> float:
        """Characters of a value, on average."""
        return fmean(map(len, self.values)) if self.values else 0.0

    @cached_property
    def words(self) -> float:
        """Words of a value, on average."""
        return fmean(len(value.split()) for value in self.values) if self.values else 0.0

    @cached_property
    def numbers(self) -> list[float] | None:
        """The cells as numbers, where all of them are; with commas in a few of them they are rather lists of labels."""
        if not self.decimal_commas and any(map(has_decimal_comma, self.values)):
            return None
        try:
            return [read_number(value) for value in self.values]
        except ValueError:
            return None

    @cached_property
    def decimal_commas(self) -> bool:
        """Whether cells are numbers, and at least half of them fractions with a comma; of labels, some are three."""
        fractions = sum(map(has_decimal_comma, self.filled))
        whole = sum(isinstance(cell, str) and cell.strip().lstrip("+-").isdecimal() for cell in self.filled)
        return 2 * fractions >= len(self.filled) == fractions + whole

    @property
    def finite(self) -> bool:
        """Whether no number is without end or no number at all; a word such as 'nan' in a text file is a label."""
        return all(math.isfinite(cell) for cell in self.filled if isinstance(cell, float))

    @property
    def whole(self) -> bool:
        """Whether all cells are whole numbers."""
        return self.numbers is not None and all(number.is_integer() for number in self.numbers)

    @property
    def wide(self) -> bool:
        """Whether a number has more digits than can be written as text."""
        return any(isinstance(cell, int) and abs(cell) > 10**300 for cell in self.filled)

    def summary(self, most: int = 4) -> str:
        """`2 labels: 'a' (12 rows), 'b' (9)`; of many, or of those that may be texts, only how many there are."""
        rows = sorted(self.counts.values())
        names = common_labels(self.counts)
        if len(self.counts) <= most and names.issuperset(self.counts):
            listed = ", ".join(f"{shown_name(label)} ({count:,})" for label, count in self.counts.most_common())
            return f"{len(rows)} labels, with their rows: {listed}"
        some = f"{rows[0]:,} to {rows[-1]:,}" if rows[0] < rows[-1] else f"{rows[0]:,}"
        return f"{len(rows):,} labels, {some} rows each" if rows[-1] > 1 else f"{len(rows):,} labels of one row each"


def shown_name(name: str) -> str:
    """A name in quotes, on one line; of one too long to be a name, only its length."""
    return repr(name) if len(name) <= _LONGEST_NAME else _measured(name)


def _measured(name: str) -> str:
    return f"(a name of {len(name):,} character{'' if len(name) == 1 else 's'})"


def _as_text(cell: Any) -> str:
    try:
        return str(cell).strip()
    except ValueError:  # a number of thousands of digits
        return "a number of thousands of digits"


_DATE = re.compile(
    r"(\d{4}-\d\d?-\d\d?|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{2,4})([T ,]+\d\d?:\d\d(:\d\d(\.\d+)?)?( ?[AaPp][Mm])?"
    r"(Z| ?[+-]\d\d:?\d\d)?)?|\d\d?:\d\d(:\d\d)?"
)
