"""What can be asked of one data set, by what its columns look like; or why nothing can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.data.opening import suffix_of
from weft.drafting.answers import MOST, ask_about_texts, is_answer_in_doubt, is_plain_answer
from weft.drafting.columns import shown_name
from weft.drafting.english import seems_english
from weft.drafting.files import DataSet
from weft.drafting.header import check_header
from weft.drafting.looks import UNCLEAR_COMMAS, look_of
from weft.drafting.question import RAW_KINDS, Hints, Question, Seen
from weft.drafting.sample import Sample
from weft.drafting.texts import ReadColumns, choose_text
from weft.drafting.words import ask_about_words, find_tokens
from weft.errors import DataError

LISTED = 12  # columns of a message or a remark


@dataclass
class AskedSet:
    """What is asked of one data set, and what is left."""

    data: DataSet
    questions: list[Question]
    possible: list[Question]  # that could be asked as well
    idle: list[Seen]
    unsure: list[str]
    english: bool


def ask(data: DataSet, hints: Hints) -> AskedSet:
    """What can be asked of a data set by the columns of its training rows."""
    sample = data.train
    check_header(sample, hints.columns)
    table = table_of(sample)
    own = replace(
        hints, texts=tuple(n for n in hints.texts if n in table), labels=tuple(n for n in hints.labels if n in table)
    )
    reading = choose_text(table, own)
    if hints.kind in RAW_KINDS:
        questions, possible = _ask_raw(sample, reading, hints.kind), list[Question]()
    else:
        questions, possible = _choose(table, reading, own)
    if not questions:
        raise DataError(_why_nothing(table, reading, own), file=sample.path)
    used = {name for question in questions for name in columns_of(question)}
    used |= set(reading.names) if reading is not None and hints.kind in RAW_KINDS else set()
    idle = [seen for name, seen in table.items() if name not in used]
    unsure = [*data.unsure, *_several_answers(questions, own), *(line for one in questions for line in one.unsure)]
    if any("text" in question.options for question in questions) and reading is not None:
        unsure += reading.unsure
    return AskedSet(data, questions, possible, idle, unsure, _is_english(table, reading))


def _ask_raw(sample: Sample, reading: ReadColumns | None, kind: str | None) -> list[Question]:
    """Raw text, which needs no answers."""
    table = suffix_of(sample.path) != ".txt"
    if kind is None or (table and reading is None):
        return []
    options: dict[str, Any] = {"text": reading.names[0], "documents": "rows"} if table and reading else {}
    return [
        Question(kind, "learns from the texts alone, as --kind says", None, options, {"documents": "each row is one"})
    ]


def _choose(
    table: Mapping[str, Seen], reading: ReadColumns | None, hints: Hints
) -> tuple[list[Question], list[Question]]:
    """The questions to ask, and those that could be asked as well."""
    about_words = ask_about_words(table, reading, hints)
    taken = {name for question in about_words for name in columns_of(question)}
    taken |= {tokens.name} if (tokens := find_tokens(table)) is not None else set()
    rest = {name: seen for name, seen in table.items() if name not in taken or (reading and name in reading.names)}
    about_texts = ask_about_texts(rest, reading, hints) if reading is not None else []
    if hints.labels:
        return [*about_texts, *about_words], []
    plain = [question for question in about_texts if is_plain_answer(question)]
    clear = [question for question in about_texts if not is_answer_in_doubt(question)]
    wanted = plain or clear or ([] if about_words else about_texts)
    if len(wanted) > MOST or (not plain and not clear and len(wanted) > 1):
        return [], wanted
    return [*wanted, *about_words], [question for question in about_texts if question not in wanted]


def _several_answers(questions: Sequence[Question], hints: Hints) -> Iterator[str]:
    """That columns were taken for answers though nothing calls them so."""
    taken = [question.answer for question in questions if question.answer and not is_plain_answer(question)]
    if len(taken) > 1 and not hints.labels:
        listed = ", ".join(shown_name(name) for name in taken)
        yield f"took all of {listed} for answers that are wanted; to ask fewer: --label COLUMN, or remove their tables"


def columns_of(question: Question) -> list[str]:
    """The columns that a question names."""
    keys = ("text", "label", "score", "tokens", "tags", "entities", "spans", "relations")
    values = [question.options[key] for key in keys if key in question.options]
    return [name for value in values for name in (value if isinstance(value, list) else [value]) if name]


def _why_nothing(table: Mapping[str, Seen], reading: ReadColumns | None, hints: Hints) -> str:
    """What is missing, what was seen, and which flag helps."""
    remedy = "say with --text COLUMN and --label COLUMN what to read and what to ask"
    if list(table) == ["text"]:
        why = "it has texts without answers"
        remedy = "add a column of labels, or learn from the texts alone with --kind masked_words"
    elif all(len(seen.column.cells) == 1 for seen in table.values()):
        why, remedy = "it has a single row, from which nothing can be learned", "add rows with other answers"
    elif len(table) == 1:
        why, remedy = "it has one column, but a task needs a text and its answer", "add the other to the file"
    elif reading is None and find_tokens(table) is None:
        why = "no column looks like a text"
    elif reading is not None and not hints.labels and len(possible := _choose(table, reading, hints)[1]) > 1:
        why = f"{len(possible)} columns could be the answer"
        remedy = "say with --label COLUMN which to ask, once for each"
    elif hints.labels:
        why = "no task can be made of the columns that --label names"
        remedy = "answers are numbers, or short values that repeat"
    elif hints.kind is not None:
        why = f"nothing suits the kind {hints.kind}"
    else:
        why = "no column looks like an answer"
    unclear = [seen.shown for seen in table.values() if seen.look.phrase == UNCLEAR_COMMAS]
    if unclear and reading is not None:
        return f"{unclear[0]} has {UNCLEAR_COMMAS}; {describe_table(table)}"
    numbers = [seen.shown for seen in table.values() if seen.look.role == "number"]
    if numbers and reading is not None and len(reading.columns) == 1:
        texts = [seen for seen in table.values() if seen.look.role == "text"]
        pairs = "; if it compares two texts: --kind similarity" if len(texts) > 1 else ""
        why += f" (for a number, as in {numbers[0]}, name its column: --label COLUMN --kind regression{pairs})"
    return f"{why}; {remedy}; {describe_table(table)}"


def table_of(sample: Sample) -> dict[str, Seen]:
    return {name: Seen(column, look_of(column)) for name, column in sample.columns.items()}


def describe_table(table: Mapping[str, Seen]) -> str:
    """A line for each column with what it looks like."""
    lines = [f"  {seen.shown}: {seen.look.phrase}" for seen in table.values()]
    more = [f"  … and {len(lines) - LISTED:,} more columns"] if len(lines) > LISTED else []
    return "\n".join(["its columns:", *lines[:LISTED], *more])


def _is_english(table: Mapping[str, Seen], reading: ReadColumns | None) -> bool:
    tokens = find_tokens(table)
    if reading is None:
        return tokens is None or seems_english(" ".join(cell) for cell in tokens.column.filled)
    return seems_english(str(cell) for seen in reading.columns for cell in seen.column.filled)
