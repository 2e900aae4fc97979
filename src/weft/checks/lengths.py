"""Texts that will be cut, and limits that are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weft.checks.findings import Finding, Part
from weft.errors import ConfigError
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer

CUT = 0.05  # share of texts over the token limit from which it is a likely mistake
_CHUNK = 2048  # rows tokenized at once
_ENDLESS = 10**9


def find_cut_texts(
    name: str, task: Task, parts: Mapping[str, Part], tokenizer: Tokenizer | None, max_length: int | None
) -> Iterator[Finding]:
    """Texts over the limit, which is the task's or the encoder's `max_length`, whichever is less."""
    place, limit = f"tasks.{name}.max_length", min(task.max_length or _ENDLESS, max_length or _ENDLESS)
    if task.max_length is not None and task.max_length > limit:
        yield Finding("warning", place, f"{task.max_length} is more than the encoder takes, so {limit} holds")
    if tokenizer is None or limit == _ENDLESS:
        return
    for part in parts.values():
        try:
            cut = list(_cut_lines(task, part, tokenizer, limit))
        except ConfigError as error:
            yield Finding("fault", place, str(error))
            return
        said = f"rows are over the limit of {limit} tokens and will be cut ({task.truncation!r} stays)"
        yield from part.count("warning" if len(cut) > CUT * len(part.rows) else "note", cut, said)


def _cut_lines(task: Task, part: Part, tokenizer: Tokenizer, limit: int) -> Iterator[int]:
    for start in range(0, len(part.rows), _CHUNK):
        rows = part.rows[start : start + _CHUNK]
        tokenized = task.encode(rows, tokenizer, limit)
        yield from (
            row.line for row, tokenized_example in zip(rows, tokenized, strict=True) if tokenized_example.dropped
        )
