"""A tag for every word: named entities by BIO tags, parts of speech."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator
from torch import nn

from weft.data.annotations import read_spans, read_tags, refuse_overlaps
from weft.data.bio import allowed_transitions
from weft.data.records import Gold, Input
from weft.layers.crf import Crf
from weft.layers.features import Features
from weft.layers.words import SubWordFeatures
from weft.losses import Loss
from weft.losses.cross_entropy import CrossEntropy
from weft.targets import Target
from weft.targets.tags import BioTarget, Decided, Decoder, Learned, TagsTarget
from weft.tasks import check_labels
from weft.tasks.base.words import WordTask
from weft.tokenization.examples import TokenizedExample


class Tagging(WordTask):
    """Reads a text; answers with the spans that tags of its words mark, or with `plain` tags with one for each word."""

    kind: Literal["tagging"] = "tagging"
    renamed: ClassVar[Mapping[str, str]] = {"decide": "subword_pooling"}
    scheme: Literal["bio", "bioes", "plain"] = "bio"
    """`bio` and `bioes` mark spans (both are read, and learned as BIO); `plain` names each word, as parts of speech."""
    decoder: Decoder = "crf"
    """`greedy`: each word by itself. `constrained`: the best path without a step that BIO forbids. `crf`: the best path
    where also the steps between tags are learned."""
    subwords: Learned = "all"
    """Which sub-words of a word learn its tag."""
    subword_pooling: Decided = "first"
    """Whether a word's first sub-word decides, or all of them together."""
    labels: tuple[str, ...] | None = None
    """All labels; those that occur in training by default."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.scheme == "plain" and self.decoder == "constrained":
            raise ValueError("decoder 'constrained' keeps to BIO, which plain tags do not; use 'greedy' or 'crf'")
        return self

    @property
    def says_one_thing(self) -> bool:
        return True

    def repair_cell(self, cell: Any, input: Input, column: str) -> tuple[Any, Counter[str]]:
        return (cell, Counter()) if self.scheme == "plain" else super().repair_cell(cell, input, column)

    def read_gold(self, cell: Any, input: Input | None = None, column: str | None = None) -> Gold | None:
        assert input is not None
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return None
        if column == self.tags:
            return check_labels(read_tags(cell, input, plain=self.scheme == "plain"), self.labels)
        if self.scheme == "plain":
            raise ValueError(f"plain tags are read from the column {self.tags!r} beside {self.tokens!r}")
        spans = read_spans(cell, input)
        refuse_overlaps(spans)
        return check_labels(spans, self.labels)

    def learn(self, golds: Iterable[Gold]) -> Target:
        return self._target.learn(
            golds, self.labels, decoder=self.decoder, learned=self.subwords, decided=self.subword_pooling
        )

    def target_from(self, data: dict[str, Any]) -> Target:
        return self._target(**data)

    @property
    def _target(self) -> type[TagsTarget]:
        return TagsTarget if self.scheme == "plain" else BioTarget

    def default_loss(self) -> Loss:
        return CrossEntropy()

    def default_metric(self) -> str:
        return "accuracy" if self.scheme == "plain" else "f1"

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        return len(tokenized_example.by_word.word)

    def build_features(self, width: int) -> Features:
        return SubWordFeatures()

    def feature_size(self, width: int) -> int:
        return width

    def build_transitions(self, target: Target) -> nn.Module | None:
        if self.decoder != "crf":
            return None
        assert isinstance(target, TagsTarget)
        size = len(target.tags) + 1
        plain = [[True] * size for _ in range(size)]
        return Crf(plain if self.scheme == "plain" else allowed_transitions(target.tags))
