"""What checks find, the rows they look at, and the words for both.

No finding holds a text of the user: it gives files, lines and counts, and of labels only those that look like labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from weft.training.reading import SplitRows

Severity = Literal["error", "warning", "note"]  # training is impossible, a likely mistake, a fact
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One thing to mend or to know: `path` is that of the config key concerned."""

    severity: Severity
    path: str
    message: str
    remedy: str = field(default="", compare=False)  # what to do about it, or the key that would help
    fact: str = field(default="", compare=False)  # the message without where it holds

    @property
    def full(self) -> str:
        """What was found, and what to do about it."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message

    @property
    def in_one_line(self) -> str:
        """The same after the key that it is about."""
        return f"{self.path}: {self.full}"


@dataclass(frozen=True)
class Part(SplitRows):
    """The rows of one split of a task, and the words for what is found in them."""

    def finding(
        self,
        severity: Severity,
        message: str,
        lines: Sequence[int] = (),
        column: str | None = None,
        remedy: str = "",
    ) -> Finding:
        """What is said of the file, or of some of its lines, or of a column in them."""
        return Finding(severity, self.path, self.locate(message, lines, column), remedy, message)

    def count(
        self, severity: Severity, lines: Sequence[int], message: str, remedy: str = "", where: str = ""
    ) -> list[Finding]:
        """What is said of some of the rows, after their share of all; nothing where there are none.

        `where` is added to the message: which other rows it is about.
        """
        if not lines:
            return []
        fact = f"{share(len(lines), len(self.rows))} {message if len(lines) > 1 else of_one_row(message)}"
        return [replace(self.finding(severity, f"{fact}{where}", lines, remedy=remedy), fact=fact)]


def of_one_row(message: str) -> str:
    """A message that says what rows have or do, as it is said of one of them."""
    return message.replace("rows have ", "rows has ", 1).replace(" and are ", " and is ", 1)


def share(count: int, total: int) -> str:
    """`2 of 62 (3.2 %)`."""
    percent = 100 * count / max(total, 1)
    return f"{count:,} of {total:,} ({f'{percent:.1f}' if percent >= 0.1 else 'under 0.1'} %)"
