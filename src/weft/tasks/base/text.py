"""Kinds that read one text per row."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from weft.data.records import Input
from weft.layers.features import Features, TextFeatures
from weft.tasks import Task
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import Tokenizer


class OneTextTask(Task):
    """A kind that reads one text per row, whatever it answers."""

    text: str = "text"
    """Column of the text."""

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return (self.text,)

    def encode(self, inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
        texts = [input.texts[0] for input in inputs]
        rows = tokenizer.encode(texts, max_length=max_length, truncation=self.truncation)
        return [TokenizedExample(input, [row]) for input, row in zip(inputs, rows, strict=True)]

    def build_features(self, width: int) -> Features:
        return TextFeatures(self.pooler.build(width), self.pooler.scaled)

    def feature_size(self, width: int) -> int:
        return width


class TextTask(OneTextTask):
    """A kind that reads one text per row and answers with what stands in the column `label`."""

    label: str = "label"
    """Column of the answer."""

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.label
