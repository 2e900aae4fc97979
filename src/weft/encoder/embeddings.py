"""From token ids to vectors: word + position + segment, normalised."""

from __future__ import annotations

from torch import Tensor, nn

from weft.encoder.config import EncoderConfig
from weft.encoder.dropout import Dropout
from weft.encoder.linear import LinearLayer
from weft.encoder.lookup import look_up
from weft.tensors import Batch


class Embeddings(nn.Module):
    """The three tables, their norm, and ELECTRA's projection where embeddings are narrower than the layers."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width = config.embedding_size or config.hidden_size
        self.position_offset = config.position_offset
        self.words = nn.Embedding(config.vocab_size, width)
        self.positions = nn.Embedding(config.max_position_embeddings, width)
        self.segments = nn.Embedding(config.type_vocab_size, width) if config.type_vocab_size else None
        self.norm = nn.LayerNorm(width, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)
        self.project = LinearLayer(width, config.hidden_size) if width != config.hidden_size else None

    def forward(self, batch: Batch) -> Tensor:
        """(T,) ids → (T, H)."""
        x: Tensor = look_up(self.words.weight, batch.ids) + self.positions(batch.positions + self.position_offset)
        if self.segments is not None:  # a family with one segment (RoBERTa) adds it to every token, also in pairs
            x = x + (self.segments(batch.segments) if self.segments.num_embeddings > 1 else self.segments.weight)
        x = self.dropout(self.norm(x))
        if self.project is not None:
            x = self.project(x)
        return x
