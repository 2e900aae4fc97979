"""Linear layers by the quickest single-precision product a processor has.

Torch multiplies through Intel's MKL, which keeps its AVX-512 kernels to Intel's processors: on others that know these
instructions oneDNN, which torch brings too, takes half to two thirds of the time (`benchmarks/products.py`).
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_CPU_INFO = Path("/proc/cpuinfo")


class LinearLayer(nn.Linear):
    """`nn.Linear`, computed by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """(…, inputs) → (…, outputs)."""
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """What `F.linear` computes, (…, inputs) → (…, outputs), to within rounding."""
    if not (_single_precision(x, weight) and onednn_is_quicker()):
        return F.linear(x, weight, bias)
    rows = x.reshape(-1, x.shape[-1])
    if torch.is_grad_enabled():
        y: Tensor = _Product.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    else:
        y = _product(rows, weight, bias)
    return y.view(*x.shape[:-1], -1)


class _Product(torch.autograd.Function):
    """`_product` with its gradients, which are products too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            _product(gradient, weight.t()) if of_x else None,
            _product(gradient.t(), x.t()) if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """(T, inputs), (outputs, inputs) → (T, outputs)."""
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")  # type: ignore[no-any-return]


def _single_precision(x: Tensor, weight: Tensor) -> bool:
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and x.numel() > 0
        and not torch.is_autocast_enabled("cpu")
    )


@cache
def onednn_is_quicker() -> bool:
    """Whether this is a processor with AVX-512 from another maker: told by its name, for a trial would hang on luck."""
    return (
        torch.backends.mkldnn.is_available()
        and torch.backends.mkl.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and "AuthenticAMD" in _processor()
    )


def _processor() -> str:
    """What the system says of the processor, its maker included."""
    try:
        with _CPU_INFO.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(4096)
    except OSError:  # not Linux
        return platform.processor()
