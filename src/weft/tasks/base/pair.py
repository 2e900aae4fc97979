"""Kinds that read two texts per row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from weft.data.records import Input
from weft.layers.features import BothFeatures, Features, SiameseFeatures, TextFeatures
from weft.layers.pairs import Feature
from weft.tasks import Task
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import TokenizedRow, Tokenizer

_MANY_PAIRS = 1000  # rows that can teach an encoder to compare two texts by itself


class PairTask(Task):
    """A kind that reads two texts: as one row with a separator (`cross`), each by itself (`siamese`), or `both`."""

    text_count: ClassVar[int] = 2

    text: tuple[str, str] = ("sentence1", "sentence2")
    """Columns of the two texts."""
    encode_as: Annotated[Literal["auto", "cross", "siamese", "both"], Field(alias="encode")] = "auto"
    """`cross`: both texts in one row, each seeing the other. `siamese`: each by itself, compared afterwards. `both`: a
    head reads the one beside the other, at the cost of both. `auto`: siamese where few rows tell, for the encoder
    knows already how alike two texts are; else cross."""
    features: tuple[Feature, ...] = ("difference", "product")
    """What a head reads of the vectors of the two texts by themselves: u, v, difference (|u - v|), product (u ∗ v)."""

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return self.text

    def encode(self, inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
        def tokens(inputs: Sequence[Any]) -> list[TokenizedRow]:
            return tokenizer.encode(inputs, max_length=max_length, truncation=self.truncation)

        rows: list[list[TokenizedRow]] = [[] for _ in inputs]
        if not self.siamese:
            for row, together in zip(rows, tokens([input.texts for input in inputs]), strict=True):
                row.append(together)
        if self.compares:
            apart = tokens([text for input in inputs for text in input.texts])
            for row, *texts in zip(rows, apart[::2], apart[1::2], strict=True):
                row += texts
        return [TokenizedExample(input, some) for input, some in zip(inputs, rows, strict=True)]

    def build_features(self, width: int) -> Features:
        pooler, scale = self.pooler.build(width), self.pooler.scaled
        if not self.compares:
            return TextFeatures(pooler, scale)
        return (SiameseFeatures if self.siamese else BothFeatures)(pooler, self.features, scale)

    def feature_size(self, width: int) -> int:
        return width * ((not self.siamese) + self.compares * len(self.features))

    @property
    def siamese(self) -> bool:
        return self.encode_as == "siamese"

    @property
    def compares(self) -> bool:
        return self.encode_as in ("siamese", "both")

    def settled(self, rows: int) -> Self:
        if self.encode_as != "auto":
            return self
        compared = rows < _MANY_PAIRS or self.features != type(self).model_fields["features"].default
        return self.model_copy(update={"encode_as": "siamese" if compared else "cross"})

    def idle_options(self) -> dict[str, str]:
        cross = {"features": 'both texts are one row; set encode = "siamese", or leave it out'}
        return super().idle_options() | (cross if self.encode_as == "cross" else {})

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        default = cls.model_fields["encode_as"].default
        return [{}, *({"encode": mode} for mode in ("cross", "siamese", "both") if mode != default)]
