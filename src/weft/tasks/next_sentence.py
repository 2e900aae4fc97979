"""Whether one stretch of text follows another: half of the pairs do, the others come from elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar, Literal

from weft.corpus.rows import ELSEWHERE, FOLLOWS
from weft.data.records import Gold, Input
from weft.layers.features import Features, TextFeatures
from weft.pooling import Pooler
from weft.pooling.cls import Cls
from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.tasks.base.corpus import CorpusTask
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import TokenizedRow, Tokenizer


class NextSentence(CorpusTask):
    """Reads two stretches of raw text; answers whether the second follows the first in its document.

    Every turn over the text draws new pairs. Beside `masked_words` on the same text, this is BERT's own pretraining.
    """

    kind: Literal["next_sentence"] = "next_sentence"
    several_texts: ClassVar[bool] = True
    pooling: Pooler | None = Cls()

    def text_columns(self, header: Collection[str] = ()) -> tuple[str, ...]:
        return ("sentence1", "sentence2")

    def learn(self, golds: Iterable[Gold]) -> Target:
        return LabelTarget((ELSEWHERE, FOLLOWS), (1, 1))

    def target_from(self, data: dict[str, Any]) -> Target:
        return LabelTarget(**data)

    def encode(self, inputs: Sequence[Input], tokenizer: Tokenizer, max_length: int) -> list[TokenizedExample]:
        pairs = [(one.texts[0], one.texts[1]) for one in inputs if one.tokens is None]
        written = iter(tokenizer.encode(pairs, max_length=max_length, truncation=self.truncation) if pairs else [])
        found = []
        for input in inputs:
            if input.tokens is None:
                row = next(written)
            else:
                ids, _, segments = tokenizer.join(input.tokens.ids, input.tokens.begins_word)
                row = TokenizedRow(ids.tolist(), segments, 0)
            found.append(TokenizedExample(input, [row]))
        return found

    def build_features(self, width: int) -> Features:
        return TextFeatures(self.pooler.build(width))
