"""Rows of a table by their numbers, whose gradient is added where the last one was.

The gradient of a table of words is as large as the table, nearly all of it zeros, and a processor's allocator asks the
system for that much memory anew in every step, page by page, which can take longer than the products of a block.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def look_up(table: Tensor, ids: Tensor) -> Tensor:
    """The rows of a table, (R, H) and (T,) → (T, H).

    Stepping back, a gradient that the table already has is added to in place; one that has none gets its own.
    """
    if table.device.type != "cpu":
        return F.embedding(ids, table)
    rows: Tensor = _LookUp.apply(table, ids)  # type: ignore[no-untyped-call]
    return rows


class _LookUp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.table = table
        ctx.save_for_backward(ids)
        return F.embedding(ids, table)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None]:
        (gradient,), (ids,), table = gradients, ctx.saved_tensors, ctx.table
        if table.grad is None or not table.is_leaf:
            return _dense(gradient, ids, len(table)), None
        known, places = torch.unique(ids, return_inverse=True)
        table.grad.index_add_(0, known, _dense(gradient, places, len(known)).to(table.grad.dtype))
        return None, None


def _dense(gradient: Tensor, ids: Tensor, rows: int) -> Tensor:
    """The sum of the gradients of each row, (T, H) → (rows, H), in the order of the tokens."""
    summed: Tensor = torch.ops.aten.embedding_dense_backward(gradient, ids, rows, -1, False)
    return summed
