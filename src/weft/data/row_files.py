"""Several files read as one: their rows one after another, with lines that are counted through all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from weft.data.formats import Row, read_rows
from weft.data.opening import UTF8
from weft.errors import DataError


@dataclass(frozen=True)
class RowFiles:
    """Files in order; which line of which file a counted line is, is known once they were read."""

    paths: tuple[Path, ...]
    encoding: str = UTF8
    begins: list[int] = field(default_factory=list, compare=False, repr=False)  # lines before each of the files

    def rows(self) -> Iterator[Row]:
        """The rows of all files; an error names its own file, and its line as it is counted."""
        self.begins.clear()
        before = 0
        for path in self.paths:
            self.begins.append(before)
            last = 1  # also of a file without rows, so that no two files begin alike
            try:
                for row in read_rows(path, self.encoding):
                    last = row.line
                    yield replace(row, line=before + row.line)
            except DataError as error:
                line = None if error.line is None else before + error.line
                raise DataError(error.message, file=path, line=line, column=error.column) from None
            before += last

    def by_file(self, lines: Iterable[int]) -> dict[Path, list[int]]:
        """Counted lines as lines of the files that hold them."""
        found: dict[Path, list[int]] = {}
        for line in sorted(set(lines)):
            which = bisect_left(self.begins, line) - 1
            found.setdefault(self.paths[which], []).append(line - self.begins[which])
        return found
