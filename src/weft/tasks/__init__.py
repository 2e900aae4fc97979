"""Tasks: what is read of each row, what it is answered with, and through which head; one kind per file."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from torch import nn

from weft.heads import Head
from weft.heads.linear import Linear
from weft.layers.pairs import Feature
from weft.layers.readers import SiameseReader, TextReader
from weft.losses import Loss
from weft.pooling import Pooler
from weft.pooling.mean import Mean
from weft.records import Gold
from weft.spec import Spec, nearest
from weft.targets import Target
from weft.text.tokenizer import Encoded, Tokenizer, Truncation

_LONGEST_SHOWN = 40  # characters of a label in a message


class Task(Spec, root=True):
    """The root of all task kinds: where its rows are, and how it trains beside the others.

    A kind says which columns it reads, how a cell becomes gold, what it learns from the golds (`learn`), how texts
    become token rows (`encode`), and what a head reads of them (`build_reader`).
    """

    several_texts: ClassVar[bool] = False  # whether it reads pairs

    train: str | None = None
    """File of the training rows (.csv, .tsv, .jsonl, .parquet)."""
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
    def text_columns(self) -> tuple[str, ...]:
        """The columns of the text, or of the two texts."""

    @abstractmethod
    def gold_column(self) -> str:
        """The column of the answer."""

    @abstractmethod
    def read_gold(self, cell: Any) -> Gold | None:
        """The gold answer in a cell, None where it is blank; raises ValueError with what is wrong."""

    @abstractmethod
    def learn(self, golds: Iterable[Gold]) -> Target:
        """The target, from the golds of the training rows."""

    @abstractmethod
    def target_from(self, data: dict[str, Any]) -> Target:
        """The target, from what `Target.to_dict` gave."""

    @abstractmethod
    def default_loss(self) -> Loss:
        """The loss where the config names none."""

    @abstractmethod
    def default_metric(self) -> str:
        """The metric to choose by where the config names none."""

    @abstractmethod
    def encode(self, texts: Sequence[tuple[str, ...]], tokenizer: Tokenizer, max_length: int) -> list[list[Encoded]]:
        """The token rows of each example, the same number for every one."""

    @abstractmethod
    def build_reader(self, width: int) -> TextReader:
        """The module from States to what the head reads."""

    @abstractmethod
    def inputs(self, width: int) -> int:
        """How many numbers the head reads of an encoder of this width."""

    def reading_key(self) -> tuple[Any, ...]:
        """Equal for two tasks whose token rows are the same for the same texts."""
        return (type(self).several_texts, self.max_length, self.truncation)

    def build_head(self, inputs: int, outputs: int) -> nn.Module:
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


class TextTask(Task):
    """A kind that reads one text per row."""

    text: str = "text"
    """Column of the text."""
    label: str = "label"
    """Column of the answer."""

    def text_columns(self) -> tuple[str, ...]:
        return (self.text,)

    def gold_column(self) -> str:
        return self.label

    def encode(self, texts: Sequence[tuple[str, ...]], tokenizer: Tokenizer, max_length: int) -> list[list[Encoded]]:
        rows = tokenizer.encode([text for (text,) in texts], max_length=max_length, truncation=self.truncation)
        return [[row] for row in rows]

    def build_reader(self, width: int) -> TextReader:
        return TextReader(self.pooler.build(width))

    def inputs(self, width: int) -> int:
        return width


class PairTask(Task):
    """A kind that reads two texts per row: as one row with a separator (`cross`), or each by itself (`siamese`)."""

    several_texts: ClassVar[bool] = True

    text: tuple[str, str] = ("sentence1", "sentence2")
    """Columns of the two texts."""
    encode_as: Annotated[Literal["cross", "siamese"], Field(alias="encode")] = "cross"
    """`cross`: both texts in one row, each seeing the other. `siamese`: each by itself, compared afterwards."""
    features: tuple[Feature, ...] = ("difference", "product")
    """What a siamese head reads of the two vectors u and v: u, v, difference (|u - v|), product (u ∗ v)."""

    def text_columns(self) -> tuple[str, ...]:
        return self.text

    def encode(self, texts: Sequence[tuple[str, ...]], tokenizer: Tokenizer, max_length: int) -> list[list[Encoded]]:
        def tokens(inputs: Sequence[Any]) -> list[Encoded]:
            return tokenizer.encode(inputs, max_length=max_length, truncation=self.truncation)

        if self.encode_as == "cross":
            return [[row] for row in tokens([(first, second) for first, second in texts])]
        rows = tokens([text for pair in texts for text in pair])
        return [list(pair) for pair in zip(rows[::2], rows[1::2], strict=True)]

    def build_reader(self, width: int) -> TextReader:
        pooler = self.pooler.build(width)
        return TextReader(pooler) if self.encode_as == "cross" else SiameseReader(pooler, self.features)

    def inputs(self, width: int) -> int:
        return width if self.encode_as == "cross" else width * len(self.features)

    def reading_key(self) -> tuple[Any, ...]:
        return (*super().reading_key(), self.encode_as)

    @property
    def rows_per_example(self) -> int:
        return 1 if self.encode_as == "cross" else 2


def read_label(cell: Any, labels: Sequence[str] | None) -> str | None:
    """The label in a cell, None where it is blank; raises ValueError where it is not one of `labels`."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    if not isinstance(cell, str | int | float | bool):
        raise ValueError(f"a label must be a word or a number, but this is a {type(cell).__name__}")
    if isinstance(cell, float) and not math.isfinite(cell):
        raise ValueError(f"a label must be a word or a number, but this is {cell}; leave the cell blank for no answer")
    label = str(cell).strip()
    if labels and label not in labels:
        raise ValueError(f"label {shown_label(label)} is not one of: {', '.join(labels)}{nearest(label, labels)}")
    return label


def shown_label(label: str, known: Iterable[str] = ()) -> str:
    """A label as a message may show it, with the nearest one known; not where it is so long that it may be a text."""
    return repr(label) + nearest(label, known) if len(label) <= _LONGEST_SHOWN else f"(of {len(label)} characters)"
