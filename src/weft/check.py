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
_WRONG = 20  # different wrong answers after which they are taken for another column, neither read on nor named
_CHUNK = 2048  # rows tokenized at once
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
        found += [*_labels(name, task, parts[name]), *_leaks(parts[name], texts), *_sizes(parts[name])]
        found += _batches(name, task, parts[name].get("train"), experiment.training.batch_size)
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
    return f"(a label of {len(label)} characters)" if _may_be_text(label) else repr(label)


def _may_be_text(value: str) -> bool:
    """Whether a value is too long to be shown; a single plain word, such as a_label_of_many_words, may be longer."""
    return len(value) > _LONGEST * (2 if re.fullmatch(r"[\w.?:/-]+", value, re.ASCII) else 1)


def has_labels(task: Task, rows: Sequence[Example]) -> bool:
    """Whether the answers look like labels, rather than like texts of which almost every row has its own."""
    kinds = len(set(labels_of(rows)))
    return task.gold_column() not in task.text_columns() and 0 < kinds <= max(20, len(rows) // 2)


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" … and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def _share(count: int, total: int) -> str:
    percent = 100 * count / max(total, 1)
    return f"{count:,} of {total:,} ({f'{percent:.1f}' if percent >= 0.1 else 'under 0.1'} %)"


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
                problem = str(error).removeprefix(f"{path}, line {row.line}, column {column!r}: ")
                self.texts.setdefault((column, problem), []).append(row.line)
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
        if any(map(_may_be_text, self.columns)):
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
    return re.sub(quoted, lambda m: f"(of {len(m[0]) - 2} characters)" if _may_be_text(m[0][1:-1]) else m[0], short)


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
    part = Part(
        place, file, reading.rows, complete=bool(reading.rows) and not (broken or reading.hopeless or reading.absent)
    )
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
    several = [rows for rows in groups.values() if len(rows) > 1]
    opposed = [rows for rows in several if not _agree(row.gold for row in rows)]
    repeated = [row.line for rows in several if _agree(row.gold for row in rows) for row in rows[1:]]
    if repeated:
        said = f"{_share(len(repeated), len(part.rows))} rows repeat an earlier row with the same answer"
        yield Finding("warning", part.place, f"{part.at(repeated)}: {said}")
    if opposed:
        lines = [row.line for rows in opposed for row in rows]
        said = f"{len(opposed):,} texts occur with contradictory (different) answers ({len(lines):,} rows)"
        yield Finding("warning", part.place, f"{part.at(lines)}: {said}")


def _agree(golds: Iterable[Gold]) -> bool:
    """Whether all answers are the same; several labels may come in any order."""
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
            there = parts[seen].at(first.line for _, first in hits) + (
                f"; {other:,} with another answer" if other else ""
            )
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
            cut = [row.line for row, dropped in _dropped(task, part.rows, tokenizer, limit) if dropped]
        except ConfigError as error:
            yield Finding("fault", f"tasks.{name}.max_length", str(error))
            return
        if cut:
            severity: Severity = "warning" if len(cut) > CUT * len(part.rows) else "note"
            said = f"{_share(len(cut), len(part.rows))} rows are over the limit of {limit} tokens and will be cut"
            yield Finding(severity, part.place, f"{part.at(cut)}: {said} ({task.truncation!r} stays)")


def _dropped(task: Task, rows: Sequence[Example], tokenizer: Tokenizer, limit: int) -> Iterator[tuple[Example, int]]:
    """Every row with the tokens that do not fit."""
    for start in range(0, len(rows), _CHUNK):
        some = rows[start : start + _CHUNK]
        encoded = task.encode([row.texts for row in some], tokenizer, limit)
        yield from ((row, sum(one.dropped for one in tokens)) for row, tokens in zip(some, encoded, strict=True))


# Answers


def _labels(name: str, task: Task, parts: Mapping[str, Part]) -> Iterator[Finding]:
    """Labels that dominate, are rare, cannot be learned or measured, or were never seen in training."""
    train = parts.get("train")
    if train is None or not train.complete or not any(True for _ in labels_of(train.rows)):
        return
    if not has_labels(task, train.rows):
        said = f"{len(set(labels_of(train.rows))):,} different answers in {len(train.rows):,} training rows"
        advice = f"is {task.gold_column()!r} the right column? Its labels were not checked further"
        yield Finding("warning", f"tasks.{name}", f"{said}; {advice}")
        return
    counts = Counter(labels_of(train.rows))
    yield from _balance(train, counts)
    for label in getattr(task, "labels", None) or ():
        if label not in counts:
            yield Finding("warning", f"tasks.{name}.labels", f"{name_label(label)} has no training row")
    yield from _scarce(train, counts, counts, LEARNABLE, "to learn")
    for split in ("dev", "test"):
        if split in parts and parts[split].rows and parts[split].complete:
            yield from _scarce(parts[split], counts, Counter(labels_of(parts[split].rows)), MEASURABLE, "to measure")
        if split in parts:
            yield from _strange(parts[split], counts)


def _balance(part: Part, counts: Counter[str]) -> Iterator[Finding]:
    rows = len(part.rows)
    rare = min(RARE, 0.25 / len(counts))  # with many labels, each has a small share by rights
    common = [name for name in counts if counts[name] > COMMON * rows] if len(counts) > 1 else []
    seldom = [name for name in counts if counts[name] < rare * rows]
    for names, said in ((common, f"over {COMMON:.0%} of the rows"), (seldom, f"under {100 * rare:.2g} % of the rows")):
        if names:
            listed = _few(f"{name_label(name)} {100 * counts[name] / rows:.1f} %" for name in sorted(names))
            yield Finding("warning", part.place, f"{part.file}: unbalanced, {said} have: {listed}")


def _scarce(part: Part, labels: Iterable[str], counts: Counter[str], least: int, purpose: str) -> Iterator[Finding]:
    few = sorted((label for label in labels if counts[label] < least), key=lambda label: (counts[label], label))
    if few:
        listed = _few(f"{name_label(label)} ({counts[label]})" for label in few)
        yield Finding(
            "warning", part.place, f"{part.file}: labels with too few rows {purpose} (under {least}): {listed}"
        )


def _strange(part: Part, known: Counter[str]) -> Iterator[Finding]:
    lines: dict[str, list[int]] = {}
    for row in part.rows:
        for label in labels_of([row]):
            if label not in known:
                lines.setdefault(label, []).append(row.line)
    if len(lines) > _WRONG:
        where = part.at(line for some in lines.values() for line in some)
        said = f"{len(lines):,} different labels never occur in training; is this the right column?"
        yield Finding("fault", part.place, f"{where}: {said}")
        return
    for label in sorted(lines)[:_SHOWN]:
        said = f"label {name_label(label)} never occurs in training{_without_long_values(nearest(label, known))}"
        yield Finding("fault", part.place, f"{part.at(lines[label])}: {said} ({len(lines[label]):,} rows)")
    rest = sorted(lines)[_SHOWN:]
    if rest:
        where = part.at(line for label in rest for line in lines[label])
        yield Finding("fault", part.place, f"{where}: … and {len(rest):,} more labels that never occur in training")


def _look_alikes(task: Task, part: Part) -> Iterator[Finding]:
    """Labels of one file that differ only in writing, and rare ones that look like another with a slip."""
    if not has_labels(task, part.rows):
        return
    counts = Counter(labels_of(part.rows))
    first: dict[str, int] = {}
    for row in part.rows:
        for label in labels_of([row]):
            first.setdefault(label, row.line)
    written: dict[str, list[str]] = {}
    for label in counts:
        written.setdefault(_plain(label), []).append(label)
    pairs = [pair for same in written.values() for pair in combinations(same, 2)]
    for rare in (label for label in counts if counts[label] < LEARNABLE):
        pairs += [(rare, other) for other in counts if counts[other] > 4 * counts[rare] and _slip(rare, other)]
    for pair in dict.fromkeys(tuple(sorted(pair, key=lambda label: (counts[label], label))) for pair in pairs):
        said = " and ".join(f"{name_label(label)} ({counts[label]:,} rows)" for label in pair)
        where = f"{part.file}, line {first[pair[0]]}"
        yield Finding("warning", part.place, f"{where}: labels that look alike: {said}; are they the same?")


def _plain(label: str) -> str:
    """The label without the differences that writing makes: case, blanks, hyphens, and 1 beside 1.0."""
    try:
        return str(float(label))
    except ValueError:
        plain = unicodedata.normalize("NFKC", label).casefold()
        return " ".join(re.sub(r"(?<=\w)[-_](?=\w)", " ", plain).split())


def _slip(one: str, other: str) -> bool:
    """Whether two words are a single letter added, lost, changed or exchanged with its neighbour apart."""
    a, b = sorted((_plain(one), _plain(other)), key=len)
    if a == b or len(b) - len(a) > 1 or len(a) < 4:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    changed = {*a[start : start + 1], *b[start : start + 1]}
    if any(character.isdigit() for character in changed):  # level1 and level2 are meant to differ
        return False
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    turned = a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
    return turned or a[start + 1 :] == b[start + 1 :]


def _sizes(parts: Mapping[str, Part]) -> Iterator[Finding]:
    """Splits without rows, with a single answer, or with scores that cannot be learned, measured or reached."""
    for split, part in parts.items():
        scores = [row.gold for row in part.rows if isinstance(row.gold, float)]
        if not part.complete:
            continue
        if not part.rows:
            yield Finding("fault", part.place, f"{part.file}: there are no {split} rows")
        elif _agree([row.gold for row in part.rows]):
            said = f"all {len(part.rows):,} rows have the same answer, so there is nothing to "
            yield (
                Finding("fault", part.place, f"{part.file}: {said}learn; check the column of the answer")
                if split == "train"
                else Finding("warning", part.place, f"{part.file}: {said}measure")
            )
        least, purpose = (LEARNABLE, "learn from") if split == "train" else (MEASURABLE, "measure on")
        if 0 < len(scores) < least:
            yield Finding("warning", part.place, f"{part.file}: {len(scores)} rows are too few to {purpose}")


def _batches(name: str, task: Task, train: Part | None, size: int | None) -> Iterator[Finding]:
    """A batch too large for the rows, or too small for the loss."""
    if size is None:
        return
    if train is not None and train.complete and 0 < len(train.rows) < size:
        said = f"{size} is more than the {len(train.rows):,} training rows of the task {name!r}: one step per epoch"
        yield Finding("warning", "training.batch_size", said)
    if isinstance(loss_of(task), Pearson) and size < SMALL_BATCH:
        said = f"{size} rows are too few for the 'pearson' loss of the task {name!r}; give it 16 or more"
        yield Finding("warning", "training.batch_size", said)


def _answers(name: str, task: Task, train: Part | None, targets: dict[str, Target]) -> Iterator[Finding]:
    """Losses and metrics that do not suit the answers; adds the target to `targets` where the rows tell it."""
    golds = [row.gold for row in train.rows] if train is not None else []
    try:
        target = task.learn(golds or _sample_golds(task))
        check_losses({name: task}, {name: target})
    except ConfigError as error:
        for fault in error.faults:
            place, _, message = fault.partition(": ")
            yield Finding("fault", place, message)
    else:
        if not golds:
            return
        try:
            target.outputs(loss_of(task))
            target.build_loss(loss_of(task))
            targets[name] = target
        except ConfigError as error:
            yield Finding("fault", f"tasks.{name}.loss", str(error))
    if isinstance(task.loss, Ordinal) and not getattr(task, "labels", None) and _are_words(golds):
        said = "the loss 'ordinal' needs the labels in order; without it they are taken by the alphabet"
        yield Finding("warning", f"tasks.{name}.labels", said)


def _sample_golds(task: Task) -> list[Gold]:
    """An answer of the right type for a task whose rows cannot be read."""
    for cell in (*(getattr(task, "labels", None) or ()), *(getattr(task, "scale", None) or ()), "1"):
        gold = task.read_gold(cell)
        if gold is not None:
            return [gold]
    return []


def _are_words(golds: Iterable[Gold]) -> bool:
    return any(isinstance(gold, str) and not re.fullmatch(r"[-+]?\d+(\.\d+)?", gold) for gold in golds)


# Settings


def _shared_heads(tasks: Mapping[str, Task], targets: Mapping[str, Target]) -> Iterator[Finding]:
    """Heads that tasks share by name but that are not the same."""
    first: dict[str, str] = {}
    for name, task in tasks.items():
        if task.head.share is None:
            continue
        other = first.setdefault(task.head.share, name)
        differences = []
        if task.head != tasks[other].head:
            differences.append("their options differ")
        if task.inputs(_WIDTH) != tasks[other].inputs(_WIDTH):
            differences.append("they read different numbers of vectors; compare `encode` and `features`")
        if name in targets and other in targets:
            sizes = [targets[one].outputs(loss_of(tasks[one])) for one in (name, other)]
            if sizes[0] != sizes[1]:
                differences.append(f"this one has {sizes[0]} outputs and that one {sizes[1]}")
        if differences:
            said = f"shares the head {task.head.share!r} with the task {other!r}, but {'; '.join(differences)}"
            yield Finding("fault", f"tasks.{name}.head", said)


def _settings(experiment: Experiment) -> Iterator[Finding]:
    """Settings that look wrong whatever the data."""
    rates = [("training", experiment.training.learning_rate, experiment.encoder.train_layers)]
    for number, phase in enumerate(experiment.phases):
        if phase.learning_rate is not None or phase.train_layers is not None:
            layers = experiment.encoder.train_layers if phase.train_layers is None else phase.train_layers
            rates.append((f"phases.{number}", phase.learning_rate or experiment.training.learning_rate, layers))
    for place, rate, layers in rates:
        if rate > HIGH_RATE and layers != 0:
            said = f"{rate:g} will ruin the encoder; 1e-5 to 1e-4 suit it (`head_learning_rate` may be higher)"
            yield Finding("warning", f"{place}.learning_rate", said)
    trained = {name for phase in experiment.phases for name in phase.tasks or experiment.tasks}
    for name in experiment.tasks:
        if experiment.phases and name not in trained:
            yield Finding("warning", f"tasks.{name}", "no phase trains this task")
