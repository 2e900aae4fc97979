"""What conditioning methods may begin from: the words of labels, and the mean states of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from weft.data import labels_of
from weft.network import Network
from weft.records import Example
from weft.tensors import States

_SAMPLE = 64  # rows of each class


class Starts:
    """Computed only when a method asks."""

    def __init__(self, network: Network, train: Mapping[str, Sequence[Example]]) -> None:
        self.network, self.train = network, train

    @torch.no_grad()
    def words(self, phrases: Sequence[str]) -> Tensor:
        """The mean input embedding of each phrase's tokens, normalised as the first layer gets them, (phrases, H)."""
        embeddings = self.network.encoder.embeddings
        encoded = self.network.tokenizer.encode(phrases, max_length=512, offsets=True)
        ids = [[i for i, text in zip(one.ids, one.texts, strict=True) if text is not None] for one in encoded]
        vectors = torch.stack(
            [
                embeddings.norm(embeddings.words(torch.tensor(row or one.ids))).mean(0)
                for row, one in zip(ids, encoded, strict=True)
            ]
        )
        return vectors if embeddings.project is None else embeddings.project(vectors)

    @torch.no_grad()
    def class_means(self, task: str) -> Tensor:
        """The mean final state of the first token for each label of a task, (L, H), over a sample of its rows."""
        network, config = self.network.eval(), self.network.encoder.config
        labels = network.targets[task].labels  # type: ignore[attr-defined]
        means = []
        for label in labels:
            rows = [one for one in self.train[task] if label in labels_of([one])][:_SAMPLE]
            if not rows:  # a label that the config names but nobody has used
                means.append(torch.randn(config.hidden_size) * config.initializer_range)
                continue
            states: States = network.encoder(network.collate(task, network.encode(task, rows)))
            means.append(states.first().mean(0))
        return torch.stack(means)
