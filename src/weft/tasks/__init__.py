"""Tasks: what is read of each row, what it is answered with, and through which head; one kind per file."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator
from torch import nn

from weft.corpus.loading import CorpusFormat, CorpusLoader, CorpusSource
from weft.data.cells import get_cell, get_text, is_blank
from weft.data.dataset import Dataset, Splits
from weft.data.formats import Row
from weft.data.label_words import label_words
from weft.data.records import Example, Input
from weft.encoder.encoder import Encoder
from weft.errors import ConfigError, DataError
from weft.heads import Head
from weft.heads.linear import Linear
from weft.layers.features import Features
from weft.losses import Loss
from weft.pooling import Pooler
from weft.pooling.mean import Mean
from weft.targets import Target
from weft.tasks.base.files import DEV_SHARE, TaskFiles
from weft.tensors import Batch, Indices
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import TokenizedRow, Tokenizer, Truncation
from weft.tokenization.windows import Window

_SAME: dict[str, tuple[Any, ...]] = {"pooling": (Mean(),)}  # model folders store it for every task


PLENTY, PLENTY_PER_LABEL = 400, 40  # rows: so many can spare a share to choose by


class Task(TaskFiles, root=True):
    """The root of all task kinds: what is read of a row, and how it trains beside the others.

    A kind says which columns it reads, what is asked for (`target`), how texts become token rows (`encode`), and what a
    head reads of them (`build_features`).
    """

    text_count: ClassVar[int] = 1  # texts of a row
    unstored: ClassVar[Mapping[str, Any]] = {}  # options that came later, as they are for models stored before
    gives_spans: ClassVar[bool] = False  # whether its predictions hold spans that another task can ask about
    common_head: ClassVar[str | None] = None  # a head that all tasks of a kind have together
    answer_option: ClassVar[str] = "label"  # names the column of the answer

    weight: Annotated[float, Field(gt=0)] = 1.0
    """Weight of this task's loss."""
    consistency: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """How much it counts that two passes over the same rows, between which only dropout differs, say different things
    (R-Drop, Liang et al. 2021); 1 is a good first try. Its steps take twice the time, and its rows can be learned from
    for longer before they are learned by heart; 0 for one pass."""
    metric: str | None = None
    """The metric to choose by; each kind has its own default."""
    max_length: Annotated[int, Field(ge=3)] | None = None
    """Tokens per row; as many as the encoder takes by default."""
    truncation: Truncation = "head"
    """Which part of a text that is too long stays."""
    head: Head = Linear()
    """What turns the features of a row, word or span into scores."""
    pooling: Pooler | None = None
    """The mean of the tokens if unset, or the first token where a conditioning method feeds that."""
    loss: Loss | None = None
    """The kind's own default where unset."""

    @model_validator(mode="after")
    def _refuse_idle_options(self) -> Self:
        for name, remedy in self.idle_options().items():
            if getattr(self, name) not in (type(self).model_fields[name].get_default(), *_SAME.get(name, ())):
                raise ValueError(f"{name} does nothing here: {remedy}")
        return self

    def idle_options(self) -> dict[str, str]:
        """The options that do nothing for this kind as it is set, with why, and what to do instead."""
        if self.format is None:
            return {}
        whole = "raw text is reported on as a whole; name a shorter file"
        return {"encoding": "raw text is read as UTF-8; convert the file", "test_limit": whole}

    @abstractmethod
    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        """The columns of the text, or of the two texts, in a file with these columns."""

    @abstractmethod
    def gold_column(self, header: Collection[str] = ()) -> str:
        """The column of the answer, in a file with these columns."""

    @abstractmethod
    def target(self) -> Target:
        """What its rows are answered with."""

    def read(self, row: Row) -> Example | None:
        """The example in a row, None where its answer is blank; raises DataError with line and column."""
        column = self.gold_column(row.columns)
        cell, _ = self.respell(get_cell(row, column, self.text_columns(row.columns)))
        if is_blank(cell):
            return None
        input = self.read_input(row)
        try:
            return self.target().answer(cell, input, column, row.line)
        except ValueError as error:
            raise DataError(str(error), line=row.line, column=column) from None

    def respell(self, cell: Any) -> tuple[Any, list[str]]:
        """The cell of an answer with its labels as the options spell them, and the other spellings that it had."""
        return cell, []

    def other_spellings(self) -> Collection[str]:
        """The spellings that the options give another one for."""
        return ()

    def respelling(self, spellings: Mapping[str, str]) -> str:
        """The line of a config that adds such spellings to those it has; empty where this kind has no such option."""
        return ""

    def read_input(self, row: Row, *, blank: bool = False) -> Input:
        """What it reads of a row, in which a text may be `blank`; raises DataError with line and column."""
        return Input(tuple(get_text(row, column, blank=blank) for column in self.text_columns(row.columns)))

    def share_to_hold_out(self, train: Sequence[Example]) -> float | None:
        """The share of these training rows to choose by; None where dev rows are given, or where all are needed."""
        if self.dev is not None:
            return self.dev_share or None
        target, kept = self.target(), self.keep(len(train))
        counts = Counter(label for row in train for label in target.labels_in(row.gold)) if target.labels_rows else {}
        of_label = median(counts.values()) * kept / len(train) if counts else math.inf
        return DEV_SHARE if kept >= PLENTY and of_label >= PLENTY_PER_LABEL else None

    def input_key(self, header: Collection[str]) -> Hashable:
        """Equal for tasks that read the same of every row of a file with these columns."""
        return self.text_columns(header)

    def reading_key(self) -> Hashable:
        """Equal for tasks that read the same examples of every file: those that differ only in how they learn."""
        own = {name: value for name, value in self.to_dict().items() if name not in Task.model_fields}
        return json.dumps(own, sort_keys=True)

    def lacks(self, input: Input) -> str | None:
        """What a task needs beside a text and this input does not have; None where it can be answered."""
        return None

    @property
    def spans_source(self) -> str | None:
        """The task whose predictions stand for the spans it asks about, where an input comes without them."""
        return None

    @property
    def format(self) -> CorpusFormat | None:
        """How its rows are cut from raw text; None for kinds that read rows as they are written."""
        return None

    def check_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Raise where the tokenizer lacks what the kind needs."""

    def load(self, loader: CorpusLoader, base: Path, seed: int) -> Splits:
        """The rows of a kind with a `format`: to learn from, to choose by, and to report on."""
        self.check_tokenizer(loader.tokenizer)
        return loader.load(self.source(base), self._raw_format(), seed)

    def rows(self, loader: CorpusLoader, path: Path) -> Dataset:
        """All rows of a file, or of the files of a folder or pattern, to measure on, for a kind with a `format`."""
        self.check_tokenizer(loader.tokenizer)
        return loader.rows(path, self._raw_format())

    def source(self, base: Path) -> CorpusSource:
        """Where its raw text is."""
        if self.train is None:
            raise DataError("is required to train this task; name a file or a folder")
        paths = {split: base / files[0] for split, files in self.files().items()}
        return CorpusSource(
            paths["train"], paths.get("dev"), self.dev_share, paths.get("test"), self.fraction, self.limit
        )

    def _raw_format(self) -> CorpusFormat:
        if self.format is None:
            raise ConfigError(f"the kind {self.to_dict()['kind']!r} reads rows as they are written, and no raw text")
        return self.format

    @abstractmethod
    def encode(self, inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
        """Each example as rows of tokens."""

    def windows(self, whole: TokenizedRow, max_length: int) -> list[Window]:
        """The windows in which it reads a row that was tokenized without a limit, for kinds that read all of a text."""
        kind = self.to_dict()["kind"]
        raise ConfigError(f"the kind {kind!r} does not say where it cuts a long text; give a text that fits into a row")

    @abstractmethod
    def build_features(self, width: int) -> Features:
        """The module from States to what the head reads, (R, F): F numbers per answer."""

    @abstractmethod
    def feature_size(self, width: int) -> int:
        """How many numbers the head reads of an encoder of this width."""

    def indices(self, tokenized: Sequence[TokenizedExample], batch: Batch) -> Indices:
        """What features and loss need to know of the examples of a batch beside their tokens."""
        return Indices()

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        """How many answers an example gets: rows of scores."""
        return 1

    def build_head(self, inputs: int, outputs: int, encoder: Encoder) -> nn.Module:
        """The module from what is read to scores."""
        return self.head.build(inputs, outputs)

    @property
    def has_linear_head(self) -> bool:
        """Whether its head is a linear layer, and nothing else apart from dropout."""
        return self.head.linear

    def layers(self, depth: int) -> tuple[int, ...]:
        """The hidden states it needs beside the last."""
        return self.pooler.layers(depth)

    @property
    def pooler(self) -> Pooler:
        """How it reads a row of tokens."""
        return self.pooling or Mean()

    @property
    def siamese(self) -> bool:
        """Whether its two texts are token rows of their own, and nothing else."""
        return False

    @property
    def compares(self) -> bool:
        """Whether its head reads a comparison of two texts' vectors, and so not a vector alone."""
        return False

    @property
    def without_rows(self) -> bool:
        """Whether it learns from no row, and answers by the words of its labels alone.

        Asked of a task of a config; what a trained model knows of a task does not say where its rows came from.
        """
        return False

    @property
    def rows_remedy(self) -> str:
        """What to do where it has neither training rows nor a way to do without them."""
        return "name a file"

    def label_text(self, label: str) -> str:
        """What is read of a label: the words in its name, where a kind knows no more of it."""
        return label_words(label) or label

    def label_texts(self) -> dict[str, str]:
        """What is read of each label, for kinds that can do without rows; raises ConfigError where that cannot be."""
        return {}

    def settled(self, rows: int) -> Self:
        """The task with every choice made that it leaves to how many rows it learns from."""
        return self

    def with_texts(self, columns: Sequence[str]) -> Self:
        """The task with its text, or its two texts, in these columns: as many as `text_columns` has."""
        return self._with_option("text", columns[0] if len(columns) == 1 else tuple(columns))

    def with_answer(self, column: str, cell: Any) -> Self:
        """The task with its answers in this column, one of which is `cell`."""
        return self._with_option(self.answer_option, column)

    def _with_option(self, option: str, value: Any) -> Self:
        if option not in type(self).model_fields:
            raise ConfigError(
                f"the kind {self.to_dict()['kind']!r} has no option {option!r} that another could stand for"
            )
        return self.model_copy(update={option: value})

    def without_files(self) -> Self:
        """The task as a trained model needs it."""
        return self.model_copy(update=TaskFiles().model_dump())

    def model_options(self) -> dict[str, Any]:
        """Plain data from which `without_files` can be built: every option but where rows come from."""
        return {name: value for name, value in self.to_dict().items() if name not in TaskFiles.model_fields}

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        """Options that change what it reads or answers, {} the defaults, for the tests that every kind must pass."""
        return [{}]

    def example_inputs(self, sentences: Sequence[Sequence[str]]) -> list[Input]:
        """Inputs of these words, as many as `text_count` leaves, each with all that it needs to be answered."""
        texts = [" ".join(words) for words in sentences]
        return [Input(texts_of_row) for texts_of_row in zip(*[iter(texts)] * self.text_count, strict=False)]

    def to_row(self, example: Example) -> dict[str, Any]:
        """The columns of a row from which `read` gives this example."""
        columns = self.text_columns()
        cell = self.target().cell(example.gold, example, self.gold_column())
        return {**dict(zip(columns, example.texts, strict=True)), self.gold_column(): cell}
