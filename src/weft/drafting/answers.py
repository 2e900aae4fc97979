"""Which columns are answers about a whole text or a pair, and of which kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.drafting.looks import LONGEST_LABEL, MANY, are_few, label_counts, never_repeats
from weft.drafting.names import is_about_rows, is_called_answer, is_called_score
from weft.drafting.question import PAIR_KINDS, TEXT_KINDS, Hints, Question, Seen
from weft.drafting.texts import ReadColumns

MOST = 6  # answers that are asked for together without having been named
_ORDINAL = (
    'if these numbers are grades: loss = "ordinal" takes a near miss for less than a far one;'
    " if they are amounts: --kind regression"
)
_SEPARATOR = "|"  # the default
_NO_LABEL = 'blank = "none"'


def ask_about_texts(table: Mapping[str, Seen], reading: ReadColumns, hints: Hints) -> list[Question]:
    """A question for each column that answers something about the text, or about the pair."""
    ask = _ask_pair if len(reading.columns) == 2 else _ask_text
    if not hints.wants(PAIR_KINDS if len(reading.columns) == 2 else TEXT_KINDS):
        return []
    others = {name: seen for name, seen in table.items() if name not in reading.names}
    if hints.labels:
        asked = [ask(others[name], reading, hints, named=True) for name in hints.labels if name in others]
    else:
        asked = [ask(seen, reading, hints, is_called_answer(seen.name)) for seen in others.values()]
    return [question for question in asked if question is not None]


def is_plain_answer(question: Question) -> bool:
    """Whether the column is called label or the like, so that columns with other names are hardly meant."""
    return question.answer is not None and is_called_answer(question.answer)


def is_answer_in_doubt(question: Question) -> bool:
    """Whether the column rather says where a row comes from."""
    return question.answer is not None and is_about_rows(question.answer)


def _ask_text(seen: Seen, reading: ReadColumns, hints: Hints, named: bool) -> Question | None:
    options: dict[str, Any] = {"text": reading.names[0], "label": seen.name}
    reasons = {"text": reading.reason, "label": seen.look.phrase}
    if (several := _several(seen)) is not None:
        reason = "any number of labels for each text"
        return Question(TEXT_KINDS[0], reason, seen.name, {**options, **several}, reasons, (), _doubt(seen))
    scored = seen.look.role == "number" and (named or is_called_score(seen.name) or seen.column.different <= MANY)
    if hints.kind == "regression" or (hints.kind is None and scored):
        return _ask_number(seen, reading)
    if not _can_be_label(seen, named):
        return None
    reasons["label"] = seen.column.summary()
    remarks = (_ORDINAL,) if _is_graded(seen) else ()
    unsure = _few_repeat(seen)
    return Question(TEXT_KINDS[0], "one label for each text", seen.name, options, reasons, remarks, unsure)


def _ask_number(seen: Seen, reading: ReadColumns) -> Question | None:
    if seen.column.numbers is None or seen.look.role not in ("number", "label", "own"):
        return None
    options = {"text": reading.names[0], "score": seen.name}
    reasons = {"text": reading.reason, "score": _range(seen.column.numbers)}
    return Question("regression", "a number for each text", seen.name, options, reasons)


def _ask_pair(seen: Seen, reading: ReadColumns, hints: Hints, named: bool) -> Question | None:
    options: dict[str, Any] = {"text": list(reading.names)}
    reasons = {"text": reading.reason}
    numbers, graded = seen.column.numbers, _is_graded(seen)
    scored = seen.look.role == "number" or (graded and is_called_score(seen.name))
    if hints.kind == "similarity" or (hints.kind is None and scored):
        if numbers is None or seen.look.role not in ("number", "label", "own"):
            return None
        reasons["score"] = _range(numbers)
        doubt = f"took the whole numbers of {seen.shown} for scores; if they are labels: --kind pair_classification"
        unsure = (doubt,) if graded and hints.kind is None else ()
        options["score"] = seen.name
        return Question("similarity", "a number for each pair", seen.name, options, reasons, (), unsure)
    if not _can_be_label(seen, named or hints.kind is not None):
        return None
    doubt = f"took the whole numbers of {seen.shown} for labels; if they are scores: --kind similarity"
    in_doubt = graded and hints.kind is None and not is_called_answer(seen.name)
    doubts = (*([doubt] if in_doubt else []), *_few_repeat(seen))
    options["label"] = seen.name
    reasons["label"] = seen.column.summary()
    return Question(PAIR_KINDS[0], "one label for each pair", seen.name, options, reasons, (), doubts)


def _range(numbers: Sequence[float]) -> str:
    return f"numbers from {min(numbers):g} to {max(numbers):g}"


def _can_be_label(seen: Seen, named: bool) -> bool:
    """Whether a column may be asked for as labels; one that the user or its name calls so needs less."""
    if seen.look.role in ("label", "labels"):
        return True
    column = seen.column
    possible = seen.look.role in ("text", "own", "number") and column.scalar and column.different > 1
    return named and possible and column.longest <= LONGEST_LABEL and not never_repeats(column)


def _several(seen: Seen) -> dict[str, Any] | None:
    """The options of a task with several labels per row, where the column has them."""
    if seen.look.role == "words" and are_few(label_counts(seen.column.filled, None)):
        return {"multilabel": True}
    if seen.look.role == "labels":
        own = {"separator": seen.look.separator} if seen.look.separator != _SEPARATOR else {}
        return {"multilabel": True, **own}
    return None


def _doubt(seen: Seen) -> tuple[str, ...]:
    """What is in doubt about several labels in a cell: what parts them, and what a blank cell means."""
    doubts = []
    if seen.look.role == "labels" and seen.look.separator != _SEPARATOR:
        mark = f"took {seen.look.separator!r} in {seen.shown} for what parts labels"
        doubts.append(f"{mark}; if the whole cell is one label, remove multilabel and separator")
    if blank := len(seen.column.cells) - len(seen.column.filled):
        rows = f"{blank:,} of {len(seen.column.cells):,} cells of {seen.shown} are blank, and taken for no answer"
        doubts.append(f"{rows}; if they say that no label applies: {_NO_LABEL}")
    return tuple(doubts)


def _few_repeat(seen: Seen) -> tuple[str, ...]:
    if seen.look.role == "label":
        return ()
    column = seen.column
    return (f"{seen.shown} has {column.different:,} different values in {len(column.filled):,} rows; are they labels?",)


def _is_graded(seen: Seen) -> bool:
    """Whether labels are three or more numbers, as ratings are."""
    return seen.column.numbers is not None and 3 <= seen.column.different <= MANY
