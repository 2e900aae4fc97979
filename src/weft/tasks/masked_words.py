"""Masked words of raw text: how encoders are pretrained, and how they get used to the texts of a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from weft.corpus.masking import Masked, Unigrams, mask_tokens, mask_words
from weft.tasks.base.corpus import MaskedTask, UnmaskedRow


class MaskedWords(MaskedTask):
    """Reads raw text in which 15 % of the tokens are chosen; answers what they were.

    Of the chosen, 80 % are masked behind the mask token, 10 % behind a token drawn by its frequency, and 10 % are left.
    Every turn over the text chooses anew. A text with [MASK] in it is answered with what may stand there.
    """

    kind: Literal["masked_words"] = "masked_words"
    example: ClassVar[Mapping[str, Any]] = {"train": "notes.txt"}
    renamed: ClassVar[Mapping[str, str]] = {"whole_words": "whole_word_masking"}
    whole_word_masking: bool = False
    """Whether all tokens of a word are chosen together."""

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        return [{}, {"whole_word_masking": True}]

    def mask_row(self, row: UnmaskedRow, mask: int, unigrams: Unigrams, rng: np.random.Generator) -> Masked:
        if self.whole_word_masking:
            return mask_words(row.ids, row.special, row.word_of, mask, unigrams, rng, self.mlm_probability, minimum=0)
        return mask_tokens(row.ids, row.special, mask, unigrams, rng, self.mlm_probability, minimum=0)
