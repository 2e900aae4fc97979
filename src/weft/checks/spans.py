"""Marked spans that can never be found as they are: too wide, or not of whole words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from weft.checks.findings import Finding, Part
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer

_CHUNK = 2048  # rows tokenized at once


def find_lost_marks(
    task: Task, parts: Mapping[str, Part], tokenizer: Tokenizer | None, max_length: int | None
) -> Iterator[Finding]:
    """Rows with spans that no answer can be equal to."""
    if tokenizer is None:
        return
    target = task.target()
    for part in parts.values():
        lines: dict[str, set[int]] = defaultdict(set)
        for start in range(0, len(part.rows), _CHUNK):
            rows = part.rows[start : start + _CHUNK]
            for message, line in target.find_problems(rows, task.encode(rows, tokenizer, max_length or 512)):
                lines[message].add(line)
        for message in sorted(lines):
            yield from part.count("warning", sorted(lines[message]), f"rows {message}")
