"""Kinds that read two texts per row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from weft.data.records import Content
from weft.layers.features import Reader, SiameseReader, TextReader
from weft.layers.pairs import Feature
from weft.tasks import Task
from weft.tokenization.examples import Reading
from weft.tokenization.tokenizer import Encoded, Tokenizer


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
