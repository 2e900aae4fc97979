"""Cells that mark parts of a text, read as spans of characters: tags of words, spans of words, spans of characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from weft.data.bio import spans_of_tags, tags_of_spans
from weft.data.overlaps import best_disjoint
from weft.data.records import Input, Relation, Span
from weft.errors import CellError, kind_of

ONE_LABEL = "span"  # of spans that are only marked, not named
SPAN_FORM = '[start, end, label] or {"start", "end", "label"}'
_BESIDE = {"start", "end", "text", "score"}  # keys of a span that is only marked
_OVERLAP = ', which this task cannot say; use kind = "spans" without flat, or repair = true to keep the longer ones'
_PAIR_FORM = '[head, tail, label] or {"head", "tail", "label"}'


def read_tags(cell: Any, input: Input, plain: bool) -> tuple[Span, ...]:
    """Tags of every word as spans: those that BIO or BIOES tags mark, or with `plain` each word as one."""
    words = _words(input)
    tags = _tags(cell)
    if len(tags) != len(words):
        raise CellError(
            f"there are {len(words)} tokens, but {len(tags)} tags; each token needs one tag",
            "there are not as many tags as tokens; each token needs one tag",
        )
    if plain:
        return tuple((start, end, tag) for (start, end), tag in zip(words, tags, strict=True))
    spans, _ = spans_of_tags(tags)
    return tuple((words[first][0], words[last - 1][1], label) for first, last, label in spans)


def read_spans(cell: Any, input: Input) -> tuple[Span, ...]:
    """Spans in tokens where the row came in tokens, otherwise in characters; each once, in order."""
    return tuple(sorted(dict.fromkeys(list_spans(cell, input)), key=_in_order))


def are_named(cell: Any) -> set[bool]:
    """Whether spans of a cell have labels of their own: of some this may hold, and of others not."""
    named = set()
    for entry in cell if isinstance(cell, list | tuple) else ():
        if isinstance(entry, dict):
            named.add(entry.get("label") is not None)
        elif isinstance(entry, list | tuple):
            named.add(len(entry) > 2 and entry[2] is not None)
    return named


def list_spans(cell: Any, input: Input) -> tuple[Span, ...]:
    """The same, as they are listed."""
    if not isinstance(cell, list | tuple):
        raise CellError(f"spans must be a list of {SPAN_FORM}, but this is {kind_of(cell)}")
    unit, size = _unit(input)
    spans = [_parts(span, number) for number, span in enumerate(cell, 1)]
    for number, (start, end, _) in enumerate(spans, 1):
        if not start < end:
            raise _wrong(
                "span",
                number,
                f" ends at {end}, before or where it starts ({start}); end is exclusive",
                " ends before or where it starts; end is exclusive",
            )
        if start < 0 or end > size:
            raise _wrong(
                "span",
                number,
                f" is [{start}, {end}), but the text has {size} {unit}s",
                f" lies beyond the {unit}s of its text",
            )
    return tuple(_in_characters(span, input) for span in spans)


def read_relations(cell: Any, spans: Sequence[Span], labels: Sequence[str] | None) -> tuple[Relation, ...]:
    """Relations between listed spans, by the characters of head and tail; each once, as listed."""
    if not isinstance(cell, list | tuple):
        raise ValueError(f"relations must be a list of {_PAIR_FORM}, but this is {kind_of(cell)}")
    relations: dict[Relation, None] = {}
    for number, entry in enumerate(cell, 1):
        fields = [entry.get(key) for key in ("head", "tail", "label")] if isinstance(entry, dict) else entry
        if not isinstance(fields, list | tuple) or len(fields) != 3:
            raise _wrong("relation", number, f" is not of the form {_PAIR_FORM}")
        head, tail, label = fields
        if not all(
            isinstance(end, int) and not isinstance(end, bool) and 0 <= end < len(spans) for end in (head, tail)
        ):
            raise _wrong(
                "relation",
                number,
                f": head and tail must be indices into the list of {len(spans)} spans, from 0",
                ": head and tail must be indices into the list of spans, from 0",
            )
        if spans[head] == spans[tail]:
            raise _wrong("relation", number, ": head and tail are the same span")
        if not isinstance(label, str) or not label.strip():
            raise _wrong("relation", number, ": the label must be a word")
        if labels and label.strip() not in labels:
            raise _wrong("relation", number, f": the label is not one of: {', '.join(labels)}")
        relations[spans[head][:2], spans[tail][:2], label.strip()] = None
    return tuple(relations)


def refuse_overlaps(spans: Sequence[Span]) -> None:
    """Raise where two spans share a character."""
    for before, after in pairwise(sorted(spans, key=_in_order)):
        if after[0] < before[1]:
            which = f"the spans of the characters [{before[0]}, {before[1]}) and [{after[0]}, {after[1]})"
            raise CellError(f"{which} overlap{_OVERLAP}", f"two spans overlap{_OVERLAP}")


def repair_tags(cell: Any) -> tuple[Any, Counter[str]]:
    """BIO tags with what continues nothing begun anew, and what is no tag left out."""
    if not isinstance(cell, list | tuple):
        return cell, Counter()
    tags = _tags(cell)
    spans, count = spans_of_tags(tags, repair=True)
    if not count:
        return cell, Counter()
    return tags_of_spans(spans, len(tags)), Counter({"tags that continued nothing, or were none": count})


def repair_spans(cell: Any, input: Input, flat: bool) -> tuple[Any, Counter[str]]:
    """Spans turned the right way round and cut to the text; empty ones go.

    Where `flat`, those that cover most together stay of those that overlap: of two the longer.
    """
    if not isinstance(cell, list | tuple):
        return cell, Counter()
    _, size = _unit(input)
    done: Counter[str] = Counter()
    kept: list[Span] = []
    for number, entry in enumerate(cell, 1):
        start, end, label = _parts(entry, number)
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
        kept = list(dict.fromkeys(kept))  # to say a thing twice is no fault
        best = best_disjoint([(start, end, float(end - start)) for start, end, _ in kept])
        if len(best) < len(kept):
            done["spans that overlapped longer ones, left out"] += len(kept) - len(best)
        kept = [kept[index] for index in best]
    return [list(span) for span in kept], done


def _words(input: Input) -> Sequence[tuple[int, int]]:
    if input.words is None:
        raise ValueError("tags need tokens: a list of words in the column that `tokens` names")
    return input.words


def _tags(cell: Any) -> list[str]:
    if not isinstance(cell, list | tuple):
        raise ValueError(f"tags must be a list with a word for each token, but this is {kind_of(cell)}")
    for number, tag in enumerate(cell, 1):
        if not isinstance(tag, str):
            raise _wrong("word", number, f" has {kind_of(tag)} as its tag; a tag must be a word")
        if not tag.strip():
            raise _wrong("word", number, " has a blank tag; each token needs one")
    return [tag.strip() for tag in cell]


def _unit(input: Input) -> tuple[str, int]:
    return ("character", len(input.texts[0])) if input.words is None else ("token", len(input.words))


def _parts(entry: Any, number: int) -> Span:
    fields = _fields(entry, number) if isinstance(entry, dict) else entry
    if not isinstance(fields, list | tuple):
        raise _wrong("span", number, f" is {kind_of(entry)}, not of the form {SPAN_FORM}")
    if len(fields) not in (2, 3):
        raise _wrong("span", number, f" has {len(fields)} parts, but must be of the form {SPAN_FORM}")
    start, end = fields[:2]
    label = fields[2] if len(fields) == 3 and fields[2] is not None else ONE_LABEL
    for name, value in (("start", start), ("end", end)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise _wrong("span", number, f": {name} must be a whole number, but this is {kind_of(value)}")
    if not isinstance(label, str):
        raise _wrong("span", number, f": the label must be a word, but this is {kind_of(label)}")
    if not label.strip():
        raise _wrong("span", number, ": the label is blank; write a word, or leave it out of all spans")
    return start, end, label.strip()


def _fields(entry: dict[str, Any], number: int) -> list[Any]:
    """Start, end and label of a span; what else may hold its label under another name is not passed over."""
    lacking = [key for key in ("start", "end") if key not in entry]
    if lacking:
        raise _wrong("span", number, f" has no {' and no '.join(lacking)}; it must be of the form {SPAN_FORM}")
    if "label" not in entry and entry.keys() - _BESIDE:
        raise _wrong("span", number, f" has further keys, but none called label; it must be of the form {SPAN_FORM}")
    return [entry["start"], entry["end"], entry.get("label")]


def _in_characters(span: Span, input: Input) -> Span:
    start, end, label = span
    if input.words is None:
        return span
    return input.words[start][0], input.words[end - 1][1], label


def _in_order(span: Span) -> tuple[int, int, str]:
    return span[0], -span[1], span[2]


def _wrong(item: str, number: int, problem: str, general: str | None = None) -> CellError:
    """What is wrong with one word, span or relation of a cell; `general` where the problem has numbers of its own."""
    return CellError(f"{item} {number}{problem}", f"a {item}{problem if general is None else general}")
