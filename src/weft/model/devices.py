"""Where to compute, and whether it can compute in half precision."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

from weft.errors import ConfigError

if TYPE_CHECKING:  # the command line names the choices before torch is needed
    import torch

Device = Literal["auto", "cpu", "cuda"]

# Products large enough for the kernels that real ones go through, forward and backward; then how many times as long as
# in fp32 a product of a layer takes, by the quickest of several of each, turn and turn about.
_TRIAL = """
import time, torch
x = torch.ones(64, 64, dtype=torch.bfloat16, requires_grad=True)
torch.nn.functional.scaled_dot_product_attention(*[(x @ x).view(1, 1, 64, 64)] * 3).sum().backward()
torch.set_num_threads(1)
kinds = torch.float32, torch.bfloat16
factors = [(torch.ones(256, 384, dtype=kind), torch.ones(384, 1536, dtype=kind)) for kind in kinds]
best = [float("inf"), float("inf")]
for turn in range(40):
    left, right = factors[turn % 2]
    began = time.perf_counter()
    left @ right
    best[turn % 2] = min(best[turn % 2], time.perf_counter() - began)
print(best[1] / best[0])
"""
_SLOWER = 1.5  # times as long, from which it is worth a word


def choose_device(wanted: Device = "auto") -> torch.device:
    """The device asked for; `auto` is a GPU where there is one."""
    import torch

    if wanted not in get_args(Device):
        raise ConfigError(f"device {wanted!r} is not one of: {', '.join(get_args(Device))}")
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise ConfigError("--device cuda was asked for, but torch sees no GPU here; use --device cpu or auto")
    return torch.device("cuda" if available and wanted != "cpu" else "cpu")


def half_precision_fault() -> str | None:
    """Why the processor cannot multiply in bf16 and what to do about it, or None where it can."""
    code, _ = _trial()
    if code == 0:
        return None
    end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return (
        f'"bf16" does not work on this processor: a trial of it {end}. It may advertise instructions that the system '
        "does not grant: set the environment variable ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16, or choose "
        'training.precision = "fp32"'
    )


def slow_half_precision(precision: str, device: Device) -> str | None:
    """How much longer bf16 takes here than fp32, where it was asked for and takes clearly longer."""
    if precision != "bf16" or choose_device(device).type != "cpu":
        return None
    code, times = _trial()
    if code or times < _SLOWER:
        return None
    return f"a product in bf16 takes {times:.1f} times as long as in fp32 on this processor"


@cache
def _trial() -> tuple[int, float]:
    """The exit code of a trial of bf16 on the processor, and how many times as long as in fp32 a product took in it.

    A processor may advertise instructions that its system does not grant, as virtual machines do with AMX; the first
    product then kills the process. So a child tries it, once. Where a processor has no such instructions at all, each
    product is computed in others, which takes several times as long.
    """
    done = subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, text=True)
    return done.returncode, float(done.stdout) if done.returncode == 0 else 0.0
