"""Texts that are in memory: a list of them from a Series, an array, a generator, or anything else to go through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from weft.data.tables import is_frame, is_missing
from weft.errors import DataError, kind_of

_SHOWN = 10  # positions
_AS_LIST = ("to_pylist", "to_list", "tolist")  # how Arrow's, pandas' and polars', and numpy's arrays become lists


def list_texts(texts: object) -> list[Any]:
    """What an iterable gives, as a list; the rows of an array of two columns as pairs, of one column as texts.

    Raises DataError for what is no iterable of texts, and for missing values, by their positions. Whether the rest are
    texts is not looked at.
    """
    refuse_one(texts)
    found = _with_pairs(_listed(texts), texts)
    missing = [row for row, text in enumerate(found) if _lacks(text)]
    if missing:
        shown = ", ".join(map(str, missing[:_SHOWN])) + (" …" if len(missing) > _SHOWN else "")
        rows, are = ("rows", "are") if len(missing) > 1 else ("row", "is")
        raise DataError(
            f"{rows} {shown} {are} missing (None or NaN): {len(missing):,} of {len(found):,}, counted from 0; fill or "
            "drop them"
        )
    return found


def refuse_one(texts: object) -> None:
    """Raise for a text, a dict, a frame or a number where several texts are expected."""
    kind = type(texts).__name__
    if isinstance(texts, str):
        raise DataError("received one text where a list of texts is expected; put it into a list")
    if is_frame(texts):
        raise DataError(f"received a {kind} where texts are expected; give one of its columns")
    if isinstance(texts, Mapping | bytes) or not isinstance(texts, Iterable):
        raise DataError(
            f"received {kind_of(texts)} where texts are expected; give a list, a Series, an array or a generator"
        )


def _listed(texts: Any) -> list[Any]:
    """A list, by the array's own way where it has one: it gives Python's values, and is quicker."""
    own = next((getattr(texts, name) for name in _AS_LIST if hasattr(texts, name)), None)
    found = list(texts) if own is None else own()
    if not isinstance(found, list):
        raise DataError("received an array of one value and no dimension where texts are expected; make it a list")
    return found


def _with_pairs(rows: list[Any], source: object) -> list[Any]:
    """The rows of an array of two dimensions as pairs or texts; other rows as they are."""
    shape = getattr(source, "shape", ())
    if not isinstance(shape, Sequence) or len(shape) < 2:
        return rows
    if len(shape) > 2 or shape[1] not in (1, 2):
        sizes = " × ".join(map(str, shape))
        raise DataError(f"received an array of {sizes}; texts have one column, pairs two")
    return [tuple(row) if shape[1] == 2 else row[0] for row in rows]


def _lacks(text: object) -> bool:
    return any(map(is_missing, text)) if isinstance(text, tuple) else is_missing(text)
