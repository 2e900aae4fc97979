"""Where to compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from weft.errors import ConfigError

if TYPE_CHECKING:  # the command line names the choices before torch is needed
    import torch

Device = Literal["auto", "cpu", "cuda"]


def choose_device(wanted: Device = "auto") -> torch.device:
    """The device asked for; `auto` is a GPU where there is one."""
    import torch

    found = torch.cuda.is_available()
    if wanted == "cuda" and not found:
        raise ConfigError("--device cuda was asked for, but torch sees no GPU here; use --device cpu or auto")
    return torch.device("cuda" if found and wanted != "cpu" else "cpu")
