"""What each column looks like: free text, labels, numbers, words, spans, or something no task reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from weft.data.annotations import SPAN_FORM
from weft.data.separators import parts_of, separator_of
from weft.drafting.columns import SampledColumn
from weft.drafting.names import is_called_id, words_of

Role = Literal["text", "label", "labels", "number", "words", "spans", "relations", "own", "idle"]

LONGEST_LABEL = 100  # characters; `weft check` takes longer ones for texts
MANY = 20  # different whole numbers from which they are an amount, not a grade
UNCLEAR_COMMAS = "numbers whose comma may be decimal or part thousands (1,500); save them with a point"
_FEW = 5  # different values that are labels though hardly any repeats
_ENOUGH = 20  # rows from which values that never repeat are no labels
_LABEL_WORDS = 6


@dataclass(frozen=True)
class Appearance:
    """What a column looks like: what it may be used as, and a phrase for people."""

    role: Role
    phrase: str
    separator: str | None = None  # between the labels of a cell


def look_of(column: SampledColumn) -> Appearance:
    """What a column looks like, by its cells and its name."""
    if not column.filled:
        return Appearance("idle", "blank in every row")
    if column.dated:
        return Appearance("idle", "a date or a time")
    if column.listed:
        return _look_of_lists(column)
    if not column.scalar or column.wide:
        kinds = sorted({type(cell).__name__ for cell in column.filled})
        return Appearance("idle", f"cells of a kind that no task reads ({', '.join(kinds[:3])})")
    if not column.finite:
        return Appearance("idle", "numbers of which some are not finite (NaN); leave such cells blank")
    if is_called_id(column.name) and column.words <= 2:
        return Appearance("idle", "an id, by its name")
    if column.different == 1:
        return Appearance("idle", "the same in every row")
    if column.decimal_commas and column.numbers is None:
        return Appearance("idle", UNCLEAR_COMMAS)
    if _is_json(column):
        return Appearance("idle", "lists written as JSON in a cell; as lists, weft reads them from .jsonl or .parquet")
    return _look_of_values(column)


def _look_of_values(column: SampledColumn) -> Appearance:
    different, rows = column.different, len(column.filled)
    if column.numbers is not None and (not column.whole or different > MANY):
        if column.whole and _counts_up(column.numbers):
            return Appearance("idle", "numbers that count the rows")
        return Appearance("number", f"numbers from {min(column.numbers):g} to {max(column.numbers):g}")
    if separator := separator_of(column.counts):
        return Appearance("labels", f"several labels in a cell, with {separator!r} between them", separator)
    repeats = 2 * different <= rows or different <= min(_FEW, rows - 1)
    if repeats and column.words <= _LABEL_WORDS and column.longest <= LONGEST_LABEL:
        return Appearance("label", column.summary())
    if column.texts and (column.words >= 2 or column.length >= 20):
        return Appearance("text", f"free text, {column.words:.0f} words on average")
    return Appearance("own", "nearly every row has a value of its own")


def _look_of_lists(column: SampledColumn) -> Appearance:
    entries = [entry for cell in column.filled for entry in cell]
    if not entries:
        return Appearance("idle", "an empty list in every row")
    if all(isinstance(entry, str) for entry in entries):
        return Appearance("words", f"lists of {len(set(entries)):,} different words")
    named = "relation" in " ".join(words_of(column.name))
    if all(_is_relation(entry, named) for entry in entries):
        return Appearance("relations", f"{len(entries):,} relations between spans")
    if all(_is_span(entry) for entry in entries):
        return Appearance("spans", f"{len(entries):,} spans, as [start, end, label]")
    if all(isinstance(entry, int) for entry in entries):
        return Appearance("idle", "lists of numbers; write the names of the labels or tags instead")
    return Appearance("idle", f"lists of a form that no task reads; spans are read as {SPAN_FORM}")


def _is_span(entry: Any) -> bool:
    if isinstance(entry, Mapping):
        return {"start", "end"} <= entry.keys()
    if not isinstance(entry, list) or len(entry) not in (2, 3):
        return False
    return all(isinstance(end, int) and not isinstance(end, bool) for end in entry[:2])


def _is_relation(entry: Any, named: bool) -> bool:
    if isinstance(entry, Mapping):
        return {"head", "tail"} <= entry.keys()
    return named and isinstance(entry, list) and len(entry) == 3 and _is_span(entry)


def _counts_up(numbers: list[float]) -> bool:
    return all(number == numbers[0] + place for place, number in enumerate(numbers))


def _is_json(column: SampledColumn) -> bool:
    """Whether the cells are texts that spell lists or objects."""
    return all(isinstance(cell, str) and cell.strip()[:1] in ("[", "{") and _parses(cell) for cell in column.filled)


def _parses(cell: str) -> bool:
    try:
        return isinstance(json.loads(cell), list | dict)
    except (ValueError, RecursionError):
        return False


def label_counts(cells: Iterable[Any], separator: str | None) -> Counter[str]:
    """How many rows have each label, in cells with several."""
    return Counter(
        str(label).strip()
        for cell in cells
        for label in (cell if isinstance(cell, list) else parts_of(str(cell), separator or "|"))
    )


def are_few(counts: Counter[str]) -> bool:
    """Whether labels in lists recur as labels do, unlike the words of texts."""
    return len(counts) >= 2 and 2 * len(counts) <= sum(counts.values())


def never_repeats(column: SampledColumn) -> bool:
    """Whether there are rows enough to see that no value is a label."""
    return len(column.filled) >= _ENOUGH and 2 * column.different > len(column.filled)
