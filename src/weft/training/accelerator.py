"""Where a run computes and in what precision; the one place that knows accelerate.

Device and precision are ours, since accelerate settles both once for the whole process: a second run could not choose
otherwise, and somebody else's accelerator would decide for us. Accelerate prepares the network, steps back through it
and brings the trackers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from weft.errors import ConfigError
from weft.model.network import Network

Precision = Literal["fp32", "bf16"]


def choose_precision(device: torch.device, wanted: Literal["auto"] | Precision) -> Precision:
    """The precision asked for; `auto` is bf16 on a GPU that has it, else fp32."""
    if wanted == "auto":
        return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "fp32"
    return wanted


class Hardware:
    """A device, a precision, and the trackers that are told about a run on it.

    Args:
        trackers: as accelerate names them.
        folder: where trackers that write files may write them.
    """

    def __init__(self, device: torch.device, precision: Precision, trackers: Sequence[str], folder: Path) -> None:
        self.device, self.precision = device, precision
        try:
            self._accelerator = Accelerator(
                device_placement=False,
                mixed_precision="no",
                log_with=list(trackers) or None,
                project_dir=str(folder),
            )
        except ValueError as error:  # the precision of another's accelerator is the whole process's
            raise ConfigError(f"accelerate cannot be used in this process: {error}") from None
        if self._accelerator.num_processes > 1:
            raise ConfigError("training in several processes is not supported yet; start weft train without a launcher")
        self._accelerator.init_trackers("weft")

    def prepare(self, network: Network) -> Network:
        """The network as it is to be called in training."""
        prepared: Network = self._accelerator.prepare(network)
        return prepared

    def autocast(self) -> torch.autocast:
        """Within this context products are computed in the run's precision."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")

    def backward(self, loss: Tensor) -> None:
        """Add the gradient of a loss to those of the parameters."""
        self._accelerator.backward(loss)

    def clip_gradient(self, parameters: Sequence[nn.Parameter], max_norm: float) -> float:
        """Shorten the gradient of all parameters to `max_norm` where it is longer; its norm before."""
        return float(self._accelerator.clip_grad_norm_(parameters, max_norm))

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Tell the trackers, if there are any."""
        self._accelerator.log(dict(values), step=step)

    def end_training(self) -> None:
        """Tell the trackers that all is done."""
        self._accelerator.end_training()
