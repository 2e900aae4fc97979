"""A tag for every word: named entities by BIO tags, parts of speech."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from weft.layers.features import Features
from weft.layers.words import SubWordFeatures
from weft.targets import Target
from weft.targets.tags import BioTarget, Decoder, SubwordPooling, Subwords, TagOptions, TagsTarget
from weft.tasks.base.words import WordTask
from weft.tokenization.examples import TokenizedExample


class Tagging(WordTask):
    """Reads a text; answers with the spans that tags of its words mark, or with `plain` tags with one for each word."""

    kind: Literal["tagging"] = "tagging"
    example: ClassVar[Mapping[str, Any]] = {"train": "words.jsonl", "tokens": "tokens", "tags": "tags"}
    renamed: ClassVar[Mapping[str, str]] = {"decide": "subword_pooling"}
    scheme: Literal["bio", "bioes", "plain"] = "bio"
    """`bio` and `bioes` mark spans (both are read, and learned as BIO); `plain` names each word, as parts of speech."""
    decoder: Decoder = "crf"
    """`greedy`: each word by itself. `constrained`: the best path without a step that BIO forbids. `crf`: the best path
    where also the steps between tags are learned."""
    subwords: Subwords = "all"
    """Which sub-words of a word learn its tag."""
    subword_pooling: SubwordPooling = "first"
    """Whether a word's first sub-word decides, or all of them together."""
    labels: tuple[str, ...] | None = None
    """All labels; those that occur in training by default."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.scheme == "plain" and self.decoder == "constrained":
            raise ValueError("decoder 'constrained' keeps to BIO, which plain tags do not; use 'greedy' or 'crf'")
        return self

    def target(self) -> Target:
        options = TagOptions(self.decoder, self.subwords, self.subword_pooling)
        if self.scheme == "plain":
            columns = {"tags_column": self.tags, "tokens_column": self.tokens}
            return TagsTarget(labels=self.labels or (), options=options, **columns)
        return BioTarget(labels=self.labels or (), tags_column=self.tags, repairs=self.repair, options=options)

    @property
    def answer_column(self) -> str:
        return self.tags if self.scheme == "plain" else self.spans

    def idle_options(self) -> dict[str, str]:
        plain = {"repair": "plain tags have nothing to mend; leave it out"}
        return super().idle_options() | (plain if self.scheme == "plain" else {})

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        plain = [{"scheme": "plain", "decoder": decoder} for decoder in ("greedy", "crf")]
        decoders = [{"decoder": decoder} for decoder in ("greedy", "constrained")]
        return [{}, *plain, *decoders, {"subwords": "first"}, {"subword_pooling": "combined"}]

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        return tokenized_example.by_word.count

    def build_features(self, width: int) -> Features:
        return SubWordFeatures()

    def feature_size(self, width: int) -> int:
        return width
