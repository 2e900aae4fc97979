"""The first rows of a file, column by column, as weft's own readers give them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from weft.data.cells import is_blank
from weft.data.formats import Row, read_rows
from weft.data.header import looks_like_name
from weft.data.opening import UTF8, read_lines
from weft.data.redact import named_columns, shown_columns
from weft.data.unicode import holds_half_character
from weft.drafting.columns import SampledColumn
from weft.errors import DataError

LOOKED_AT = 10_000  # rows; more would tell nothing new and take seconds
_MOST_COLUMNS = 300  # keys of objects; more are texts that were made keys
_KEYS = 3  # rows that have a key, for it to be a name
_NAME_WORDS = 2  # of a first line that nothing shows to be a header; what has more may be a text
_OTHER_SEPARATORS = {"\t": "tabs"}


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
    try:
        rows = read_rows(path, encoding)
        seen = list(islice(rows, limit))
        more = next(rows, None) is not None
    except DataError as error:
        raise _with_hint(error, path, encoding) from None
    if not seen:
        raise DataError("holds no rows; a draft needs rows with texts and answers to look at", file=path)
    names = dict.fromkeys(chain.from_iterable(row.columns for row in seen))
    _refuse_foreign_separator(path, list(names), seen[0])
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


def _refuse_foreign_separator(path: Path, names: list[str], first: Row) -> None:
    """Raise where the only column's name and cell are whole lines of a table with another separator."""
    if path.suffix.lower() not in (".csv", ".tsv") or len(names) != 1:
        return
    for separator, words in {**_OTHER_SEPARATORS, ",": "commas"}.items():
        if separator in names[0] and separator in str(first.columns[names[0]]):
            raise DataError(_foreign(path, words), file=path, line=1)


def _with_hint(error: DataError, path: Path, encoding: str) -> DataError:
    """The reader's error, and what is behind it where the first line shows another separator."""
    if error.line is None or path.suffix.lower() != ".csv":
        return error
    header = next(_lines(path, encoding), "")
    for separator, words in _OTHER_SEPARATORS.items():
        if separator in header and "," not in header:
            return DataError(f"{error.message}. It {_foreign(path, words)}", file=path, line=error.line)
    return error


def _lines(path: Path, encoding: str) -> Iterator[str]:
    try:
        yield from (line for _, line in read_lines(path, encoding))
    except DataError:
        return


def _foreign(path: Path, words: str) -> str:
    own = "tabs" if path.suffix.lower() == ".tsv" else "commas"
    rename = ", or name it .tsv" if words == "tabs" else ""
    return f"seems to have {words} between its columns, but {path.suffix} has {own}; save it with {own}{rename}"
