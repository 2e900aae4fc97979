"""One layer of the encoder: attention and feed-forward, each added to its input and normalised."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.encoder.activations import ACTIVATIONS
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner
from weft.encoder.config import EncoderConfig
from weft.encoder.dropout import Dropout
from weft.encoder.linear import LinearLayer
from weft.tensors import Batch, FirstTokenAttention

_CHUNK = 1024  # tokens


class Block(nn.Module):
    """A post-norm transformer layer."""

    def __init__(self, config: EncoderConfig, index: int) -> None:
        super().__init__()
        width, eps = config.hidden_size, config.layer_norm_eps
        self.attention = SelfAttention(width, config.num_attention_heads, config.attention_probs_dropout_prob, index)
        self.attention_norm = nn.LayerNorm(width, eps)
        self.widen = LinearLayer(width, config.intermediate_size)
        self.activation = ACTIVATIONS[config.hidden_act]
        self.narrow = LinearLayer(config.intermediate_size, width)
        self.output_norm = nn.LayerNorm(width, eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(
        self, x: Tensor, batch: Batch, conditioner: Conditioner, show: bool = False
    ) -> tuple[Tensor, FirstTokenAttention | None]:
        """(T, H) → (T, H), and with `show` where each row's first token looks."""
        gathered, shown = self.attention(x, batch, conditioner, show)
        added = conditioner.at_block(x, self.attention.index, batch)
        x = self.attention_norm(x + self.dropout(gathered))
        y = x + self.dropout(self.feed_forward(x))
        return self.output_norm(y if added is None else y + added), shown

    def feed_forward(self, x: Tensor) -> Tensor:
        """(T, H) → (T, H), each token by itself.

        The widened states are the largest tensor of all. Where no gradient needs them, a chunk of tokens at a time
        keeps them in the processor's cache.
        """
        if torch.is_grad_enabled() or x.device.type != "cpu":
            return self.narrow(self.activation(self.widen(x)))  # type: ignore[no-any-return]
        return torch.cat([self.narrow(self.activation(self.widen(part))) for part in x.split(_CHUNK)])
