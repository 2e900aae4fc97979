"""Rows that occur twice: in one file, in two splits of a task, or in two tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from weft.checks.findings import Finding, Part, Severity
from weft.data.records import Example
from weft.data.unicode import normalise
from weft.targets import Target

_BLANKS = str.maketrans(dict.fromkeys("!\"#%&'()*,-./:;?@[\\]_{}", " "))


class Normalised(dict[str, str]):
    """Texts as keys for duplicates, each worked out once; a whole row by `key`."""

    def __missing__(self, text: str) -> str:
        plain = text.lower().translate(_BLANKS).split() if text.isascii() else []  # `normalise`, only faster
        self[text] = key = " ".join(plain) or normalise(text)
        return key

    def key(self, row: Example) -> tuple[str, ...]:
        return tuple(self[text] for text in row.texts)


def find_duplicates(target: Target, part: Part, texts: Normalised) -> Iterator[Finding]:
    """Rows that say the same twice, and rows that contradict each other."""
    groups: dict[tuple[str, ...], list[Example]] = defaultdict(list)
    for row in part.rows:
        groups[texts.key(row)].append(row)
    agreeing = {key: target.same(row.gold for row in rows) for key, rows in groups.items()}
    opposed = [rows for key, rows in groups.items() if not agreeing[key]]
    repeated = [row.line for key, rows in groups.items() if agreeing[key] for row in rows[1:]]
    message = "rows repeat an earlier row with the same answer"
    yield from part.count("warning", repeated, message, "they only count more; remove them if that is not meant")
    if opposed:
        lines = [row.line for rows in opposed for row in rows]
        occur = "texts occur" if len(opposed) > 1 else "text occurs"
        message = f"{len(opposed):,} {occur} with contradictory (different) answers ({len(lines):,} rows)"
        yield part.finding("warning", message, lines, remedy="keep the right one of each")


def find_leaks(target: Target, parts: Mapping[str, Part], texts: Normalised) -> Iterator[Finding]:
    """Rows to measure on that the same task trains on, and rows to report on that it is chosen by."""
    for seen, asked in (("train", "dev"), ("train", "test"), ("dev", "test")):
        if seen not in parts or asked not in parts:
            continue
        part = parts[asked]
        known = {texts.key(row): row for row in reversed(parts[seen].rows)}
        exchanged = {key[::-1] for key in known}.difference(known)
        hits = [(row, known[key]) for row in part.rows if (key := texts.key(row)) in known]
        if hits:
            other = sum(not target.same([row.gold, first.gold]) for row, first in hits)
            there = parts[seen].origin.where(first.line for _, first in hits)
            there += f"; {other:,} with another answer" if other else ""
            message, lines = f"{asked} rows are also {seen} rows", [row.line for row, _ in hits]
            severity: Severity = "warning" if seen == "train" else "note"
            remedy = "remove them from the train file, or results on them look too good" if seen == "train" else ""
            yield from part.count(severity, lines, message, remedy, where=f" ({there})")
        turned = [row.line for row in part.rows if texts.key(row) in exchanged]
        yield from part.count("note", turned, f"{asked} rows are {seen} rows with the two texts exchanged")


def find_leaks_across(tasks: Mapping[str, Mapping[str, Part]], texts: Normalised) -> Iterator[Finding]:
    """Rows to measure on that another task trains the shared encoder on."""
    for teacher, given in tasks.items() if len(tasks) > 1 else ():
        rows = given["train"].rows if "train" in given else []
        whole = {texts.key(row) for row in rows}
        single = {text for key in whole for text in key}
        others = [parts for name, parts in tasks.items() if name != teacher]
        for split, part in ((split, parts[split]) for parts in others for split in ("dev", "test") if split in parts):
            keys = [(row.line, texts.key(row)) for row in part.rows]
            same = [line for line, key in keys if key in whole]
            advice = "the encoder is shared, so results on them may look too good"
            yield from part.count("warning", same, f"{split} rows are training rows of the task {teacher!r}; {advice}")
            partly = [line for line, key in keys if key not in whole and not single.isdisjoint(key)]
            if partly and len(rows[0].texts) != len(part.rows[0].texts):
                message = f"{split} rows have a text that is in a training row of the task {teacher!r}"
                yield from part.count("note", partly, message)
