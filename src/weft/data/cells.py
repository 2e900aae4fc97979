"""What the cells of a row hold; an error carries the row's line and the column, and whoever opened the file adds it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from weft.data.formats import Row, no_column
from weft.data.unicode import holds_half_character
from weft.errors import CellError, DataError, kind_of


def is_blank(cell: Any) -> bool:
    """Whether nobody wrote anything into a cell: no value, or a text of blanks."""
    return cell is None or (isinstance(cell, str) and not cell.strip())


def get_cell(row: Row, column: str, known: Collection[str] = ()) -> Any:
    """The cell of a column that must exist; `known` are others that the config names."""
    if column not in row.columns:
        raise DataError(no_column(row, column, known), line=row.line)
    return row.columns[column]


def get_text(row: Row, column: str, *, blank: bool = False) -> str:
    """The text of a column that must hold one, or `blank` allows that it holds none."""
    cell = get_cell(row, column)
    if blank and is_blank(cell):
        return ""
    if problem := _wrong_text(cell):
        raise DataError(problem, line=row.line, column=column)
    text: str = cell
    return text


def get_words(row: Row, column: str) -> list[str]:
    """The words of a column that must hold a list of them."""
    words = get_cell(row, column)
    try:
        _check_words(words)
    except CellError as error:
        raise DataError(str(error), line=row.line, column=column, general=error.general) from None
    return list(words)


def _wrong_text(cell: Any) -> str | None:
    if is_blank(cell):
        return "the text is empty; write a text or remove the row"
    if not isinstance(cell, str):
        return f"{kind_of(cell)} is not a text; write a text or remove the row"
    if holds_half_character(cell):
        return "the text holds half a character (a lone surrogate); write the file anew from its source"
    return None


def _check_words(words: Any) -> None:
    if not isinstance(words, list):
        raise CellError(f"must be a list of words, but this is {kind_of(words)}; mend or remove the row")
    if not words:
        raise CellError("the list of words is empty; mend or remove the row")
    for number, word in enumerate(words, 1):
        if problem := _wrong_word(word):
            raise CellError(f"word {number} {problem}", f"a word {problem}")


def _wrong_word(word: Any) -> str | None:
    if not isinstance(word, str):
        return f"is {kind_of(word)}, not a text; mend or remove the row"
    if not word.strip():
        return "is blank; mend or remove the row"
    if holds_half_character(word):
        return "holds half a character (a lone surrogate); write the file anew from its source"
    return None
