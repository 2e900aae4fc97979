"""Kinds that ask about the words of one text, however long it is."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch
from pydantic import Field

from weft.data.cells import get_words
from weft.data.formats import Row
from weft.data.records import Example, Input
from weft.tasks import Task
from weft.tensors import Batch, Indices, WordIndex
from weft.tokenization.examples import TokenizedExample, number_words, read_words
from weft.tokenization.tokenizer import TokenizedRow, Tokenizer
from weft.tokenization.windows import Window, cut_windows
from weft.tokenization.words import join_words


class WordTask(Task):
    """A kind that asks about the words of one text, however long it is.

    A row of a file holds `tokens` (a list of words) or `text`. Its spans are in the first of the columns
    `tags` (a tag per token), `entities` or `spans` (lists of [start, end, label], end exclusive) that the row has;
    start and end count tokens where the row has tokens, and characters otherwise.
    """

    gives_spans: ClassVar[bool] = True
    renamed: ClassVar[Mapping[str, str]] = {"overlap": "stride"}

    text: str = "text"
    """Column of the text, for rows that do not come in tokens."""
    tokens: str = "tokens"
    """Column of the words, a list."""
    tags: str = "tags"
    """Column of the words' tags, a list as long as that of the words."""
    entities: str = "entities"
    """Column of the spans."""
    spans: str = "spans"
    """Another column of the spans."""
    stride: Annotated[int, Field(ge=0)] = 64
    """A text longer than a row is read in windows that share so many tokens."""
    repair: bool = False
    """Whether to mend wrong tags and spans, and to count them, instead of refusing the file."""

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return (self.tokens if self._has_tokens(header) else self.text,)

    def gold_column(self, header: Collection[str] = ()) -> str:
        if self._has_tokens(header):
            wanted, most_common = (self.tags, self.entities, self.spans), self.tags
        else:
            wanted, most_common = (self.entities, self.spans, self.tags), self.spans
        return next((name for name in wanted if name and name in header), most_common)

    def _has_tokens(self, header: Collection[str]) -> bool:
        """Whether words are read; an option that is "" names no column, though tables may have one without a name."""
        return self.tokens != "" and self.tokens in header

    def with_texts(self, columns: Sequence[str]) -> Self:
        return self.model_copy(update={"text": columns[0], "tokens": ""})  # a list of words is read there, too

    def with_answer(self, column: str, cell: Any) -> Self:
        tagged = isinstance(cell, list | tuple) and any(isinstance(entry, str) for entry in cell)
        columns = dict.fromkeys(("tags", "entities", "spans"), "") | {"tags" if tagged else "spans": column}
        return self.model_copy(update=columns)

    def read_input(self, row: Row, *, blank: bool = False) -> Input:
        (column,) = self.text_columns(row.columns)
        if column != self.tokens and not isinstance(row.columns.get(column), list):
            return super().read_input(row, blank=blank)
        text, words = join_words(get_words(row, column))
        return Input((text,), words=words)

    def input_key(self, header: Collection[str]) -> Hashable:
        return WordTask, self.text_columns(header)

    def example_inputs(self, sentences: Sequence[Sequence[str]]) -> list[Input]:
        joined = map(join_words, sentences)
        return [Input((text,), words=words) for text, words in joined]

    def to_row(self, example: Example) -> dict[str, Any]:
        """In tokens, so that spans count tokens."""
        text, words = example.texts[0], example.words or ()
        cell = self.target().cell(example.gold, example, self.answer_column)
        return {self.tokens: [text[start:end] for start, end in words], self.answer_column: cell}

    @property
    def answer_column(self) -> str:
        """The column that examples are written to."""
        return self.spans

    def idle_options(self) -> dict[str, str]:
        return {
            "pooling": "every word has a state of its own; leave it out",
            "truncation": "a text that is too long is read in windows; leave it out, or set stride",
        }

    def encode(self, inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
        return read_words(inputs, tokenizer, max_length, self.stride)

    def windows(self, whole: TokenizedRow, max_length: int) -> list[Window]:
        return cut_windows(whole, max_length, self.stride)

    def indices(self, tokenized: Sequence[TokenizedExample], batch: Batch) -> Indices:
        """The words of all examples, end to end."""
        rows = np.cumsum([0, *(len(tokenized_example.rows) for tokenized_example in tokenized)])
        row = np.concatenate([example.by_word.row + begin for example, begin in zip(tokenized, rows, strict=False)])
        position = np.concatenate([example.by_word.position for example in tokenized], dtype=np.int64)
        word_of = torch.from_numpy(number_words(tokenized))
        words = torch.tensor([len(example.by_word) for example in tokenized])
        sizes = torch.bincount(word_of, minlength=int(words.sum()))
        last = sizes.cumsum(0) - 1
        return Indices(
            words=WordIndex(
                sub_word_positions=batch.row_offsets[torch.from_numpy(row)] + torch.from_numpy(position),
                word_of=word_of,
                first_sub_words=last - sizes + 1,
                last_sub_words=last,
                words_per_example=words,
            )
        )
