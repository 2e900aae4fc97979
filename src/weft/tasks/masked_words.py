"""Hidden words of raw text: how encoders are pretrained, and how they get used to the texts of a field."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.bases.corpus import HiddenTask
from weft.records import Tokens
from weft.text.masking import Masked, mask_tokens, mask_words


class MaskedWords(HiddenTask):
    """Reads raw text in which 15 % of the tokens are chosen; answers what they were.

    Of the chosen, 80 % are hidden behind the mask token, 10 % behind a token drawn by its frequency, and 10 % are left.
    Every turn over the text chooses anew. A text with [MASK] in it is answered with what may stand there.
    """

    kind: Literal["masked_words"] = "masked_words"
    whole_words: bool = False
    """Whether all tokens of a word are chosen together."""

    def hide(
        self,
        ids: NDArray[np.int64],
        special: NDArray[np.bool_],
        word_of: NDArray[np.int64],
        tokens: Tokens,
        mask: int,
    ) -> Masked:
        chance = np.random.default_rng(tokens.chance)
        if self.whole_words:
            return mask_words(ids, special, word_of, mask, tokens.unigrams, chance, self.share, least=0)
        return mask_tokens(ids, special, mask, tokens.unigrams, chance, self.share, least=0)
