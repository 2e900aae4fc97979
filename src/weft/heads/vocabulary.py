"""The vocabulary as an output layer, for tasks that tell masked tokens.

Shape letters besides those of `weft.tensors`: M masked tokens of all examples end to end; V tokens of the vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.encoder.activations import ACTIVATIONS
from weft.encoder.encoder import Encoder
from weft.encoder.linear import LinearLayer, linear

_LIKE_ENCODER = ("bert", "distilbert")  # families whose head has the encoder's activation


class VocabularyHead(nn.Module):
    """A score for every token of the vocabulary, (M, H) → (M, V), by the encoder's own word embeddings.

    Only the tokens asked about are ever multiplied with the vocabulary. The activation is that of the family's own
    head, which in some families is not that of the encoder.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        config = encoder.config
        size = config.embedding_size or config.hidden_size
        self.dense = LinearLayer(config.hidden_size, size)
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
        return linear(self.norm(self.act(self.dense(x))), self._words[0].weight, self.bias)
