"""The first rows of a file, column by column, as weft's own readers give them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from weft.data.cells import is_blank
from weft.data.formats import Row, read_rows
from weft.data.header import looks_like_name
from weft.data.opening import UTF8, suffix_of
from weft.data.redact import named_columns, shown_columns
from weft.data.unicode import holds_half_character
from weft.drafting.columns import SampledColumn
from weft.errors import DataError

LOOKED_AT = 10_000  # rows; more would tell nothing new and take seconds
_MOST_COLUMNS = 300  # keys of objects; more are texts that were made keys
_KEYS = 3  # rows that have a key, for it to be a name
_NAME_WORDS = 2  # of a first line that nothing shows to be a header; what has more may be a text


@dataclass(frozen=True)
class Sample:
    """What was looked at of a file."""

    path: Path
    columns: dict[str, SampledColumn]
    rows: int
    more: bool  # whether the file has rows that were not looked at
    tabular: bool  # whether a header names the columns

    @property
    def size(self) -> str:
        """`120 rows`, or `the first 10,000 rows` of a longer file."""
        return f"the first {self.rows:,} rows" if self.more else f"{self.rows:,} row{'' if self.rows == 1 else 's'}"


def look_at(path: Path, limit: int = LOOKED_AT, encoding: str = UTF8) -> Sample:
    """The columns of a file's first rows; raises DataError as its reader does, and for a file without rows."""
    rows = read_rows(path, encoding)
    seen = list(islice(rows, limit))
    more = next(rows, None) is not None
    if not seen:
        raise DataError("holds no rows; a draft needs rows with texts and answers to look at", file=path)
    names = dict.fromkeys(chain.from_iterable(row.columns for row in seen))
    _refuse_commas(path, list(names), seen[0])
    if len(names) > _MOST_COLUMNS:
        hidden = shown_columns(names, (), "keys")
        raise DataError(f"has {len(names):,} different columns; are texts used as keys? {hidden}", file=path)
    known = _known(names, seen)
    columns = {
        name: SampledColumn(name, [row.columns.get(name) for row in seen], name in known)
        for name in names
        if not holds_half_character(name)  # no config can name it
    }
    written = sum(not all(map(is_blank, row.columns.values())) for row in seen)  # blank lines part paragraphs
    return Sample(path, columns, written, more, seen[0].tabular)


def _known(names: Iterable[str], rows: Sequence[Row]) -> set[str]:
    """The names that are names: keys of several rows, and of a header all, or the short ones if it may be a row."""
    if not rows[0].tabular:
        holders = Counter(name for row in rows for name in row.columns)
        return {name for name in names if holders[name] >= min(_KEYS, len(rows))}
    if named_columns(list(names), (), rows[0].naming):
        return set(names)
    return {name for name in names if looks_like_name(name) and len(name.split()) <= _NAME_WORDS}


def _refuse_commas(path: Path, names: list[str], first: Row) -> None:
    """Raise where the only column's name and cell of a .tsv are whole lines of a table with commas."""
    if suffix_of(path) == ".tsv" and len(names) == 1 and "," in names[0] and "," in str(first.columns[names[0]]):
        raise DataError("seems to have commas between its columns, but .tsv has tabs; name it .csv", file=path, line=1)
