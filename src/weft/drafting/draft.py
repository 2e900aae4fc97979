"""From files to a draft: data sets, the tasks that their columns make, and what is in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from weft.data.formats import READABLE
from weft.data.redact import nearest_name
from weft.drafting.answers import MOST, ask_about_texts, is_answer_in_doubt, is_plain_answer
from weft.drafting.columns import shown_name
from weft.drafting.english import seems_english
from weft.drafting.files import DataSet, group_files
from weft.drafting.header import check_header
from weft.drafting.looks import look_of
from weft.drafting.names import is_called_plainly, plain_name
from weft.drafting.question import KINDS, RAW_KINDS, Hints, Question, Seen
from weft.drafting.sample import Sample, look_at
from weft.drafting.texts import ReadColumns, choose_text
from weft.drafting.words import ask_about_words, find_tokens
from weft.errors import ConfigError, DataError

_LISTED = 12  # columns of a remark
_USUAL = ("tags", "spans", "entities", "relations")  # columns that say nothing of what is asked
_NO_DEV = "without a dev file, a tenth of the rows is held out to choose by where there are 400 or more, else none"
_LANGUAGE = (
    "the texts do not seem to be English, which the packaged encoder knows; name an encoder of their language in "
    "[encoder], or with --encoder"
)


@dataclass(frozen=True)
class TaskDraft:
    """A task of the config that is drafted."""

    name: str
    question: Question
    files: dict[str, Path]  # by split
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draft:
    """All that a config will say, and remarks about the files it is made from."""

    name: str
    tasks: list[TaskDraft]
    looked_at: list[str]  # the files, with how much was looked at
    remarks: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    encoder: str | None = None  # where it is named


@dataclass
class _Asked:
    """What is asked of one data set, and what is left."""

    data: DataSet
    questions: list[Question]
    possible: list[Question]  # that could be asked as well
    idle: list[Seen]
    unsure: list[str]
    english: bool


def draft(paths: Sequence[Path], hints: Hints) -> Draft:
    """The tasks that files make; raises a WeftError that says what was seen where they cannot be guessed."""
    if hints.kind is not None and hints.kind not in KINDS:
        raise ConfigError(f"--kind {hints.kind!r} is not one of: {', '.join(KINDS)}{nearest_name(hints.kind, KINDS)}")
    if len(hints.texts) > 2:
        raise ConfigError(f"--text names {len(hints.texts)} columns; a task reads one text, or two as a pair")
    samples = [look_at(path) for path in _files(paths)]
    sets, unused = group_files(samples)
    _check_hints(hints, [data.train for data in sets])
    asked = [_ask(data, hints) for data in sets]
    tasks = _named_tasks(asked, hints)
    remarks = [remark for one in asked for remark in _remarks(one)]
    remarks += [
        f"{sample.path.name} is not used: another file is that split; measure on it later with weft evaluate"
        for sample in unused
    ]
    remarks += [_NO_DEV] if any("dev" not in task.files and task.question.answer for task in tasks) else []
    unsure = [line for one in asked for line in one.unsure]
    unsure += _alike(sets)
    unsure += [] if hints.encoder or all(one.english for one in asked) else [_LANGUAGE]
    looked_at = [f"{sample.path.name} ({sample.size})" for data in sets for sample in data.splits.values()]
    return Draft(sets[0].name, tasks, looked_at, remarks, list(dict.fromkeys(unsure)), hints.encoder)


def _alike(sets: Sequence[DataSet]) -> Iterator[str]:
    """Data sets with the same columns, which may be meant as one."""
    for first, second in combinations([data.train for data in sets], 2):
        if first.columns.keys() == second.columns.keys():
            files = f"{first.path.name} and {second.path.name} have the same columns, and are tasks of their own"
            yield f"{files}; if they ask the same, put their rows into one file"


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files, those of a folder instead of the folder; each once."""
    found: dict[Path, None] = {}
    for path in paths:
        inside = _inside(path) if path.is_dir() else [path]
        if not inside:
            raise DataError(f"this folder holds no file that can be read; allowed: {', '.join(READABLE)}", file=path)
        found |= dict.fromkeys(inside)
    return list(found)


def _inside(folder: Path) -> list[Path]:
    """The files of a folder that can be read; notes in plain text only where there is nothing else."""
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and file.suffix.lower() in READABLE]
    return [file for file in files if file.suffix.lower() != ".txt"] or files


def _check_hints(hints: Hints, samples: Sequence[Sample]) -> None:
    """Raise for columns that no file has."""
    known = [name for sample in samples for name in sample.columns]
    absent = [name for name in hints.columns if name not in known]
    if absent:
        files = ", ".join(str(sample.path) for sample in samples)
        near = "".join(nearest_name(name, known) for name in absent[:1])
        raise ConfigError(f"{files}: there is no column {', '.join(map(repr, absent))}{near}{_listing(samples)}")


def _listing(samples: Sequence[Sample]) -> str:
    return "".join(f"\n{_describe(_table(sample))}" for sample in samples)


def _table(sample: Sample) -> dict[str, Seen]:
    return {name: Seen(column, look_of(column)) for name, column in sample.columns.items()}


def _describe(table: Mapping[str, Seen]) -> str:
    """A line for each column with what it looks like."""
    lines = [f"  {seen.shown}: {seen.look.phrase}" for seen in table.values()]
    more = [f"  … and {len(lines) - _LISTED:,} more columns"] if len(lines) > _LISTED else []
    return "\n".join(["its columns:", *lines[:_LISTED], *more])


def _ask(data: DataSet, hints: Hints) -> _Asked:
    """What can be asked of a data set by the columns of its training rows."""
    sample = data.train
    check_header(sample, hints.columns)
    table = _table(sample)
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
    used = {name for question in questions for name in _columns_of(question)}
    used |= set(reading.names) if reading is not None and hints.kind in RAW_KINDS else set()
    idle = [seen for name, seen in table.items() if name not in used]
    unsure = [*data.unsure, *_several_answers(questions, own), *(line for one in questions for line in one.unsure)]
    if any("text" in question.options for question in questions) and reading is not None:
        unsure += reading.unsure
    return _Asked(data, questions, possible, idle, unsure, _is_english(table, reading))


def _ask_raw(sample: Sample, reading: ReadColumns | None, kind: str | None) -> list[Question]:
    """Raw text, which needs no answers."""
    if reading is None or kind is None:
        return []
    table = sample.path.suffix.lower() != ".txt"
    options: dict[str, Any] = {"text": reading.names[0], "documents": "rows"} if table else {}
    return [
        Question(kind, "learns from the texts alone, as --kind says", None, options, {"documents": "each row is one"})
    ]


def _choose(
    table: Mapping[str, Seen], reading: ReadColumns | None, hints: Hints
) -> tuple[list[Question], list[Question]]:
    """The questions to ask, and those that could be asked as well."""
    about_words = ask_about_words(table, reading, hints)
    taken = {name for question in about_words for name in _columns_of(question)}
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


def _columns_of(question: Question) -> list[str]:
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
        remedy = "labels are short values that repeat; pairs may also have numbers"
    elif hints.kind is not None:
        why = f"nothing suits the kind {hints.kind}"
    else:
        why = "no column looks like an answer"
    numbers = [seen.shown for seen in table.values() if seen.look.role == "number"]
    if numbers and reading is not None and len(reading.columns) == 1:
        why += f" (no kind answers a single text with a number, as in {numbers[0]}; write labels such as low and high)"
    return f"{why}; {remedy}; {_describe(table)}"


def _named_tasks(asked: Sequence[_Asked], hints: Hints) -> list[TaskDraft]:
    """The tasks under names of their own, each with the files that have its answers."""
    count = sum(len(one.questions) for one in asked)
    if hints.task is not None and count != 1:
        raise ConfigError(f"--task names one task, but {count} are drafted; name one column of answers with --label")
    tasks: list[TaskDraft] = []
    for one in asked:
        spans = None
        for question in one.questions:
            wanted = hints.task or _wanted_name(question, one)
            name = wanted if hints.task else plain_name(wanted, [task.name for task in tasks])
            spans = name if question.kind == "spans" else spans
            if question.kind == "relations" and spans is not None:
                question = _with_spans_from(question, spans)
            files, remarks = _files_of(question, one.data)
            tasks.append(TaskDraft(name, question, files, (*question.remarks, *remarks)))
    return tasks


def _wanted_name(question: Question, asked: _Asked) -> str:
    """What the column is called, or the files where that says nothing."""
    answer = question.answer
    plain = answer is None or is_called_plainly(answer) or answer in _USUAL
    return asked.data.name if plain and len(asked.questions) == 1 else answer or asked.data.name


def _with_spans_from(question: Question, spans: str) -> Question:
    reasons = {**question.reasons, "spans_from": "for texts that come without spans"}
    return replace(question, options={**question.options, "spans_from": spans}, reasons=reasons)


def _files_of(question: Question, data: DataSet) -> tuple[dict[str, Path], list[str]]:
    """The files that have answers, by split, and a remark for each that has none."""
    files, remarks = {}, []
    for split, sample in data.splits.items():
        answer = question.answer
        if answer is None or (answer in sample.columns and sample.columns[answer].filled):
            files[split] = sample.path
        else:
            remarks.append(f"{sample.path.name} has no answers to this, so it is left out; weft predict answers it")
    return files, remarks


def _remarks(asked: _Asked) -> list[str]:
    """The columns that no task uses, and why."""
    possible = {question.answer for question in asked.possible}
    idle = [
        f"{seen.shown} ({'could be asked too, with --label' if seen.name in possible else seen.look.phrase})"
        for seen in asked.idle
        if not _is_copy(seen, asked)
    ]
    more = f" and {len(idle) - _LISTED:,} more" if len(idle) > _LISTED else ""
    return (
        [f"columns of {asked.data.train.path.name} that are not used: {', '.join(idle[:_LISTED])}{more}"]
        if idle
        else []
    )


def _is_copy(seen: Seen, asked: _Asked) -> bool:
    """Whether a column is one that is used under another name, as CoNLL files have it."""
    used = [asked.data.train.columns[name] for question in asked.questions for name in _columns_of(question)]
    return seen.look.role == "words" and any(seen.column.cells == column.cells for column in used)


def _is_english(table: Mapping[str, Seen], reading: ReadColumns | None) -> bool:
    tokens = find_tokens(table)
    if reading is None:
        return tokens is None or seems_english(" ".join(cell) for cell in tokens.column.filled)
    return seems_english(str(cell) for seen in reading.columns for cell in seen.column.filled)
