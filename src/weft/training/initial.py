"""What new weights may begin from: words of labels, mean states of classes, a checkpoint's head, counts of tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from weft.checkpoints.masked_head import read_vocabulary_head
from weft.checkpoints.source import find_folder
from weft.config.experiment import Experiment
from weft.data.dataset import Dataset
from weft.data.records import Example
from weft.model.folder import DOCUMENT, load_network
from weft.model.network import Network
from weft.tensors import States

_SAMPLE = 64  # rows of each class


class InitialValues:
    """What conditioning methods may begin from, computed only when one asks."""

    def __init__(self, network: Network, train: Mapping[str, Sequence[Example]]) -> None:
        self.network, self.train = network, train

    @torch.no_grad()
    def words(self, phrases: Sequence[str]) -> Tensor:
        """The mean input embedding of each phrase's tokens, normalised as the first layer gets them, (phrases, H)."""
        embeddings = self.network.encoder.embeddings
        encoded = self.network.tokenizer.encode(phrases, max_length=512, offsets=True)
        ids = [torch.from_numpy(row.ids[row.texts >= 0] if (row.texts >= 0).any() else row.ids) for row in encoded]
        vectors = torch.stack([embeddings.norm(embeddings.words(row)).mean(0) for row in ids])
        return vectors if embeddings.project is None else embeddings.project(vectors)

    @torch.no_grad()
    def class_means(self, task: str) -> Tensor:
        """The mean final state of the first token for each label of a task, (L, H), over a sample of its rows."""
        network, config = self.network.eval(), self.network.encoder.config
        target = network.targets[task]
        means = []
        for label in target.labels:
            rows = [row for row in self.train[task] if label in target.target.labels_in(row.gold)][:_SAMPLE]
            if not rows:  # a label that the config names but nobody has used
                means.append(torch.randn(config.hidden_size) * config.initializer_range)
                continue
            states: States = network.encoder(network.collate(task, network.encode(task, rows)))
            means.append(states.first().mean(0))
        return torch.stack(means)


def set_initial_values(network: Network, experiment: Experiment, train: Mapping[str, Dataset]) -> None:
    """Give the weights that are new what they may begin from."""
    begin_vocabulary_heads(network, experiment, train)
    initial = InitialValues(network, train)
    network.conditioner.start(initial.words, initial.class_means)


def begin_vocabulary_heads(network: Network, experiment: Experiment, train: Mapping[str, Dataset]) -> None:
    """Begin the heads that tell masked words from that of the checkpoint, or else from how common each token is."""
    fresh = network.vocabulary_heads()
    tensors = _trained_head(network, experiment) if fresh else None
    for key, head in fresh.items():
        shares = (train[name].token_log_shares() for name in network.tasks if network.head_of(name) == key)
        logs = [torch.from_numpy(values) for values in shares if values is not None]
        if tensors is not None:
            head.load_state_dict(tensors)
        elif logs:
            head.begin(torch.stack(logs).logsumexp(0) - math.log(len(logs)))  # the mean share over the tasks


def _trained_head(network: Network, experiment: Experiment) -> Mapping[str, Tensor] | None:
    """The head for masked words that the encoder to begin with has, if it has one."""
    if experiment.encoder.scratch is not None:
        return None
    folder = find_folder(experiment.encoder.name, experiment.encoder.revision)
    if not (folder / DOCUMENT).exists():
        return read_vocabulary_head(folder, network.encoder.config)
    return next((head.state_dict() for head in load_network(folder).vocabulary_heads().values()), None)
