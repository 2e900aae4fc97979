"""Which column is the text, and which two are a pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.drafting.names import find_pairs, is_called_comparison, is_called_text
from weft.drafting.question import PAIR_KINDS, Hints, Seen

_COMPARING = ("label", "number")  # what a column may look like that says how two texts stand to each other
_RIVAL = 0.5  # of the length of the text, from which another column of texts may be meant


@dataclass(frozen=True)
class ReadColumns:
    """The columns a task reads: one, or the two of a pair."""

    columns: tuple[Seen, ...]
    reason: str
    unsure: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(seen.name for seen in self.columns)


def choose_text(table: Mapping[str, Seen], hints: Hints) -> ReadColumns | None:
    """What is read of each row; None where nothing looks like a text."""
    if hints.texts:
        return ReadColumns(tuple(table[name] for name in hints.texts), "as --text says")
    readable = {name: seen for name, seen in table.items() if _is_readable(seen) and name not in hints.labels}
    pair = _choose_pair(table, readable, hints) if hints.wants(PAIR_KINDS) else None
    return pair or _choose_one(readable)


def _is_readable(seen: Seen) -> bool:
    return seen.look.role in ("text", "own", "label", "labels") and seen.column.texts and seen.column.numbers is None


def _choose_pair(table: Mapping[str, Seen], readable: Mapping[str, Seen], hints: Hints) -> ReadColumns | None:
    for names in find_pairs(list(readable)):
        columns = tuple(readable[name] for name in names)
        if all(seen.look.role == "text" or is_called_text(seen.name) for seen in columns):
            return ReadColumns(columns, "two texts that are compared, by the names of their columns")
    if hints.kind is None:
        return _choose_compared(table, readable)
    texts = sorted((seen for seen in readable.values()), key=lambda seen: -seen.column.length)[:2]
    if len(texts) < 2:
        return None
    ordered = tuple(seen for seen in readable.values() if seen in texts)
    unsure = f"took {ordered[0].shown} and {ordered[1].shown}, the longest texts, for the pair; else: --text A --text B"
    return ReadColumns(ordered, "the two columns with the longest texts", (unsure,))


def _choose_compared(table: Mapping[str, Seen], readable: Mapping[str, Seen]) -> ReadColumns | None:
    """Two columns of free text, neither much longer, where a third is called `duplicate` or the like."""
    texts = [seen for seen in readable.values() if seen.look.role == "text" and not is_called_comparison(seen.name)]
    asked = [seen for seen in table.values() if is_called_comparison(seen.name) and seen.look.role in _COMPARING]
    if len(texts) != 2 or not asked or not _are_rivals(*texts):
        return None
    one, other = texts
    unsure = f"took {one.shown} and {other.shown} for a pair; to read one of them: --text {one.shown}"
    return ReadColumns((one, other), f"two texts that are compared, by the name {asked[0].shown}", (unsure,))


def _are_rivals(one: Seen, other: Seen) -> bool:
    shorter, longer = sorted((one.column.length, other.column.length))
    return shorter >= _RIVAL * longer


def _choose_one(readable: Mapping[str, Seen]) -> ReadColumns | None:
    """Free text before single words, a name such as `message` before others, then the longest."""
    ranked = sorted(readable.values(), key=_rank, reverse=True)
    if not ranked or not (ranked[0].look.role in ("text", "own") or is_called_text(ranked[0].name)):
        return None
    best, others = ranked[0], ranked[1:]
    reason = f"{best.look.phrase}" if best.look.role == "text" else "by its name, or since its values hardly repeat"
    unsure = [
        f"{seen.shown} holds free text too, and is not read; to read it instead: --text {seen.shown}; "
        f"for answers about the two as a pair: --text {best.shown} --text {seen.shown}"
        for seen in others
        if seen.look.role == "text" and seen.column.length >= _RIVAL * best.column.length
    ]
    if best.look.role != "text":
        unsure.append(f"took {best.shown} for the text, though it hardly looks like one; else: --text COLUMN")
    return ReadColumns((best,), reason, tuple(unsure))


def _rank(seen: Seen) -> tuple[bool, bool, float]:
    named = is_called_text(seen.name)
    return seen.look.role == "text" or named, named, seen.column.length
