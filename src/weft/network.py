"""The network: one encoder, a conditioning method, and for every task a reader and a head."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from weft.checkpoints.hf import WEIGHTS, read_file, read_json, write_tensors
from weft.conditioning import Blueprint, Conditioning, slot
from weft.conditioning.combined import Combined
from weft.conditioning.none import Unconditioned
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import CheckpointError, ConfigError
from weft.files import write_atomically
from weft.losses import Loss, LossFunction
from weft.pooling.cls import Cls
from weft.pooling.mean import Mean
from weft.spec import parse
from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.tasks import Task
from weft.tensors import Batch, States, pack
from weft.text.tokenizer import Encoded, Tokenizer

DOCUMENT = "weft.json"
FORMAT = 1


class Network(nn.Module):
    """Scores of any of its tasks from packed tokens.

    `targets` may be replaced by calibrated ones at any time; everything else is fixed when the network is built.
    """

    def __init__(
        self,
        encoder: Encoder,
        tokenizer: Tokenizer,
        tasks: Mapping[str, Task],
        targets: Mapping[str, Target],
        conditioning: Conditioning | None = None,
    ) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.conditioning = conditioning or Unconditioned()
        self.targets = dict(targets)
        self.tasks = {name: with_pooling(task, self.targets[name], self.conditioning) for name, task in tasks.items()}
        self.encoder = encoder
        self.conditioner = self.conditioning.build(draw_blueprint(encoder.config, self.tasks, self.targets))
        width = encoder.config.hidden_size
        self.readers = nn.ModuleDict({slot(name): task.build_reader(width) for name, task in self.tasks.items()})
        self.heads = nn.ModuleDict()
        self._shared: dict[str, tuple[Any, ...]] = {}
        for name in self.tasks:
            self._add_head(name, width)

    def forward(self, batch: Batch) -> Tensor:
        """The scores of the batch's task, (B, O)."""
        return self.scores(batch, [batch.task])[batch.task]

    def scores(self, batch: Batch, tasks: Iterable[str]) -> dict[str, Tensor]:
        """The scores of several tasks that read the same rows, (B, O) each, from one pass of the encoder."""
        names = list(tasks)
        depth = self.encoder.config.num_hidden_layers
        layers = {layer for name in names for layer in self.tasks[name].layers(depth)}
        states: States = self.encoder(batch, self.conditioner, layers=layers)
        return {name: self.heads[self.head_of(name)](self.readers[slot(name)](states)) for name in names}

    def losses(self) -> dict[str, LossFunction]:
        """Every task's loss over (scores, targets)."""
        return {name: self.targets[name].build_loss(loss_of(task)) for name, task in self.tasks.items()}

    def extra_loss(self, task: str) -> Tensor | None:
        """What the conditioning method adds to a task's loss, if anything."""
        return self.conditioner.extra_loss(task, self.heads[self.head_of(task)])

    def pass_key(self, task: str) -> tuple[Any, ...]:
        """Equal for tasks that one pass of the encoder serves, given the same texts."""
        return (*self.tasks[task].reading_key(), self.conditioner.pass_key(task))

    def max_length(self, task: str) -> int:
        """The tokens a row of this task may have."""
        return min(self.tasks[task].max_length or 10**9, self.encoder.config.max_length)

    def encode(self, task: str, texts: Sequence[tuple[str, ...]]) -> list[list[Encoded]]:
        """The token rows of each example of a task."""
        return self.tasks[task].encode(texts, self.tokenizer, self.max_length(task))

    def metric(self, task: str) -> str:
        """The metric a task is chosen by."""
        return self.tasks[task].metric or self.tasks[task].default_metric()

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and everything needed to build the network anew into a folder."""
        write_tensors(
            {name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()}, folder / WEIGHTS
        )
        self.tokenizer.save(folder)
        document = {
            "format": FORMAT,
            "encoder": asdict(self.encoder.config),
            "conditioning": self.conditioning.to_dict(),
            "tasks": {name: task.to_dict() for name, task in self.tasks.items()},
            "targets": {name: target.to_dict() for name, target in self.targets.items()},
        }
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        write_atomically(folder / DOCUMENT, lambda path: path.write_text(text, encoding="utf-8"))

    def _add_head(self, name: str, width: int) -> None:
        task = self.tasks[name]
        sizes = task.inputs(width), self.targets[name].outputs(loss_of(task))
        key, signature = self.head_of(name), (task.head, *sizes)
        if key not in self.heads:
            self.heads[key] = task.build_head(*sizes)
            self._shared[key] = signature
        elif self._shared[key] != signature:
            raise ConfigError(
                f"tasks.{name}.head: shares the head {task.head.share!r}, but does not agree with the other tasks that "
                f"share it: this one has {sizes[0]} inputs and {sizes[1]} outputs with {task.head!r}; the first has "
                f"{self._shared[key][1]} inputs and {self._shared[key][2]} outputs with {self._shared[key][0]!r}"
            )

    def head_of(self, task: str) -> str:
        """The name in `heads` of a task's head, its own or the one it shares."""
        return slot(self.tasks[task].head.share or task)


def with_pooling(task: Task, target: Target, conditioning: Conditioning) -> Task:
    """The task with its own pooler, else the first token where labels feed that, else the mean."""
    if task.pooling is not None:
        return task
    fed = reads_first_token(conditioning) and isinstance(target, LabelTarget | LabelsTarget)
    return task.model_copy(update={"pooling": Cls() if fed else Mean()})


def reads_first_token(conditioning: Conditioning) -> bool:
    """Whether a method changes what the first token gathers."""
    parts = conditioning.methods if isinstance(conditioning, Combined) else (conditioning,)
    return any(part.reads_first_token for part in parts)


def draw_blueprint(config: EncoderConfig, tasks: Mapping[str, Task], targets: Mapping[str, Target]) -> Blueprint:
    """What conditioning methods may know of a network."""
    return Blueprint(
        config=config,
        tasks=tuple(tasks),
        labels={name: one.labels for name, one in targets.items() if isinstance(one, LabelTarget | LabelsTarget)},
        several=frozenset(name for name, target in targets.items() if isinstance(target, LabelsTarget)),
        siamese=frozenset(name for name, task in tasks.items() if task.rows_per_example == 2),
    )


def loss_of(task: Task) -> Loss:
    """The loss a task trains with."""
    return task.loss or task.default_loss()


def collate(rows: Sequence[Sequence[Encoded]], task: str = "") -> Batch:
    """The token rows of some examples as one batch: all first rows, then all second ones."""
    laid = [row for part in zip(*rows, strict=True) for row in part]
    return pack([row.ids for row in laid], [row.segments for row in laid], task)


def check_losses(tasks: Mapping[str, Task], targets: Mapping[str, Target]) -> None:
    """Raise for every loss and metric that does not suit its task's answers."""
    faults = []
    for name, task in tasks.items():
        target, loss = targets[name], loss_of(task)
        if target.fits not in loss.fits:
            kinds = [kind for kind, cls in Loss.kinds().items() if target.fits in cls.fits]
            faults.append(
                f"tasks.{name}.loss: {loss.to_dict()['kind']!r} does not suit this task; allowed: {', '.join(kinds)}"
            )
        else:
            faults += [f"tasks.{name}.loss: {fault}" for fault in loss_faults(target, loss)]
        if task.metric is not None and task.metric not in target.metrics:
            faults.append(f"tasks.{name}.metric: {task.metric!r} is not one of: {', '.join(target.metrics)}")
    if faults:
        raise ConfigError(*faults)


def loss_faults(target: Target, loss: Loss) -> tuple[str, ...]:
    """What speaks against a loss for this many labels."""
    try:
        target.outputs(loss)
        target.build_loss(loss)
    except ConfigError as error:
        return error.faults
    return ()


def load_network(folder: Path) -> Network:
    """The network in a folder that `Network.save` wrote; nothing else is needed."""
    document = read_json(folder / DOCUMENT)
    if document.get("format") != FORMAT:
        raise CheckpointError(
            f"{folder / DOCUMENT} has format {document.get('format')!r}, but this weft reads {FORMAT}"
        )
    try:
        config = EncoderConfig(**document["encoder"])
        tasks = {name: parse(Task, data) for name, data in document["tasks"].items()}
        targets = {name: tasks[name].target_from(data) for name, data in document["targets"].items()}
        conditioning = parse(Conditioning, document["conditioning"])
    except (KeyError, TypeError, ConfigError) as error:
        raise CheckpointError(f"{folder / DOCUMENT} is not complete ({error}); copy the folder anew") from None
    with torch.device("meta"):
        encoder = Encoder(config)
    network = Network(encoder, Tokenizer.from_folder(folder), tasks, targets, conditioning)
    fill(network, read_file(folder / WEIGHTS), folder)
    return network.eval()


def fill(network: Network, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Put tensors into a network, all of them and no others."""
    own = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    missing, surplus = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    mismatched = sorted(name for name in own.keys() & tensors.keys() if own[name] != tuple(tensors[name].shape))
    if missing or surplus or mismatched:
        raise CheckpointError(
            f"{folder / WEIGHTS} and {DOCUMENT} do not belong together: missing {missing[:3]}, surplus {surplus[:3]}, "
            f"mismatched {mismatched[:3]}; copy the folder anew",
            missing=missing,
            surplus=surplus,
            mismatched=mismatched,
        )
    network.load_state_dict(dict(tensors), assign=True)
    network.requires_grad_(True)
