"""Words of packed tokens: their states, and numbers of sub-words joined to numbers of words.

Shape letters besides those of `weft.tensors`: P sub-words, U words, of all examples end to end.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weft.layers.features import Features
from weft.tensors import States


class SubWordFeatures(Features):
    """The state of every sub-word of every word, States → (P, H)."""

    def forward(self, states: States) -> Tensor:
        words = states.batch.indices.words
        assert words is not None
        return states.tokens[words.sub_word_positions]


def mean_by_word(values: Tensor, word_of: Tensor, words: int) -> Tensor:
    """The mean over each word's sub-words, (P, L) → (U, L)."""
    total = values.new_zeros(words, values.shape[1]).index_add(0, word_of, values)
    return total / torch.bincount(word_of, minlength=words).unsqueeze(1).to(values)


def first_of_words(word_of: Tensor) -> Tensor:
    """Which sub-words are the first of their word, (P,) ascending → (U,)."""
    begins = torch.ones_like(word_of, dtype=torch.bool)
    begins[1:] = word_of[1:] != word_of[:-1]
    return begins.nonzero().squeeze(1)
