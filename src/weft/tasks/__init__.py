"""Tasks: what is read of each row, what it is answered with, and through which head; one kind per file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field
from torch import Tensor, nn

from weft.data.records import Input, Span
from weft.encoder.encoder import Encoder
from weft.heads import Head
from weft.heads.linear import Linear
from weft.layers.features import Features
from weft.losses import Loss
from weft.pooling import Pooler
from weft.pooling.mean import Mean
from weft.spec import Spec
from weft.targets import Target
from weft.tensors import Batch
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import Tokenizer, Truncation


class Task(Spec, root=True):
    """The root of all task kinds: where its rows are, and how it trains beside the others.

    A kind says which columns it reads, what is asked for (`target`), how texts become token rows (`encode`), and what a
    head reads of them (`build_features`).
    """

    several_texts: ClassVar[bool] = False  # whether it reads pairs
    takes_words: ClassVar[bool] = False  # whether its text may come as a list of words
    reads_spans: ClassVar[bool] = False  # whether it reads spans beside the text
    reads_corpus: ClassVar[bool] = False  # whether it makes its answers from raw text
    common_head: ClassVar[str | None] = None  # a head that all tasks of a kind have together

    train: str | None = None
    """File of the training rows (.csv, .tsv, .jsonl, .parquet; words and their tags also .conll, .bio, .conllu)."""
    dev: str | Annotated[float, Field(gt=0, lt=1)] = 0.1
    """File of the rows to choose by, or the share of the training rows to set aside for that."""
    test: str | None = None
    """File of the rows to report on; the dev rows where there is none."""
    fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the training rows to use, by label and seed."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Most training rows to use, by label and seed."""
    weight: Annotated[float, Field(gt=0)] = 1.0
    """Weight of this task's loss."""
    metric: str | None = None
    """The metric to choose by; each kind has its own default."""
    max_length: Annotated[int, Field(ge=3)] | None = None
    """Tokens per row; as many as the encoder takes by default."""
    truncation: Truncation = "head"
    """Which part of a text that is too long stays."""
    head: Head = Linear()
    pooling: Pooler | None = None
    """The mean of the tokens if unset, or the first token where a conditioning method feeds that."""
    loss: Loss | None = None
    """The kind's own default where unset."""

    @abstractmethod
    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        """The columns of the text, or of the two texts, in a file with these columns."""

    @abstractmethod
    def gold_column(self, header: Collection[str] = ()) -> str:
        """The column of the answer, in a file with these columns."""

    @abstractmethod
    def target(self) -> Target:
        """What its rows are answered with."""

    def read_marks(self, columns: Mapping[str, Any], input: Input) -> tuple[Span, ...] | None:
        """What is marked in a row's text, for kinds that read marks; None where nothing says so."""
        return None

    @abstractmethod
    def encode(self, inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
        """Each example as rows of tokens."""

    @abstractmethod
    def build_features(self, width: int) -> Features:
        """The module from States to what the head reads, (R, F): F numbers per answer."""

    @abstractmethod
    def feature_size(self, width: int) -> int:
        """How many numbers the head reads of an encoder of this width."""

    def indices(self, tokenized: Sequence[TokenizedExample], batch: Batch) -> dict[str, Tensor]:
        """What the reader needs to know of the examples of a batch beside their tokens."""
        return {}

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        """How many answers an example gets: rows of scores."""
        return 1

    def build_head(self, inputs: int, outputs: int, encoder: Encoder) -> nn.Module:
        """The module from what is read to scores."""
        return self.head.build(inputs, outputs)

    def layers(self, depth: int) -> tuple[int, ...]:
        """The hidden states it needs beside the last."""
        return self.pooler.layers(depth)

    @property
    def pooler(self) -> Pooler:
        """How it reads a row of tokens."""
        return self.pooling or Mean()

    @property
    def rows_per_example(self) -> int:
        """Token rows that each example becomes."""
        return 1
