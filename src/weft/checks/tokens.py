"""What the tokenizer makes of the texts: those that will be cut, and answers that can never be given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from weft.checks.findings import Finding, Part, Severity, share
from weft.data.records import Example, Input
from weft.errors import ConfigError
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer
from weft.training.prepare import PreparedRun
from weft.training.reading import Origin, SplitRows

CUT = 0.05  # share of texts over the token limit from which it is a likely mistake
_CHUNK = 2048  # rows tokenized at once
_OTHER_PARTS = 'to keep another part: truncation = "tail" or "head_tail"'
_LONG = 64  # characters per token that is allowed, from which a text is looked at from its beginning first


def find_odd_tokens(
    name: str, task: Task, parts: Mapping[str, Part], tokenizer: Tokenizer, max_length: int
) -> Iterator[Finding]:
    """Texts over the limit, which is the task's or the encoder's `max_length`, and golds that no answer can equal."""
    limit = min(task.max_length or max_length, max_length)
    if task.max_length is not None and task.max_length > limit:
        message = f"{task.max_length} is more than the encoder takes, so {limit} holds"
        yield Finding("warning", f"tasks.{name}.max_length", message)
    for part in (*parts.values(), *label_part(name, task).values()):
        try:
            cut, problems = _read_part(task, part, tokenizer, limit)
        except ConfigError:  # no room for text, which preparing has found
            return
        message = f"rows are over the limit of {limit} tokens and will be cut ({task.truncation!r} stays)"
        severity: Severity = "warning" if len(cut) > CUT * len(part.rows) else "note"
        yield from part.count(severity, cut, message, _OTHER_PARTS if task.truncation == "head" else "")
        for message in sorted(problems):
            yield from part.count("warning", sorted(problems[message]), f"rows {message}")


def cut_notes(prepared: PreparedRun) -> Iterator[str]:
    """A line for each task with texts over the limit: how many of each split. What `find_odd_tokens` counts, too."""
    for name, parts in prepared.rows.parts.items():
        task, limit = prepared.experiment.tasks[name], prepared.max_length(name)
        assert prepared.source is not None
        assert limit is not None
        read = {**parts, **label_part(name, task)}
        cut = {split: _read_part(task, part, prepared.source.tokenizer, limit)[0] for split, part in read.items()}
        counts = [f"{split} {share(len(lines), len(read[split].rows))}" for split, lines in cut.items() if lines]
        if counts:
            over = f"texts over the limit of {limit} tokens are cut ({task.truncation!r} stays)"
            yield f"{name}: {over}: {', '.join(counts)}"


def label_part(name: str, task: Task) -> dict[str, Part]:
    """What a task without rows reads of its labels, as a split of its own; none for other tasks."""
    if not task.without_rows:
        return {}
    try:
        texts = task.label_texts()
    except ConfigError:  # labels that preparing has found
        return {}
    path = f"tasks.{name}.labels"
    rows = [Example((text,), label, number) for number, (label, text) in enumerate(texts.items(), 1)]
    return {"labels": Part(path, Origin(path), rows)}


def _read_part(
    task: Task, part: SplitRows, tokenizer: Tokenizer, limit: int
) -> tuple[list[int], Mapping[str, set[int]]]:
    """The lines of rows that are cut, and those of other problems by what they are."""
    cut, problems, target = list[int](), defaultdict[str, set[int]](set), task.target()
    for start in range(0, len(part.rows), _CHUNK):
        rows = part.rows[start : start + _CHUNK]
        beginnings = {row.line for row in _cut_beginnings(task, rows, tokenizer, limit)}
        cut += sorted(beginnings)
        rows = [row for row in rows if row.line not in beginnings]
        tokenized = task.encode(rows, tokenizer, limit) if rows else []
        cut += [row.line for row, example in zip(rows, tokenized, strict=True) if example.dropped]
        for message, line in target.find_problems(rows, tokenized):
            problems[message].add(line)
    return cut, problems


def _cut_beginnings(task: Task, rows: Sequence[Example], tokenizer: Tokenizer, limit: int) -> Iterator[Example]:
    """The rows of very long texts that are cut though only the beginnings are there: a book need not be tokenized."""
    plain = (row for row in rows if row.words is None and row.spans is None)
    long = [row for row in plain if any(len(text) > _LONG * limit for text in row.texts)]
    beginnings = [Input(tuple(text[: _LONG * limit] for text in row.texts)) for row in long]
    tokenized = task.encode(beginnings, tokenizer, limit) if long else []
    return (row for row, example in zip(long, tokenized, strict=True) if example.dropped)
