"""Whether one stretch of text follows another: half of the pairs do, the others come from elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from weft.corpus.rows import ELSEWHERE, FOLLOWS
from weft.data.records import Gold, Input
from weft.layers.features import Features, TextFeatures
from weft.pooling import Pooler
from weft.pooling.cls import Cls
from weft.targets import Target
from weft.targets.label import FittedLabel, LabelTarget
from weft.tasks.base.corpus import CorpusTask
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class NextSentenceTarget(LabelTarget):
    """Two labels of pairs that are drawn, one as often as the other."""

    @property
    def fitted(self) -> type[FittedNextSentence]:
        return FittedNextSentence

    def fit(self, golds: Iterable[Gold]) -> FittedNextSentence:
        return FittedNextSentence(self, self.labels, (1,) * len(self.labels))


@dataclass(frozen=True)
class FittedNextSentence(FittedLabel):
    """Labels of pairs of token rows: nothing to calibrate where both are equally likely, no text for a baseline."""

    calibratable: ClassVar[bool] = False
    has_baseline: ClassVar[bool] = False


class NextSentence(CorpusTask):
    """Reads two stretches of raw text; answers whether the second follows the first in its document.

    Every turn over the text draws new pairs. Beside `masked_words` on the same text, this is BERT's own pretraining.
    """

    kind: Literal["next_sentence"] = "next_sentence"
    example: ClassVar[Mapping[str, Any]] = {"train": "notes.txt"}
    text_count: ClassVar[int] = 2
    pooling: Pooler | None = Cls()
    """How a pair of stretches is read; by its first token, as in BERT's own pretraining."""

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return ("sentence1", "sentence2")

    def target(self) -> Target:
        return NextSentenceTarget(labels=(ELSEWHERE, FOLLOWS), default_metric="accuracy")

    def encode(self, inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
        pairs = [(input.texts[0], input.texts[1]) for input in inputs if input.tokens is None]
        written = iter(tokenizer.encode(pairs, max_length=max_length, truncation=self.truncation) if pairs else [])
        tokenized = []
        for input in inputs:
            if input.tokens is None:
                row = next(written)
            else:
                row, _ = tokenizer.join(input.tokens.ids, input.tokens.begins_word)
            tokenized.append(TokenizedExample(input, [row]))
        return tokenized

    def build_features(self, width: int) -> Features:
        return TextFeatures(self.pooler.build(width), self.pooler.scaled)
