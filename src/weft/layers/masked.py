"""What masked tokens were: their own states, or the states beside their span; and the vocabulary as an output layer.

Shape letters besides those of `weft.tensors`: M masked places of all examples end to end; V tokens of the vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.encoder.activations import ACTIVATIONS
from weft.encoder.encoder import Encoder
from weft.layers.features import Features
from weft.tensors import States

_LIKE_ENCODER = ("bert", "distilbert")  # families whose head has the encoder's activation


class MaskedFeatures(Features):
    """The state at each masked place, States → (M, H)."""

    def forward(self, states: States) -> Tensor:
        return states.tokens[states.batch.indices["places"]]


class BoundaryFeatures(Features):
    """For each example the states at its masked places, and then what the tokens beside each one's span say about it.

    The layout holds for each answer its place, the places `left` and `right` of its span, its `offset` in the span, and
    whether it is `beside`, that is to be told from these alone.
    """

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.offsets = nn.Embedding(longest, width)
        self.layers = nn.Sequential(
            nn.Linear(3 * width, width),
            nn.GELU(),
            nn.LayerNorm(width),
            nn.Linear(width, width),
            nn.GELU(),
            nn.LayerNorm(width),
        )
        nn.init.normal_(self.offsets.weight, std=0.02)

    def forward(self, states: States) -> Tensor:
        indices = states.batch.indices
        own = states.tokens[indices["places"]]
        beside = indices["beside"].nonzero().squeeze(1)
        ends = (states.tokens[indices[name][beside]] for name in ("left", "right"))
        offset = self.offsets(indices["offset"][beside].clamp_max(self.offsets.num_embeddings - 1))
        told: Tensor = self.layers(torch.cat([*ends, offset], 1))
        return own.index_copy(0, beside, told.to(own.dtype))


class VocabularyHead(nn.Module):
    """A score for every token of the vocabulary, (M, H) → (M, V), by the encoder's own word embeddings.

    Only the places asked about are ever multiplied with the vocabulary. The activation is that of the family's own
    head, which in some families is not that of the encoder.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        config = encoder.config
        size = config.embedding_size or config.hidden_size
        self.dense = nn.Linear(config.hidden_size, size)
        self.norm = nn.LayerNorm(size, config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.act = ACTIVATIONS[config.hidden_act if config.family in _LIKE_ENCODER else "gelu"]
        self._words = (encoder.embeddings.words,)  # in a tuple, so that the embeddings stay the encoder's alone
        nn.init.normal_(self.dense.weight, std=config.initializer_range)
        nn.init.zeros_(self.dense.bias)

    @torch.no_grad()
    def begin(self, logs: Tensor) -> None:
        """Begin with how common each token is, as log shares (≤ V,): what else has first to be learned, slowly."""
        self.bias.fill_(logs.min()).narrow(0, 0, len(logs)).copy_(logs)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(self.norm(self.act(self.dense(x))), self._words[0].weight, self.bias)
