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

# Products large enough for the kernels that real ones go through, forward and backward.
_TRIAL = """
import torch
x = torch.ones(64, 64, dtype=torch.bfloat16, requires_grad=True)
torch.nn.functional.scaled_dot_product_attention(*[(x @ x).view(1, 1, 64, 64)] * 3).sum().backward()
"""


def choose_device(wanted: Device = "auto") -> torch.device:
    """The device asked for; `auto` is a GPU where there is one."""
    import torch

    if wanted not in get_args(Device):
        raise ConfigError(f"device {wanted!r} is not one of: {', '.join(get_args(Device))}")
    available = torch.cuda.is_available()
    if wanted == "cuda" and not available:
        raise ConfigError("--device cuda was asked for, but torch sees no GPU here; use --device cpu or auto")
    return torch.device("cuda" if available and wanted != "cpu" else "cpu")


@cache
def half_precision_fault() -> str | None:
    """Why the processor cannot multiply in bf16 and what to do about it, or None where it can.

    A processor may advertise instructions that its system does not grant, as virtual machines do with AMX; the first
    product then kills the process. So a child tries it, once.
    """
    code = subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True).returncode
    if code == 0:
        return None
    end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return (
        f'"bf16" does not work on this processor: a trial of it {end}. It may advertise instructions that the system '
        "does not grant: set the environment variable ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16, or choose "
        'training.precision = "fp32"'
    )
