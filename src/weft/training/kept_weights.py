"""Where the weights that were best so far are kept: in the folder of a run, or in memory where it need not go on."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from pathlib import Path

import torch
from torch import Tensor

from weft.encoder.blank import Blank
from weft.encoder.encoder import Encoder
from weft.model.folder import load_network, save_network
from weft.model.network import Network


class KeptWeights(ABC):
    """Weights of one network as they were at some points, by name."""

    @abstractmethod
    def put(self, network: Network, name: str) -> None:
        """Keep the weights of now under a name, instead of what is kept there."""

    @abstractmethod
    def get(self, name: str) -> Network:
        """The network with the weights of this name, on the processor and ready to predict."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Forget the weights of this name."""


class WeightsInFolder(KeptWeights):
    """Weights in the folder `best` of a run, so that a run that is broken off still has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "best"

    def put(self, network: Network, name: str) -> None:
        save_network(network, self.folder / name)

    def get(self, name: str) -> Network:
        return load_network(self.folder / name)

    def drop(self, name: str) -> None:
        shutil.rmtree(self.folder / name)


class WeightsInMemory(KeptWeights):
    """Weights in memory: writing them takes as long as several steps, which a run of a minute feels."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._tensors: dict[str, dict[str, Tensor]] = {}

    def put(self, network: Network, name: str) -> None:
        self._tensors[name] = {key: tensor.detach().cpu().clone() for key, tensor in network.state_dict().items()}

    def get(self, name: str) -> Network:
        network = self.network
        with Blank():
            with torch.device("meta"):
                encoder = Encoder(network.encoder.config)
            copy = Network(encoder, network.tokenizer, network.tasks, network.targets, network.conditioning)
        copy.load_state_dict(self._tensors[name], assign=True)
        return copy.requires_grad_(True).eval()

    def drop(self, name: str) -> None:
        del self._tensors[name]
