"""From files to a draft: data sets, the tasks that their columns make, and what is in doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from weft.data.formats import READABLE
from weft.data.opening import UTF8
from weft.data.redact import nearest_name
from weft.drafting.asking import LISTED, AskedSet, ask, columns_of, describe_table, table_of
from weft.drafting.files import DataSet, group_files
from weft.drafting.names import is_called_plainly, plain_name
from weft.drafting.question import KINDS, Hints, Question, Seen
from weft.drafting.sample import Sample, look_at
from weft.errors import ConfigError, DataError

_USUAL = ("tags", "spans", "entities", "relations")  # columns that say nothing of what is asked
_NO_DEV = (
    "without a dev file, a tenth of the rows is held out to choose by where there are 400 or more and most labels have "
    "40, else none"
)
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
    encoding: str = UTF8  # of the files


def draft(paths: Sequence[Path], hints: Hints) -> Draft:
    """The tasks that files make; raises a WeftError that says what was seen where they cannot be guessed."""
    if hints.kind is not None and hints.kind not in KINDS:
        raise ConfigError(f"--kind {hints.kind!r} is not one of: {', '.join(KINDS)}{nearest_name(hints.kind, KINDS)}")
    if len(hints.texts) > 2:
        raise ConfigError(f"--text names {len(hints.texts)} columns; a task reads one text, or two as a pair")
    samples = [look_at(path, encoding=hints.encoding) for path in _files(paths)]
    sets, unused = group_files(samples)
    _check_hints(hints, [data.train for data in sets])
    asked = [ask(data, hints) for data in sets]
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
    return Draft(sets[0].name, tasks, looked_at, remarks, list(dict.fromkeys(unsure)), hints.encoder, hints.encoding)


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
    """The files of a folder that can be read, but no hidden ones; plain text only where there is nothing else."""
    try:
        seen = [file for file in sorted(folder.iterdir()) if not file.name.startswith(".")]
        files = [file for file in seen if file.is_file() and file.suffix.lower() in READABLE]
    except OSError as error:
        raise DataError(f"this folder cannot be opened: {error.strerror}", file=folder) from None
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
    return "".join(f"\n{describe_table(table_of(sample))}" for sample in samples)


def _named_tasks(asked: Sequence[AskedSet], hints: Hints) -> list[TaskDraft]:
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


def _wanted_name(question: Question, asked: AskedSet) -> str:
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


def _remarks(asked: AskedSet) -> list[str]:
    """The columns that no task uses, and why."""
    possible = {question.answer for question in asked.possible}
    idle = [
        f"{seen.shown} ({'could be asked too, with --label' if seen.name in possible else seen.look.phrase})"
        for seen in asked.idle
        if not _is_copy(seen, asked)
    ]
    more = f" and {len(idle) - LISTED:,} more" if len(idle) > LISTED else ""
    return (
        [f"columns of {asked.data.train.path.name} that are not used: {', '.join(idle[:LISTED])}{more}"] if idle else []
    )


def _is_copy(seen: Seen, asked: AskedSet) -> bool:
    """Whether a column is one that is used under another name, as CoNLL files have it."""
    used = [asked.data.train.columns[name] for question in asked.questions for name in columns_of(question)]
    return seen.look.role == "words" and any(seen.column.cells == column.cells for column in used)
