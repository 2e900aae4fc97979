"""What checks find, the rows they look at, and the words for both.

No finding holds a text of the user: it gives files, lines and counts, and of labels only those that look like labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from weft.data.records import Example

Severity = Literal["fault", "warning", "note"]  # training is impossible, a likely mistake, a fact
SEVERITIES: tuple[Severity, ...] = ("fault", "warning", "note")

SHOWN = 5  # lines and labels named one by one before the rest are only counted
WRONG = 20  # different wrong answers after which they are taken for another column, neither read on nor named


@dataclass(frozen=True)
class Finding:
    """One thing to mend or to know: `place` is the dotted path of the config concerned."""

    severity: Severity
    place: str
    message: str


@dataclass(frozen=True)
class Part:
    """The rows of one split of a task; counts mean nothing where reading stopped half-way (`complete` is False)."""

    place: str
    file: str
    rows: list[Example]
    complete: bool = True

    def finding(self, severity: Severity, said: str, lines: Sequence[int] = (), column: str | None = None) -> Finding:
        """What is said of the file, or of some of its lines, or of a column in them."""
        where = self.file + (f", {name_lines(lines)}" if lines else "")
        return Finding(severity, self.place, f"{where}{'' if column is None else f', column {column!r}'}: {said}")

    def count(self, severity: Severity, lines: Sequence[int], said: str) -> list[Finding]:
        """What is said of some of the rows, after their share of all; nothing where there are none."""
        return [self.finding(severity, f"{share(len(lines), len(self.rows))} {said}", lines)] if lines else []


def name_lines(numbers: Iterable[int]) -> str:
    """`line 3`, or `lines 2, 3, 5, 8, 9 … and 12 more`."""
    return f"line{'s' if len(ordered := sorted(set(numbers))) > 1 else ''} {few(map(str, ordered))}"


def few(names: Iterable[str]) -> str:
    """The first five names, and how many more there are."""
    listed = list(names)
    return ", ".join(listed[:SHOWN]) + (f" … and {len(listed) - SHOWN:,} more" if len(listed) > SHOWN else "")


def share(count: int, total: int) -> str:
    """`2 of 62 (3.2 %)`."""
    percent = 100 * count / max(total, 1)
    return f"{count:,} of {total:,} ({f'{percent:.1f}' if percent >= 0.1 else 'under 0.1'} %)"
