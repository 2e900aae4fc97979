"""What is read at masked tokens: their own states, or the states beside their span.

Shape letters besides those of `weft.tensors`: M masked tokens of all examples end to end.
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
    """The state of each masked token, States → (M, H)."""

    def forward(self, states: States) -> Tensor:
        masked = states.batch.indices.masked
        assert masked is not None
        return states.tokens[masked.masked_positions]


class BoundaryFeatures(MaskedFeatures):
    """The state of each masked token, or what the tokens just outside its span say about it (SpanBERT: Joshi et al.
    2020); `BoundaryIndex` says which.
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
        index, own = states.batch.indices.boundary, super().forward(states)
        assert index is not None
        asked = index.from_boundary.nonzero().squeeze(1)
        left, right = states.tokens[index.left_positions[asked]], states.tokens[index.right_positions[asked]]
        offset = self.offsets(index.offsets[asked].clamp_max(self.offsets.num_embeddings - 1))
        read: Tensor = self.layers(torch.cat([left, right, offset], 1))
        return own.index_copy(0, asked, read.to(own.dtype))


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
