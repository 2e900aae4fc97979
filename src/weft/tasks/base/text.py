"""Kinds that read one text per row."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from weft.data.records import Content
from weft.layers.features import Reader, TextReader
from weft.tasks import Task
from weft.tokenization.examples import Reading
from weft.tokenization.tokenizer import Tokenizer


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
