"""Self-attention over packed tokens: every row attends to itself alone, through the fused kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.encoder.conditioner import Conditioner
from weft.encoder.dropout import dropout
from weft.encoder.linear import LinearLayer
from weft.tensors import Batch, FirstTokenAttention, softmax_per_row


class SelfAttention(nn.Module):
    """Multi-head self-attention with its output projection."""

    def __init__(self, width: int, heads: int, p: float, index: int = 0) -> None:
        super().__init__()
        self.index, self.heads, self.p = index, heads, p
        self.query = LinearLayer(width, width)
        self.key = LinearLayer(width, width)
        self.value = LinearLayer(width, width)
        self.output = LinearLayer(width, width)

    def forward(
        self, x: Tensor, batch: Batch, conditioner: Conditioner, show: bool = False
    ) -> tuple[Tensor, FirstTokenAttention | None]:
        """Let every token gather from its own row.

        Args:
            x: token states, (T, H).
            show: also return where each row's first token looks.

        Returns:
            the gathered states, (T, H), and with `show` the first tokens' attention.
        """
        q, k, v = conditioner.at_qkv(self.query(x), self.key(x), self.value(x), x, self, batch)
        gathered = attend(q, k, v, self.heads, batch, self.p if self.training else 0.0)
        k, v = self.split_heads(k), self.split_heads(v)
        q_first = self.split_heads(q[batch.row_offsets])
        readout = conditioner.at_readout(q_first, k, v, self, batch)
        if readout is not None:
            gathered = gathered.index_copy(0, batch.row_offsets, readout.gathered.flatten(1).to(gathered.dtype))
        if not show:
            return self.output(gathered), None
        if readout is not None:
            return self.output(gathered), FirstTokenAttention(readout.weights, readout.winning_label)
        return self.output(gathered), FirstTokenAttention(softmax_per_row(first_token_scores(q_first, k, batch), batch))

    def split_heads(self, x: Tensor) -> Tensor:
        """(…, H) → (…, N, D)."""
        return x.view(*x.shape[:-1], self.heads, -1)


def attend(q: Tensor, k: Tensor, v: Tensor, heads: int, batch: Batch, p: float = 0.0) -> Tensor:
    """Scaled dot-product attention within each row, (T, H) → (T, H).

    Rows of equal length lie side by side (see `tensors.pack`), so each run of them is a dense block that the fused
    kernel takes as a view: nothing is copied, padded or masked. A processor's fused kernel is quickest in single
    precision, several times where half precision is widened for each product.
    """
    processor = q.device.type == "cpu"
    if processor and not p and q.dtype == torch.bfloat16:
        return attend(q.float(), k.float(), v.float(), heads, batch).to(q.dtype)
    kernel = attend_with_dropout if p and processor else F.scaled_dot_product_attention
    sizes = [rows * length for rows, length in batch.runs]
    blocks = []
    for (rows, _), *qkv in zip(batch.runs, q.split(sizes), k.split(sizes), v.split(sizes), strict=True):
        dense = (x.view(rows, -1, heads, x.shape[1] // heads).transpose(1, 2) for x in qkv)
        block = kernel(*dense, dropout_p=p)  # type: ignore[misc]
        blocks.append(block.transpose(1, 2).reshape(-1, q.shape[1]))
    return torch.cat(blocks) if len(blocks) > 1 else blocks[0]


def attend_with_dropout(q: Tensor, k: Tensor, v: Tensor, dropout_p: float) -> Tensor:
    """What the fused kernel computes, for the processor, where it knows no dropout; (…, length, D) each."""
    weights = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1)
    return dropout(weights, dropout_p) @ v


def first_token_scores(q_first: Tensor, k: Tensor, batch: Batch) -> Tensor:
    """The scores of each row's first token, (T, N), from its query (B, N, D) and all keys (T, N, D)."""
    scores: Tensor = (q_first[batch.row_of] * k).sum(-1) * k.shape[-1] ** -0.5
    return scores
