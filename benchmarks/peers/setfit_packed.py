"""SetFit's own training with its encoder computed by weft's, which leaves padding out: the same in less time.

Pairs, loss, optimizer, rates and head stay SetFit's. Which elements dropout hits differs, as with another seed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

import weft
from weft.tensors import pack

TEXTS = ["Where was he born?", "a text that is a little longer than the first one of the two"]


class Packed(nn.Module):
    """Stands where the Hugging Face model stood: padded ids in, padded states out."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config, self.encoder = config, weft.load_encoder("minilm", device="cpu").encoder

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> BaseModelOutput:
        """(B, S) → (B, S, H)."""
        rows = [ids[:length].numpy() for ids, length in zip(input_ids, attention_mask.sum(1).tolist(), strict=True)]
        batch = pack(rows)
        states = self.encoder(batch).tokens
        padded = states.new_zeros(*input_ids.shape, states.shape[1])
        return BaseModelOutput(last_hidden_state=padded.index_put((batch.row_of, batch.positions), states))


def leave_padding_out(body: Any) -> None:
    """Replace the encoder of a `SentenceTransformer`; its answers must stay what they were."""
    before = body.encode(TEXTS, convert_to_tensor=True)
    body[0].model = Packed(body[0].model.config)
    torch.testing.assert_close(body.encode(TEXTS, convert_to_tensor=True), before, rtol=1e-5, atol=1e-5)
