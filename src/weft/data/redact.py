"""What a message may show of users' data: names, and never anything that could be a text.

A cell, a label or a column name is quoted only where it is known to be a name: the config says it, it is a slip away
from a name of the config, it is a label that many rows have, or it stands in a header that is known to be one
(`data/header.py` says by what). All else is described by its length and found by its line. A text of one word looks
like a label and a first row like a header, so neither being short nor being one word makes a value a name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from weft.data.header import Naming

_LONGEST = 40  # characters of a name
_MANY = 3  # rows that have a label, for it to be a name
_COVERED = 0.9  # share of the answers that such labels make up; in a column of texts they are fewer
_FEWEST_TEXTS = 20  # rows from which labels that hardly repeat are taken for texts
_ALIKE = 0.75  # similarity of a name and a slip of it
_SHORTEST_SLIP = 3  # characters; of two shorter words nobody can say that one is a slip of the other
_LISTED = 20  # columns
_MOST_COMPARED = 50_000  # names that a value is held against, about a quarter of a second
_USUAL_COLUMNS = frozenset(
    (
        *("id", "text", "text1", "text2", "text_pair", "sentence", "sentence1", "sentence2"),
        *("label", "labels", "score", "tokens", "tags"),
    )
)  # what no first row of a file without header holds; words such as "question" may be labels


def shown_label(label: str, names: Collection[str]) -> str:
    """A label as a message may show it: itself where it is one of the names, or a slip of one; else its length."""
    return repr(label) if label in names or nearest_name(label, names) else f"(of {_characters(label)})"


def common_labels(counts: Mapping[str, int]) -> frozenset[str]:
    """The labels that are names, by how many rows have each; none where the column looks like one of texts."""
    common = {label: rows for label, rows in counts.items() if rows >= _MANY and len(label) <= _LONGEST}
    covered = sum(common.values()) >= _COVERED * sum(counts.values())
    return frozenset(common) if covered else frozenset()


def hidden_labels(counts: Mapping[str, int], known: Collection[str]) -> dict[str, str]:
    """What a report says instead of the labels that could be texts, by how many training rows have each.

    Those are long labels of few rows, and all of a column whose answers hardly repeat; never those of the config.
    """
    rows = sum(counts.values())
    texts = rows >= _FEWEST_TEXTS and 2 * len(counts) > rows
    return {
        label: f"label {number}"
        for number, label in enumerate(counts, 1)
        if label not in known and (texts or (len(label) > _LONGEST and counts[label] < _MANY))
    }


def shown_columns(columns: Collection[str], known: Collection[str], naming: Naming) -> str:
    """What may be said of a file's columns, `known` being those that the config names; a clause of a message."""
    if not columns:
        return "it has no columns"
    listed = named_columns(columns, known, naming)
    if not listed:
        return _hidden(len(columns), naming)
    others = len(columns) - len(listed[:_LISTED])
    more = f" and {others:,} more" if others else ""
    near = [name for name in _slips(columns, known) if name in listed]
    return f"its columns are: {', '.join(listed[:_LISTED])}{more}" + (f"; did you mean {near[0]!r}?" if near else "")


def named_columns(columns: Collection[str], known: Collection[str], naming: Naming) -> list[str]:
    """The columns whose names are known to be names.

    A header that holds a known column is one, and all its columns are names, as they are where the rows below say so.
    Otherwise these are slips of a known name, and beside them those of one word; the keys of an object may be texts
    although others are names.
    """
    near, sure = _slips(columns, known), [name for name in columns if name in known or name in _USUAL_COLUMNS]
    if not sure and (naming == "cells" or (naming != "names" and not near)):
        return []
    names = {*sure, *near}
    if naming != "keys":
        plain = naming == "header" and not sure  # a slip may be a label, and what is beside it a text
        names |= {name for name in columns if len(name) <= _LONGEST and not (plain and len(name.split()) > 1)}
    return [name for name in columns if name in names]


def _slips(columns: Collection[str], known: Collection[str]) -> list[str]:
    return [name for wanted in known if wanted not in columns and (name := slip_of(wanted, columns)) is not None]


def _hidden(count: int, naming: Naming) -> str:
    """That columns are not shown, and what to do about it."""
    which, may = (f"{count:,} columns are", "they may be texts") if count > 1 else ("1 column is", "it may be a text")
    asked = "look at the keys of its objects" if naming == "keys" else "is its first line a header?"
    if naming == "cells":
        asked = "its first line seems to be a row, and no header; write a line with the names of the columns above it"
    return f"its {which} not shown, since {may}; {asked}"


def shown_value(value: object) -> str:
    """What kind of thing a value is and how long, never what it says."""
    if isinstance(value, str):
        return f"a text of {_characters(value)}"
    size = f" of {len(value):,}" if isinstance(value, list | tuple | dict | set) else ""
    return "no value" if value is None else f"a value of type {type(value).__name__}{size}"


def nearest_name(value: str, names: Collection[str]) -> str:
    """`; did you mean 'x'?` where the value is a slip of a name, or a name of the value, else nothing."""
    near = slip_of(value, names)
    return f"; did you mean {near!r}?" if near is not None else ""


def slip_of(value: str, names: Collection[str]) -> str | None:
    """The name that a value is a slip of, where it is one."""
    if not _SHORTEST_SLIP <= len(value) <= _LONGEST or len(names) > _MOST_COMPARED:
        return None
    forms = {name.casefold(): name for name in names if len(name) <= _LONGEST}
    close = get_close_matches(value.casefold(), forms, n=1, cutoff=_ALIKE)
    return forms[close[0]] if close else None


def _characters(text: str) -> str:
    return f"{len(text):,} character{'' if len(text) == 1 else 's'}"
