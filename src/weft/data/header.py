"""Whether the names of a table's columns are names, or the cells of a first row that was taken for a header.

The rows below say it: a row of labels has labels that others have too, a name over numbers is none, and a name over
texts is far shorter than they are. Neither being short nor being one word makes a text a name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, TypeVar

from weft.data.numbers import read_number
from weft.errors import DataError

Naming = Literal["keys", "header", "names", "cells"]
"""Who names the columns: each object its own; a header; one whose names are known to be names, or to be cells."""

T = TypeVar("T")

LOOKED_AT = 50  # rows
_LONGEST, _WORDS = 60, 7  # of what may be a name at all
_SHORT, _FEW = 40, 4  # characters and words of what looks like one
_SENTENCE = frozenset('.,;:!?\n\r\t"')  # what no name of a column has at its end or before a blank
_NUMBERS = 3  # rows from which a column of nothing but numbers says that its name is no row
_ENOUGH = 10  # rows from which labels or texts say it
_TEXT = 3  # words that every text has, more than a name of one or two


def judge_header(rows: Sequence[Mapping[str, Any]]) -> Naming:
    """What the first rows of a table say of its header: that it holds names, that it holds cells, or neither."""
    cells = {name: _filled(name, rows) for name in (rows[0] if rows else ())}
    if any(is_cell(name, set(values), _are_numbers(values)) for name, values in cells.items()):
        return "cells"
    sure = all(map(looks_like_name, cells)) and any(_is_above(name, values) for name, values in cells.items())
    return "names" if sure else "header"


def is_cell(name: str, values: Collection[str], numbers: bool) -> bool:
    """Whether a name is long like a text, or a value that its column holds too; `numbers` are all its values."""
    name = name.strip()
    if len(name) > _LONGEST or len(name.split()) > _WORDS:
        return True
    return bool(name) and (name in values or (numbers and _is_number(name)))


def looks_like_name(name: str) -> bool:
    """Whether a name is short, of few words, and no sentence; so may a text be, which is why rows have to say more."""
    words = name.split()
    return 0 < len(words) <= _FEW and len(name) <= _SHORT and not any(word[-1] in _SENTENCE for word in words)


def with_naming(rows: Iterable[T], columns: Any, tabular: bool) -> Iterator[tuple[Naming, T]]:
    """The rows with who names their columns, for which a table's first are read ahead; `columns` are those of a row.

    What is wrong with one of these is raised where it is reached, after the rows before it.
    """
    if not tabular:
        yield from (("keys", row) for row in rows)
        return
    rest, first, broken = iter(rows), list[T](), None
    try:
        first.extend(islice(rest, LOOKED_AT))
    except DataError as error:
        broken = error
    naming = judge_header([columns(row) for row in first])
    yield from ((naming, row) for row in first)
    if broken is not None:
        raise broken
    yield from ((naming, row) for row in rest)


def _filled(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The cells of a column that hold a text or a number, as texts; none where one holds more."""
    found = [row.get(name) for row in rows]
    if not all(cell is None or isinstance(cell, str | int | float) for cell in found):
        return []
    try:
        return [text for cell in found if cell is not None and (text := str(cell).strip())]
    except ValueError:  # a number of thousands of digits
        return []


def _is_above(name: str, values: Sequence[str]) -> bool:
    """Whether a name is unlike all that is below it, as none of these is unlike the others."""
    if len(values) >= _NUMBERS and _are_numbers(values):
        return not _is_number(name)
    if len(values) < _ENOUGH:
        return False
    labels = min(Counter(values).values()) > 1 and max(map(len, values)) <= _SHORT
    texts = len(name.split()) < _TEXT <= min(len(value.split()) for value in values)
    return labels or texts


def _are_numbers(values: Sequence[str]) -> bool:
    return bool(values) and all(map(_is_number, values))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(read_number(text))
    except ValueError:
        return False
