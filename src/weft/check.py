"""Everything that is wrong or odd about a config and its files, found at once, before any training.

Faults make training impossible, warnings are likely mistakes, notes are facts. Every check is a generator of findings,
so one that finds a fault never keeps another from being made. No finding holds a text of the user: it gives files,
lines and counts, and of labels only those that look like labels.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from weft.data import get_text, labels_of, reduce_rows, stratum
from weft.errors import ConfigError, DataError
from weft.experiment import Experiment
from weft.losses.ordinal import Ordinal
from weft.losses.pearson import Pearson
from weft.network import check_losses, loss_of
from weft.records import Example, Gold
from weft.spec import nearest
from weft.targets import Target
from weft.tasks import Task
from weft.text.reading import Row, holds_half_character, read_rows
from weft.text.splits import normalise, split_off
from weft.text.tokenizer import Tokenizer

Severity = Literal["fault", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("fault", "warning", "note")

LEARNABLE, MEASURABLE = 8, 10  # rows a label needs in training, and in dev or test
COMMON, RARE = 0.8, 0.02  # shares of the rows from which a label is called too common or too rare
CUT = 0.05  # share of texts over the token limit from which it is a likely mistake
HIGH_RATE = 1e-3  # learning rates above this ruin a pretrained encoder
SMALL_BATCH = 8  # rows below which a batch's correlation is noise
_SHOWN = 5  # lines and labels named one by one before the rest are only counted
_LONGEST = 40  # characters of a label or column name; what is longer may be somebody's text
_WRONG = 50  # different wrong answers after which the column is not read further
_WIDTH = 1024  # of a nominal encoder: only whether two heads read equally much matters
_ASCII = str.maketrans(dict.fromkeys("!\"#%&'()*,-./:;?@[\\]_{}", " "))


@dataclass(frozen=True)
class Finding:
    """One thing to mend or to know: `place` is the dotted path of the config concerned."""

    severity: Severity
    place: str
    message: str


@dataclass(frozen=True)
class Part:
    """The rows of one split of a task; counts mean nothing where reading stopped half-way (`complete` is False)."""

    place: str
    file: str
    rows: list[Example]
    complete: bool = True

    def at(self, lines: Iterable[int]) -> str:
        """The file and up to five of its lines."""
        return f"{self.file}, {name_lines(lines)}"


@dataclass(frozen=True)
class Survey:
    """All findings, faults first, and each task's rows by split."""

    findings: list[Finding]
    parts: dict[str, dict[str, Part]]


def check(experiment: Experiment, base: Path, tokenizer: Tokenizer | None, max_length: int | None) -> list[Finding]:
    """All findings, faults first; see `survey`."""
    return survey(experiment, base, tokenizer, max_length).findings


def survey(experiment: Experiment, base: Path, tokenizer: Tokenizer | None, max_length: int | None) -> Survey:
    """All findings, and the rows they are about.

    Args:
        experiment: the config.
        base: the folder its files are in; see `data_folder`.
        tokenizer: the encoder's; without it texts are not measured, and a note says so.
        max_length: the tokens the encoder takes.
    """
    findings = list(_settings(experiment))
    parts: dict[str, dict[str, Part]] = {}
    targets: dict[str, Target] = {}
    texts = _Normalised()
    for name, task in experiment.tasks.items():
        files, found = _read_files(name, task, base)
        parts[name] = _divide(name, task, files, experiment.seed)
        for part in files.values():
            found += [*_duplicates(part, texts), *_look_alikes(task, part)]
        found += [*_labels(name, task, parts[name]), *_leaks(parts[name], texts), *_sizes(name, parts[name])]
        found += [*_batches(name, task, parts[name].get("train"), experiment.training.batch_size)]
        found += _answers(name, task, parts[name].get("train"), targets)
        found += _lengths(name, task, parts[name], tokenizer, max_length)
        findings += found
    findings += [*_shared_heads(experiment.tasks, targets), *_leaks_across(parts, texts)]
    if tokenizer is None:
        findings.append(Finding("note", "encoder.from", "without its tokenizer, texts were not held against the limit"))
    return Survey(sorted(dict.fromkeys(findings), key=lambda one: SEVERITIES.index(one.severity)), parts)


def data_folder(config_path: Path, experiment: Experiment, override: Path | None) -> Path:
    """The folder of the tasks' files: `override`, else the config's `data` seen from its file, else that file's own."""
    if override is not None:
        return override
    return config_path.parent / Path(experiment.data or ".").expanduser()


def name_lines(numbers: Iterable[int]) -> str:
    """`line 3`, or `lines 2, 3, 5, 8, 9 … and 12 more`."""
    return f"line{'s' if len(ordered := sorted(set(numbers))) > 1 else ''} {_few(map(str, ordered))}"


def name_label(label: str) -> str:
    """A label in quotes, unless it is so long that it may be a text."""
    return repr(label) if len(label) <= _LONGEST else f"(a label of {len(label)} characters)"


def has_labels(task: Task, rows: Sequence[Example]) -> bool:
    """Whether the answers look like labels, rather than like texts of which almost every row has its own."""
    kinds = len(set(labels_of(rows)))
    return task.gold_column() not in task.text_columns() and 0 < kinds <= max(20, len(rows) // 2)


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" … and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def _share(count: int, total: int) -> str:
    return f"{count:,} of {total:,} ({100 * count / max(total, 1):.1f} %)"


class _Normalised(dict[str, str]):
    """Texts as keys for duplicates, each worked out once; a whole row by `key`."""

    def __missing__(self, text: str) -> str:
        plain = text.lower().translate(_ASCII).split() if text.isascii() else []  # `normalise`, only faster
        self[text] = key = " ".join(plain) or normalise(text)
        return key

    def key(self, row: Example) -> tuple[str, ...]:
        return tuple(self[text] for text in row.texts)


# Reading, with every fault collected


@dataclass
class _Reading:
    """The rows of a file as they go by, and what is wrong with those that cannot be used, by kind with their lines."""

    task: Task
    rows: list[Example] = field(default_factory=list)
    lines: int = 0
    blank: list[int] = field(default_factory=list)
    padded: list[int] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    absent: dict[str, list[int]] = field(default_factory=dict)
    answers: dict[str, list[int]] = field(default_factory=dict)
    texts: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)

    def take(self, row: Row, path: Path) -> None:
        self.lines += 1
        self.columns = self.columns or tuple(row.columns)
        column = self.task.gold_column()
        cell = row.columns.get(column)
        if column in row.columns and (cell is None or (isinstance(cell, str) and not cell.strip())):
            self.blank.append(row.line)
            return
        absent = [name for name in (column, *self.task.text_columns()) if name not in row.columns]
        for name in absent:
            self.absent.setdefault(name, []).append(row.line)
        if absent:
            return
        gold, texts = self._gold(cell, row.line), self._texts(row, path)
        if gold is not None and texts is not None:
            self.rows.append(Example(texts, gold, row.line))

    @property
    def hopeless(self) -> bool:
        return len(self._refused) > _WRONG

    def _gold(self, cell: Any, line: int) -> Gold | None:
        if isinstance(cell, str) and cell != cell.strip():
            self.padded.append(line)
        message = self._refused.get(str(cell))
        if message is None:
            try:
                return self.task.read_gold(cell)
            except ValueError as error:
                message = self._refused[str(cell)] = _without_long_values(str(error))
        self.answers.setdefault(message, []).append(line)
        return None

    def _texts(self, row: Row, path: Path) -> tuple[str, ...] | None:
        found: list[str] = []
        for column in self.task.text_columns():
            try:
                found.append(get_text(row, column, path))
            except DataError as error:
                self.texts.setdefault((column, str(error).split(": ", 1)[-1]), []).append(row.line)
                continue
            if holds_half_character(found[-1]):
                problem = "the text holds half a character (a lone surrogate); write the file anew from its source"
                self.texts.setdefault((column, problem), []).append(row.line)
                found.pop()
        return tuple(found) if len(found) == len(self.task.text_columns()) else None

    def findings(self, part: Part) -> Iterator[Finding]:
        for column, lines in self.absent.items():
            where = part.file if len(lines) == self.lines else part.at(lines)
            yield Finding("fault", part.place, f"{where}: has no column {column!r}{self._describe_columns(column)}")
        for (column, message), lines in self.texts.items():
            yield Finding("fault", part.place, f"{part.at(lines)}, column {column!r}: {message} ({len(lines):,} rows)")
        yield from self._wrong_answers(part)
        column = self.task.gold_column()
        if not self.rows and not (self.absent or self.texts or self.answers):
            problem = f"holds no row with an answer in column {column!r}" if self.lines else "holds no rows"
            yield Finding("fault", part.place, f"{part.file}: {problem}")
        elif self.blank:
            passed = f"{_share(len(self.blank), self.lines)} rows have no answer and are passed over"
            yield Finding("note", part.place, f"{part.at(self.blank)}, column {column!r}: {passed}")
        if self.padded:
            dropped = f"{len(self.padded):,} answers have blanks at their ends, which are ignored"
            yield Finding("note", part.place, f"{part.at(self.padded)}, column {column!r}: {dropped}")

    def _describe_columns(self, column: str) -> str:
        if any(len(name) > _LONGEST for name in self.columns):
            return "; the first line does not look like a header: write one"
        return f"; its columns are: {', '.join(self.columns)}{nearest(column, self.columns)}"

    def _wrong_answers(self, part: Part) -> Iterator[Finding]:
        column = self.task.gold_column()
        if self.hopeless or column in self.task.text_columns():
            lines = [line for some in self.answers.values() for line in some]
            if lines:
                problem = f"{len(self._refused):,} different answers or more cannot be used; is this the right column?"
                yield Finding("fault", part.place, f"{part.at(lines)}, column {column!r}: {problem}")
            return
        ordered = sorted(self.answers.items(), key=lambda one: -len(one[1]))
        for message, lines in ordered[:_SHOWN]:
            yield Finding("fault", part.place, f"{part.at(lines)}, column {column!r}: {message} ({len(lines):,} rows)")
        rest = [line for _, lines in ordered[_SHOWN:] for line in lines]
        if rest:
            problem = f"… and {len(ordered) - _SHOWN} more kinds of wrong answer ({len(rest):,} rows)"
            yield Finding("fault", part.place, f"{part.at(rest)}, column {column!r}: {problem}")


def _without_long_values(message: str) -> str:
    """The message, quoted values and column lists left out where they may be somebody's text."""
    short = re.sub(r"(the header has \d+): .*; ", r"\1; ", message, flags=re.DOTALL)
    quoted = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
    return re.sub(quoted, lambda m: m[0] if len(m[0]) <= _LONGEST + 2 else f"(of {len(m[0]) - 2} characters)", short)


def _read_part(task: Task, place: str, file: str, base: Path) -> tuple[Part, list[Finding]]:
    """The usable rows of a file, and everything that is wrong with the others."""
    path, reading = base / file, _Reading(task)
    broken: list[Finding] = []
    try:
        for row in read_rows(path):
            reading.take(row, path)
            if reading.hopeless:
                break
    except DataError as error:
        where = f"{path}, line {error.line}" if error.line else str(path)
        message = _without_long_values(str(error).removeprefix(f"{where}: "))
        unread = "; what follows was not checked" if reading.lines else ""
        broken.append(Finding("fault", place, f"{where}: {message}{unread}"))
    part = Part(place, file, reading.rows, complete=not (broken or reading.hopeless or reading.absent))
    return part, broken if broken and not reading.lines else [*broken, *reading.findings(part)]


def _read_files(name: str, task: Task, base: Path) -> tuple[dict[str, Part], list[Finding]]:
    """The parts that files give, by split."""
    parts: dict[str, Part] = {}
    findings: list[Finding] = []
    if task.train is None:
        findings.append(Finding("fault", f"tasks.{name}.train", "is required to train this task; name a file"))
    if task.gold_column() in task.text_columns():
        problem = f"column {task.gold_column()!r} is both a text and the answer"
        findings.append(Finding("warning", f"tasks.{name}", problem))
    for split, file in (("train", task.train), ("dev", task.dev), ("test", task.test)):
        if isinstance(file, str):
            parts[split], found = _read_part(task, f"tasks.{name}.{split}", file, base)
            findings += found
    return parts, findings


def _divide(name: str, task: Task, files: Mapping[str, Part], seed: int) -> dict[str, Part]:
    """The parts as training will see them: dev rows set aside and training rows cut as `load_splits` does."""
    parts = dict(files)
    train = parts.get("train")
    if train is not None:
        rows = train.rows
        if not isinstance(task.dev, str):
            keys = [normalise(" ".join(row.texts)) for row in rows]
            kept, aside = split_off(keys, [stratum(row) for row in rows], task.dev, seed)
            dev = replace(train, place=f"tasks.{name}.dev", rows=[rows[i] for i in aside])
            parts, rows = {"train": train, "dev": dev, **parts}, [rows[i] for i in kept]
        parts["train"] = replace(train, rows=reduce_rows(rows, task, seed) if rows else [])
    return parts


# Rows


def _duplicates(part: Part, texts: _Normalised) -> Iterator[Finding]:
    """Rows that say the same twice, and rows that contradict each other."""
    groups: dict[tuple[str, ...], list[Example]] = {}
    for row in part.rows:
        groups.setdefault(texts.key(row), []).append(row)
    scores = [row.gold for row in part.rows if isinstance(row.gold, float)]
    slack = (max(scores) - min(scores)) / 10 if scores else 0.0
    several = [rows for rows in groups.values() if len(rows) > 1]
    agreeing = [rows for rows in several if _agree([row.gold for row in rows], slack)]
    repeated = [row.line for rows in agreeing for row in rows[1:]]
    if repeated:
        said = f"{_share(len(repeated), len(part.rows))} rows repeat an earlier row with the same answer"
        yield Finding("warning", part.place, f"{part.at(repeated)}: {said}")
    opposed = [rows for rows in several if not _agree([row.gold for row in rows], slack)]
    if opposed:
        lines = [row.line for rows in opposed for row in rows]
        said = f"{len(opposed):,} texts occur with contradictory answers ({len(lines):,} rows)"
        yield Finding("warning", part.place, f"{part.at(lines)}: {said}")


def _agree(golds: Sequence[Gold], slack: float = 0.0) -> bool:
    """Whether answers to the same text are the same; scores may differ by `slack`."""
    scores = [gold for gold in golds if isinstance(gold, float)]
    if scores:
        return max(scores) - min(scores) <= slack
    return len({frozenset(gold) if isinstance(gold, tuple) else gold for gold in golds}) < 2


def _leaks(parts: Mapping[str, Part], texts: _Normalised) -> Iterator[Finding]:
    """Rows to measure on that the same task trains on, and rows to report on that it is chosen by."""
    for seen, asked in (("train", "dev"), ("train", "test"), ("dev", "test")):
        if seen not in parts or asked not in parts:
            continue
        known = {texts.key(row): row for row in reversed(parts[seen].rows)}
        exchanged = {key[::-1] for key in known}
        part = parts[asked]
        hits = [(row, known[key]) for row in part.rows if (key := texts.key(row)) in known]
        if hits:
            other = sum(not _agree([row.gold, first.gold]) for row, first in hits)
            said = f"{_share(len(hits), len(part.rows))} {asked} rows are also {seen} rows"
            there = f"{parts[seen].at(first.line for _, first in hits)}; {other:,} with another answer"
            severity: Severity = "warning" if seen == "train" else "note"
            yield Finding(severity, part.place, f"{part.at(row.line for row, _ in hits)}: {said} ({there})")
        turned = [row.line for row in part.rows if (key := texts.key(row)) in exchanged and key not in known]
        if turned:
            said = f"{_share(len(turned), len(part.rows))} {asked} rows are {seen} rows with the two texts exchanged"
            yield Finding("note", part.place, f"{part.at(turned)}: {said}")


def _leaks_across(parts: Mapping[str, Mapping[str, Part]], texts: _Normalised) -> Iterator[Finding]:
    """Rows to measure on that another task trains the shared encoder on."""
    for teacher, given in parts.items():
        rows = given["train"].rows if "train" in given else []
        whole = {texts.key(row) for row in rows}
        single = {text for key in whole for text in key}
        for name, split in ((n, s) for n in parts if n != teacher for s in ("dev", "test") if s in parts[n]):
            part = parts[name][split]
            keys = [(row.line, texts.key(row)) for row in part.rows]
            same = [line for line, key in keys if key in whole]
            if same:
                said = f"{_share(len(same), len(keys))} {split} rows are training rows of the task {teacher!r}"
                advice = "the encoder is shared, so results on them may look too good"
                yield Finding("warning", part.place, f"{part.at(same)}: {said}; {advice}")
            partly = [line for line, key in keys if key not in whole and not single.isdisjoint(key)]
            if partly and rows and len(rows[0].texts) != len(part.rows[0].texts):
                said = f"{_share(len(partly), len(keys))} {split} rows have a text that is in a training row of"
                yield Finding("note", part.place, f"{part.at(partly)}: {said} the task {teacher!r}")


def _lengths(
    name: str, task: Task, parts: Mapping[str, Part], tokenizer: Tokenizer | None, max_length: int | None
) -> Iterator[Finding]:
    """Texts that will be cut, and limits that are none."""
    if task.max_length is not None and max_length is not None and task.max_length > max_length:
        said = f"{task.max_length} is more than the encoder takes, so {max_length} holds"
        yield Finding("warning", f"tasks.{name}.max_length", said)
    limit = min(task.max_length or 10**9, max_length or 10**9)
    if tokenizer is None or limit == 10**9:
        return
    for part in parts.values():
        try:
            cut = [row.line for row in part.rows if (dropped := _dropped(task, part, tokenizer, limit))[row.line]]
        except ConfigError as error:
            yield Finding("fault", f"tasks.{name}.max_length", str(error))
            return
        if cut:
            severity: Severity = "warning" if len(cut) > CUT * len(part.rows) else "note"
            said = f"{_share(len(cut), len(part.rows))} rows are over the limit of {limit} tokens and will be cut"
            yield Finding(severity, part.place, f"{part.at(cut)}: {said} ({task.truncation!r} stays)")
