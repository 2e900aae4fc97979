"""The sizes and choices that fix an encoder's mathematics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EncoderConfig:
    """One encoder, whatever family it came from; Hugging Face names where the meaning is the same.

    `embedding_size` is None where embeddings are as wide as the layers. `position_offset` is where a row's first token
    stands in the position table (RoBERTa keeps the first rows for padding). `type_vocab_size` is 0 for families
    without segments.
    """

    family: str = "bert"
    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    position_offset: int = 0
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    embedding_size: int | None = None
    pad_token_id: int = 0
    with_pooler: bool = False

    @property
    def max_length(self) -> int:
        """The tokens that fit into one row."""
        return self.max_position_embeddings - self.position_offset
