"""What a row of answers looks like where it is written: nested, as plain columns, a row per span, or words with tags.

A form is asked about one row at a time and gives the rows to write. The input's own columns come first; one that is
called as an answer is kept as `input.NAME`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.data.bio import OUTSIDE
from weft.data.columns import under_one_name
from weft.data.flat import flat_row
from weft.data.formats import Row
from weft.data.predictions import Prediction
from weft.data.records import Input
from weft.data.redact import shown_columns
from weft.errors import ConfigError, DataError
from weft.model.answers import Answer
from weft.model.network import Network

SPAN_COLUMNS = ("start", "end", "text", "label", "score")


@dataclass(frozen=True)
class AnswerForm(ABC):
    """The root of all forms; `renamed` are the columns of the input that had to make way, once rows went by."""

    renamed: dict[str, None] = field(default_factory=dict, init=False)

    @abstractmethod
    def rows(self, row: Row, asked: Mapping[str, Input], answer: Answer) -> Iterator[dict[str, Any]]:
        """What is written about a row of the input."""

    def beside(self, row: Row, answers: Mapping[str, Any]) -> dict[str, Any]:
        """The row's own columns, then its answers."""
        columns = under_one_name(row.columns)
        self.renamed.update(dict.fromkeys(name for name in columns if name in answers))
        own = {f"input.{name}" if name in answers else name: cell for name, cell in columns.items()}
        return {**own, **answers}

    def header(self) -> Collection[str]:
        """After the last row: the columns of a table in which no row is written; empty where each row writes one."""
        return ()

    def missing(self) -> list[str]:
        """After the last row: the columns that were asked for and that no row had."""
        return []

    def finish(self) -> None:
        """Raise, after the last row, for what could not be known before."""
        if missing := self.missing():
            raise ConfigError(f"there is no column {', '.join(map(repr, missing))} to write: no row has it")

    def notes(self) -> list[str]:
        """A sentence about each column that is called otherwise now."""
        return [_renamed_note(name) for name in self.renamed]


@dataclass(frozen=True)
class NestedForm(AnswerForm):
    """`{"urgency": {"label": …, "score": …}}`; `scores` and `top` are keys beside these."""

    scores: bool = False
    top: int = 1

    def rows(self, row: Row, asked: Mapping[str, Input], answer: Answer) -> Iterator[dict[str, Any]]:
        answers = {name: self._plain(prediction) for name, prediction in answer.predictions.items()}
        yield self.beside(row, with_flags(answers, answer))

    def _plain(self, prediction: Prediction) -> Any:
        plain = prediction.to_dict(self.scores)
        best = prediction.likeliest(self.top) if self.top > 1 else ()
        return {**plain, "top": [{"label": label, "score": p} for label, p in best]} if best else plain


@dataclass(frozen=True)
class FlatForm(AnswerForm):
    """A column for everything; see `flat_row`. In files of text, `short`, numbers have six digits."""

    scores: bool = False
    top: int = 1
    short: bool = field(default=False, kw_only=True)

    def rows(self, row: Row, asked: Mapping[str, Input], answer: Answer) -> Iterator[dict[str, Any]]:
        yield self.beside(row, with_flags(self.flat(answer.predictions), answer))

    def flat(self, predictions: Mapping[str, Prediction]) -> dict[str, Any]:
        """The answers as plain cells."""
        cells = flat_row(predictions, self.scores, self.top)
        return {name: shortened(cell) for name, cell in cells.items()} if self.short else cells


@dataclass(frozen=True)
class LongForm(FlatForm):
    """A row for every span, with what else is answered about its text; none for a text without spans.

    Attributes:
        tasks: those whose answers are spans. Where they are several, the column `task` says whose a span is.
    """

    tasks: tuple[str, ...] = ()
    seen: dict[str, None] = field(default_factory=dict, init=False)  # the columns of the first text

    def header(self) -> Collection[str]:
        return self.seen

    def rows(self, row: Row, asked: Mapping[str, Input], answer: Answer) -> Iterator[dict[str, Any]]:
        others = {name: found for name, found in answer.predictions.items() if name not in self.tasks}
        plain = with_flags(self.flat(others), answer)
        if not self.seen:
            blank = dict.fromkeys((*(("task",) if len(self.tasks) > 1 else ()), *SPAN_COLUMNS))
            self.seen.update(dict.fromkeys(self.beside(row, {**plain, **blank})))
        for name in self.tasks:
            whose = {"task": name} if len(self.tasks) > 1 else {}
            for span in answer.predictions[name].spans or ():
                cells = {**whose, **{column: getattr(span, column) for column in SPAN_COLUMNS}}
                cells = {column: shortened(cell) if self.short else cell for column, cell in cells.items()}
                if taken := plain.keys() & cells.keys():
                    raise ConfigError(f"the task {min(taken)!r} is called as a column of --long; leave it out (--task)")
                yield self.beside(row, {**plain, **cells})


@dataclass(frozen=True)
class ConllForm(AnswerForm):
    """The words of a text and for each task their tags, whose columns are called as the tasks are.

    Words are those of the data, or where it has none those that the task itself reads.
    """

    network: Network = field(kw_only=True)
    tasks: tuple[str, ...] = field(kw_only=True)

    def rows(self, row: Row, asked: Mapping[str, Input], answer: Answer) -> Iterator[dict[str, Any]]:
        columns: dict[str, list[str]] = {}
        for name in self.tasks:
            words, tags = self._tagged(name, asked[name], answer.predictions[name], row.line)
            if columns.setdefault("tokens", words) != words:
                raise DataError("the tasks read other words of this row; write them one by one", line=row.line)
            columns[f"tags of {name}"] = tags
        yield columns

    def _tagged(self, task: str, asked: Input, prediction: Prediction, line: int) -> tuple[list[str], list[str]]:
        network, text = self.network, asked.texts[0]
        (tokenized,) = network.tasks[task].encode([asked], network.tokenizer, network.max_length(task))
        read = tuple(zip(tokenized.words.char_starts, tokenized.words.char_ends, strict=True))
        try:
            tags = network.targets[task].target.tags(prediction.gold, Input(asked.texts, words=read))
        except ValueError:
            problem = f"the task {task!r} marks spans that overlap, which tags cannot say; write .jsonl, or use --long"
            raise DataError(problem, line=line) from None
        words = asked.words or read
        tag_at = {start: tag for (start, _), tag in zip(read, tags, strict=True)}
        return [text[start:end] for start, end in words], [tag_at.get(start, OUTSIDE) for start, _ in words]


@dataclass(frozen=True)
class ChosenColumns(AnswerForm):
    """The columns that are asked for, in that order, of what another form writes; blank where a row has none.

    A name that a table does not have is refused at its first row; objects may leave keys out, so of these all rows are
    looked at first.
    """

    inner: AnswerForm
    columns: tuple[str, ...]
    seen: set[str] = field(default_factory=set, init=False)

    def rows(self, row: Row, asked: Mapping[str, Input], answer: Answer) -> Iterator[dict[str, Any]]:
        for written in self.inner.rows(row, asked, answer):
            missing = [name for name in self.columns if name not in written]
            if missing and not row.optional:
                ours = [name for name in written if name not in row.columns]
                known = shown_columns(written, (*ours, *self.columns), row.naming)
                raise ConfigError(f"there is no column {', '.join(map(repr, missing))} to write; {known}")
            self.seen.update(written)
            yield {name: written.get(name) for name in self.columns}

    def header(self) -> Collection[str]:
        return self.columns

    def missing(self) -> list[str]:
        seen = self.seen or set(self.inner.header())
        return [name for name in self.columns if seen and name not in seen]

    def notes(self) -> list[str]:
        """A sentence about each such column, where it or the answer in its place is asked for."""
        return [_renamed_note(name) for name in self.inner.renamed if {name, f"input.{name}"} & {*self.columns}]


def _renamed_note(name: str) -> str:
    return f"the column {name!r} is kept as 'input.{name}', since an answer is called so"


def shortened(cell: Any) -> Any:
    """A fraction with six decimals, or six digits where it is below 1; anything else as it is."""
    if not isinstance(cell, float):
        return cell
    return round(cell, 6) if abs(cell) >= 1 else float(f"{cell:.6g}")


def with_flags(answers: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The answers, and beside them the flags of the row; an answer that is called as a flag goes before it."""
    return {**answers, **{name: flag for name, flag in answer.flags().items() if name not in answers}}


def span_tasks(network: Network, answered: Collection[str], wanted_by: str) -> tuple[str, ...]:
    """The tasks that mark words or spans; raises where there is none for whoever wants one."""
    found = tuple(name for name in answered if network.targets[name].target.marks_text)
    if not found:
        names = ", ".join(answered)
        raise ConfigError(f"{wanted_by} needs a task that marks words or spans, but the answered ones are: {names}")
    return found
