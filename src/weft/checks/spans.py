"""Marked spans that can never be found as they are: too wide, or not of whole words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weft.checks.findings import Finding, Part
from weft.targets.base.annotations import gold_spans
from weft.tasks import Task
from weft.tasks.base.words import WordTask
from weft.tokenization.tokenizer import Tokenizer
from weft.tokenization.words import word_range

_CHUNK = 2048  # rows tokenized at once


def find_lost_marks(
    task: Task, parts: Mapping[str, Part], tokenizer: Tokenizer | None, max_length: int | None
) -> Iterator[Finding]:
    """Rows with spans that no answer can be equal to."""
    if tokenizer is None or not isinstance(task, WordTask) or task.reads_spans:
        return
    max_width = getattr(task, "max_width", None)
    for part in parts.values():
        wide, split = list[int](), list[int]()
        for start in range(0, len(part.rows), _CHUNK):
            rows = part.rows[start : start + _CHUNK]
            for row, tokenized_example in zip(rows, task.encode(rows, tokenizer, max_length or 512), strict=True):
                words = tokenized_example.words
                for begin, end, _ in gold_spans(row):
                    held = word_range(words, begin, end)
                    if held is None or (words.char_starts[held[0]], words.char_ends[held[1] - 1]) != (begin, end):
                        split.append(row.line)
                    elif max_width is not None and held[1] - held[0] > max_width:
                        wide.append(row.line)
        yield from part.count(
            "warning", sorted(set(wide)), f"rows have a span of more than max_width = {max_width} words: never found"
        )
        said = "rows have a span that is not of whole words as the tokenizer sees them, and cannot be found exactly"
        yield from part.count("warning", sorted(set(split)), said)
