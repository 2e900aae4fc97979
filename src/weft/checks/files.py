"""What is worth knowing of the files as they were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weft.checks.findings import Finding, Part, of_one_row, share
from weft.tasks import Task

_NO_LABEL = 'blank = "none"'
MANY_BLANK = 0.1  # share of the rows without any of several labels, from which no label may well be an answer


def find_answer_in_text(name: str, task: Task) -> Iterator[Finding]:
    """A text that is its own answer."""
    if task.gold_column() in task.text_columns():
        message = f"column {task.gold_column()!r} is both a text and the answer"
        yield Finding("warning", f"tasks.{name}", message)


def find_file_notes(name: str, task: Task, files: Mapping[str, Part]) -> Iterator[Finding]:
    """Rows that are passed over, repaired or respelled, blanks that are ignored, and a text that is its own answer."""
    yield from find_answer_in_text(name, task)
    if files and all(part.complete for part in files.values()):
        seen = {spelling for part in files.values() for spelling in part.respelled}
        for spelling in (spelling for spelling in task.other_spellings() if spelling not in seen):
            yield Finding("note", f"tasks.{name}.map", f"{spelling!r} occurs in none of the files")
    for part in files.values():
        if part.respelled:
            count = part.respelled.total()
            labels = "labels are" if count > 1 else "label is"
            yield part.finding("note", f"{count:,} {labels} spelled otherwise (map)")
        if part.blank and part.rows:
            yield _find_blank(task, part)
        for message, count in part.repairs.items():
            yield part.finding("note", f"{count:,} {message}")
        if part.padded:
            one = len(part.padded) == 1
            message = f"blanks at the ends of {len(part.padded):,} {'answer' if one else 'answers'} are ignored"
            yield part.finding("note", message, part.padded, part.column)


def _find_blank(task: Task, part: Part) -> Finding:
    """Rows without an answer; of several labels none may be one, which only the config can say."""
    lacking = "rows have no answer and are passed over"
    lacking = lacking if len(part.blank) > 1 else of_one_row(lacking)
    message = f"{share(len(part.blank), part.total)} {lacking}"
    if not task.target().multilabel:
        return part.finding("note", message, part.blank, part.column, "label them, or leave them")
    remedy = f"label them, or leave them; if a blank cell says that no label applies: {_NO_LABEL}"
    many = len(part.blank) >= MANY_BLANK * part.total
    return part.finding("warning" if many else "note", message, part.blank, part.column, remedy)
