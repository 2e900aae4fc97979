"""The four places where a conditioning method may speak to the encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from weft.tensors import Batch, States

if TYPE_CHECKING:
    from weft.encoder.attention import SelfAttention


class Seams(nn.Module):
    """A conditioner that changes nothing: every seam is the identity, every seam is always called.

    A method subclasses this and overrides the seams it needs. `batch.task` names the task in hand, `layer.index` the
    layer, and `layer.query`, `layer.key`, `layer.value` are that layer's own projections.
    """

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        """Change the embedded tokens, (T, H), before the first layer."""
        return x

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Change the projected queries, keys and values, (T, H) each."""
        return q, k, v

    def at_readout(self, q_first: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch) -> Tensor | None:
        """Replace what each row's first token gathers in one layer.

        Gets the first tokens' queries (B, N, D) and all keys and values (T, N, D); returns the gathered values
        (B, N, D), or None to keep what the fused kernel computed.
        """
        return None

    def at_output(self, states: States) -> States:
        """Change the final states."""
        return states
