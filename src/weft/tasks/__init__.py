"""Tasks: what is read of each row, what it is answered with, and through which head; one kind per file."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from weft.encoder.encoder import Encoder
from weft.heads import Head
from weft.heads.linear import Linear
from weft.layers.pairs import Feature
from weft.layers.readers import Reader, SiameseReader, TextReader
from weft.losses import Loss
from weft.pooling import Pooler
from weft.pooling.mean import Mean
from weft.records import Content, Gold, Span
from weft.spec import Spec, nearest
from weft.targets import Target
from weft.tensors import Batch
from weft.text.marks import mend_spans, mend_tags
from weft.text.readings import Reading, number_words, read_words
from weft.text.tokenizer import Encoded, Tokenizer, Truncation

_LONGEST_SHOWN = 40  # characters of a label in a message


class Task(Spec, root=True):
    """The root of all task kinds: where its rows are, and how it trains beside the others.

    A kind says which columns it reads, how a cell becomes gold, what it learns from the golds (`learn`), how texts
    become token rows (`encode`), and what a head reads of them (`build_reader`).
    """

    several_texts: ClassVar[bool] = False  # whether it reads pairs
    takes_words: ClassVar[bool] = False  # whether its text may come as a list of words
    reads_marks: ClassVar[bool] = False  # whether it reads spans beside the text
    reads_corpus: ClassVar[bool] = False  # whether it makes its answers from raw text

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
    def read_gold(self, cell: Any, content: Content | None = None, column: str | None = None) -> Gold | None:
        """The gold answer in a cell, None where it is blank; raises ValueError with what is wrong.

        What the cell means may depend on the rest of the row (`content`), and on which of the kind's columns it is.
        """

    def read_marks(self, columns: Mapping[str, Any], content: Content) -> tuple[Span, ...] | None:
        """What is marked in a row's text, for kinds that read marks; None where nothing says so."""
        return None

    def mend(self, cell: Any, content: Content, column: str) -> tuple[Any, Counter[str]]:
        """The cell with everything mended that can be, and how often what was; only where a kind has `repair`."""
        return cell, Counter()

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
    def encode(self, contents: Sequence[Content], tokenizer: Tokenizer, max_length: int) -> list[Reading]:
        """Each example as rows of tokens."""

    @abstractmethod
    def build_reader(self, width: int) -> Reader:
        """The module from States to what the head reads, (R, F): F numbers per answer."""

    @abstractmethod
    def inputs(self, width: int) -> int:
        """How many numbers the head reads of an encoder of this width."""

    def layout(self, readings: Sequence[Reading], batch: Batch) -> dict[str, Tensor]:
        """What the reader needs to know of the examples of a batch beside their tokens."""
        return {}

    def answers(self, reading: Reading) -> int:
        """How many answers an example gets: rows of scores."""
        return 1

    def build_steps(self, target: Target) -> nn.Module | None:
        """The module that gives `Scores.steps`, for kinds that learn which tag follows which."""
        return None

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


class TextTask(Task):
    """A kind that reads one text per row."""

    text: str = "text"
    """Column of the text."""
    label: str = "label"
    """Column of the answer."""

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return (self.text,)

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.label

    def encode(self, contents: Sequence[Content], tokenizer: Tokenizer, max_length: int) -> list[Reading]:
        texts = [one.texts[0] for one in contents]
        rows = tokenizer.encode(texts, max_length=max_length, truncation=self.truncation)
        return [Reading(content, [row]) for content, row in zip(contents, rows, strict=True)]

    def build_reader(self, width: int) -> Reader:
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

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return self.text

    def encode(self, contents: Sequence[Content], tokenizer: Tokenizer, max_length: int) -> list[Reading]:
        def tokens(inputs: Sequence[Any]) -> list[Encoded]:
            return tokenizer.encode(inputs, max_length=max_length, truncation=self.truncation)

        if self.encode_as == "cross":
            rows = [[row] for row in tokens([one.texts for one in contents])]
        else:
            single = tokens([text for one in contents for text in one.texts])
            rows = [list(pair) for pair in zip(single[::2], single[1::2], strict=True)]
        return [Reading(content, some) for content, some in zip(contents, rows, strict=True)]

    def build_reader(self, width: int) -> Reader:
        pooler = self.pooler.build(width)
        return TextReader(pooler) if self.encode_as == "cross" else SiameseReader(pooler, self.features)

    def inputs(self, width: int) -> int:
        return width if self.encode_as == "cross" else width * len(self.features)

    @property
    def rows_per_example(self) -> int:
        return 1 if self.encode_as == "cross" else 2


class WordTask(Task):
    """A kind that asks about the words of one text, however long it is.

    A row of a file holds `tokens` (a list of words) or `text`. What is marked in it is in the first of the columns
    `tags` (a tag per token), `entities` or `spans` (lists of [start, end, label], end exclusive) that the row has;
    start and end count tokens where the row has tokens, and characters otherwise.
    """

    takes_words: ClassVar[bool] = True

    text: str = "text"
    """Column of the text, for rows that do not come in tokens."""
    tokens: str = "tokens"
    """Column of the words, a list."""
    tags: str = "tags"
    """Column of the words' tags, a list as long as that of the words."""
    entities: str = "entities"
    """Column of the marked spans."""
    spans: str = "spans"
    """Another column of the marked spans."""
    overlap: Annotated[int, Field(ge=0)] = 64
    """A text longer than a row is read in windows that share so many tokens."""
    repair: bool = False
    """Whether to mend wrong tags and spans, and to count them, instead of refusing the file."""

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return (self.tokens if self.tokens in header else self.text,)

    def gold_column(self, header: Collection[str] = ()) -> str:
        wanted = (self.tags, self.entities, self.spans) if self.tokens in header else (self.entities, self.spans)
        return next((name for name in wanted if name in header), wanted[-1])

    def mend(self, cell: Any, content: Content, column: str) -> tuple[Any, Counter[str]]:
        if not self.repair:
            return cell, Counter()
        return mend_tags(cell) if column == self.tags else mend_spans(cell, content, flat=self.says_one_thing)

    @property
    def says_one_thing(self) -> bool:
        """Whether two spans of one text may not share a word."""
        return False

    def encode(self, contents: Sequence[Content], tokenizer: Tokenizer, max_length: int) -> list[Reading]:
        return read_words(contents, tokenizer, max_length, self.overlap)

    def layout(self, readings: Sequence[Reading], batch: Batch) -> dict[str, Tensor]:
        """Of the P sub-words and U words of all examples, end to end:

        places (P,): the packed place of each sub-word; word_of (P,): its word; firsts, lasts (U,): each word's first
        and last sub-word; words (E,): the words of each example.
        """
        rows = np.cumsum([0, *(len(reading.rows) for reading in readings)])
        row = np.concatenate([one.by_word.row + begin for one, begin in zip(readings, rows, strict=False)])
        place = np.concatenate([one.by_word.place for one in readings])
        word_of = torch.from_numpy(number_words(readings))
        words = torch.tensor([len(one.by_word) for one in readings])
        sizes = torch.bincount(word_of, minlength=int(words.sum()))
        lasts = sizes.cumsum(0) - 1
        return {
            "places": batch.starts[torch.from_numpy(row)] + torch.from_numpy(place),
            "word_of": word_of,
            "firsts": lasts - sizes + 1,
            "lasts": lasts,
            "words": words,
        }


def check_labels(spans: tuple[Span, ...], labels: Sequence[str] | None) -> tuple[Span, ...]:
    """The spans, all with labels that are allowed; raises ValueError otherwise."""
    for *_, label in spans:
        if labels and label not in labels:
            raise ValueError(f"label {shown_label(label, labels)} is not one of: {', '.join(labels)}")
    return spans


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
