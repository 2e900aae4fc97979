"""Cells that mark parts of a text, read as spans of characters: tags of words, spans of words, spans of characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from weft.records import Content, Span
from weft.text.disjoint import best_disjoint
from weft.text.tags import spans_of_tags

ONE_LABEL = "span"  # of spans that are only marked, not named
_FORM = '[start, end, label] or {"start", "end", "label"}'


def read_tags(cell: Any, content: Content, plain: bool) -> tuple[Span, ...]:
    """Tags of every word as spans: those that BIO or BIOES tags mark, or with `plain` each word as one."""
    words = _words(content)
    if not isinstance(cell, list | tuple) or not all(isinstance(tag, str) and tag.strip() for tag in cell):
        raise ValueError("tags must be a list with a word for each token")
    if len(cell) != len(words):
        raise ValueError(f"there are {len(words)} tokens, but {len(cell)} tags; each token needs one tag")
    if plain:
        return tuple((start, end, tag) for (start, end), tag in zip(words, cell, strict=True))
    found, _ = spans_of_tags(cell)
    return tuple((words[first][0], words[last - 1][1], label) for first, last, label in found)


def read_spans(cell: Any, content: Content) -> tuple[Span, ...]:
    """Spans in tokens where the row came in tokens, otherwise in characters; each once, in order."""
    if not isinstance(cell, list | tuple):
        raise ValueError(f"spans must be a list of {_FORM}, but this is a {type(cell).__name__}")
    unit, size = _unit(content)
    found = [_parts(one, number) for number, one in enumerate(cell, 1)]
    for number, (start, end, _) in enumerate(found, 1):
        if not start < end:
            raise ValueError(f"span {number} ends at {end}, before or where it starts ({start}); end is exclusive")
        if start < 0 or end > size:
            raise ValueError(f"span {number} is [{start}, {end}), but the text has {size} {unit}s")
    return tuple(sorted(dict.fromkeys(_in_characters(one, content) for one in found), key=_in_order))


def refuse_overlaps(spans: Sequence[Span]) -> None:
    """Raise where two spans share a character."""
    for before, after in pairwise(sorted(spans, key=_in_order)):
        if after[0] < before[1]:
            raise ValueError(
                f"the spans [{before[0]}, {before[1]}) and [{after[0]}, {after[1]}) overlap, which this task cannot "
                'say; use kind = "spans", or repair = true to keep the longer one'
            )


def mend_tags(cell: Any) -> tuple[Any, Counter[str]]:
    """BIO tags with what continues nothing begun anew, and what is no tag left out."""
    if not isinstance(cell, list | tuple) or not all(isinstance(tag, str) for tag in cell):
        return cell, Counter()
    spans, count = spans_of_tags(cell, repair=True)
    if not count:
        return cell, Counter()
    tags = ["O"] * len(cell)
    for first, last, label in spans:
        tags[first:last] = [f"B-{label}"] + [f"I-{label}"] * (last - first - 1)
    return tags, Counter({"tags that continued nothing, or were none": count})


def mend_spans(cell: Any, content: Content, flat: bool) -> tuple[Any, Counter[str]]:
    """Spans turned the right way round and cut to the text; empty ones go, and where `flat` the shorter of two."""
    if not isinstance(cell, list | tuple):
        return cell, Counter()
    _, size = _unit(content)
    done: Counter[str] = Counter()
    kept: list[Span] = []
    for number, one in enumerate(cell, 1):
        start, end, label = _parts(one, number)
        if end < start:
            start, end = end, start
            done["spans that ended before they started, turned"] += 1
        if start < 0 or end > size:
            start, end = max(start, 0), min(end, size)
            done["spans that went beyond the text, cut"] += 1
        if start < end:
            kept.append((start, end, label))
        else:
            done["spans without a character, left out"] += 1
    if flat:
        best = best_disjoint([(start, end, float(end - start)) for start, end, _ in kept])
        if len(best) < len(kept):
            done["spans that overlapped a longer one, left out"] += len(kept) - len(best)
        kept = [kept[place] for place in best]
    return [list(one) for one in kept], done


def _words(content: Content) -> Sequence[tuple[int, int]]:
    if content.words is None:
        raise ValueError("tags need tokens: a list of words in the column that `tokens` names")
    return content.words


def _unit(content: Content) -> tuple[str, int]:
    return ("character", len(content.texts[0])) if content.words is None else ("token", len(content.words))


def _parts(one: Any, number: int) -> Span:
    fields = [one.get(key) for key in ("start", "end", "label")] if isinstance(one, dict) else one
    if not isinstance(fields, list | tuple) or len(fields) not in (2, 3):
        raise ValueError(f"span {number} is not of the form {_FORM}")
    start, end = fields[:2]
    label = fields[2] if len(fields) == 3 and fields[2] is not None else ONE_LABEL
    if any(isinstance(value, bool) or not isinstance(value, int) for value in (start, end)):
        raise ValueError(f"span {number}: start and end must be whole numbers")
    if not isinstance(label, str) or not label.strip():
        raise ValueError(f"span {number}: the label must be a word")
    return start, end, label.strip()


def _in_characters(span: Span, content: Content) -> Span:
    start, end, label = span
    if content.words is None:
        return span
    return content.words[start][0], content.words[end - 1][1], label


def _in_order(span: Span) -> tuple[int, int, str]:
    return span[0], -span[1], span[2]
