"""The network: one encoder, a conditioning method, and for every task its features and a head."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from torch import Tensor, nn

from weft.conditioning import Conditioning, NetworkShape, task_key, tasks_by_parameter
from weft.conditioning.none import Unconditioned
from weft.data.records import Input
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import ConfigError
from weft.heads.vocabulary import VocabularyHead
from weft.layers.features import Features
from weft.layers.pairs import scaled
from weft.losses import Loss
from weft.pooling.cls import Cls
from weft.pooling.mean import Mean
from weft.targets import FittedTarget, ScoresLoss
from weft.tasks import Task
from weft.tensors import Batch, Scores, States, pack
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import Tokenizer


class Network(nn.Module):
    """Scores of any of its tasks from packed tokens.

    `targets` may be replaced by calibrated ones at any time, and `frozen` may stand for the encoder's lowest layers as
    long as these do not learn; everything else is fixed when the network is built.
    """

    frozen: Callable[[Batch], Mapping[int, Tensor]] | None = None  # their hidden states, by layer

    def __init__(
        self,
        encoder: Encoder,
        tokenizer: Tokenizer,
        tasks: Mapping[str, Task],
        targets: Mapping[str, FittedTarget],
        conditioning: Conditioning | None = None,
    ) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.conditioning = conditioning or Unconditioned()
        self.targets = dict(targets)
        self.tasks = {
            name: with_pooling(task, self.targets[name], self.conditioning).without_files()
            for name, task in tasks.items()
        }
        self.encoder = encoder
        self.conditioner = self.conditioning.build(network_shape(encoder.config, self.tasks, self.targets))
        width = encoder.config.hidden_size
        self.features = nn.ModuleDict({task_key(name): task.build_features(width) for name, task in self.tasks.items()})
        transitions = {task_key(name): target.build_transitions() for name, target in self.targets.items()}
        self.transitions = nn.ModuleDict({name: module for name, module in transitions.items() if module is not None})
        self.heads = nn.ModuleDict()
        self._shared: dict[str, tuple[Any, ...]] = {}
        for name in self.tasks:
            self._add_head(name, width)
        self._tasks_of = tasks_by_parameter(self, self.tasks)
        for key, head in self.heads.items():
            readers = frozenset(name for name in self.tasks if self.head_of(name) == key)
            self._tasks_of |= {name: readers for name, _ in head.named_parameters(prefix=f"heads.{key}")}

    def forward(self, batch: Batch | Mapping[str, Batch], features: bool = False) -> Scores | dict[str, Scores]:
        """The scores of the batch's task, or the features that its head would read, in their place.

        Of several batches, by task, that differ in nothing but the indices: the scores of each.
        """
        if not isinstance(batch, Batch):
            return self.scores(batch)
        if features:
            states = self._states({batch.task: batch})
            return Scores(self.features[task_key(batch.task)](states), batch.outputs_per_example)
        return self.scores({batch.task: batch})[batch.task]

    def scores(self, batches: Mapping[str, Batch]) -> dict[str, Scores]:
        """The scores of several tasks from one pass of the encoder: their batches differ in nothing but the indices."""
        states = self._states(batches)
        return {name: self.score_states(name, replace(states, batch=batch)) for name, batch in batches.items()}

    def _states(self, batches: Mapping[str, Batch]) -> States:
        """The states of the first of several batches, with the layers that the tasks of all need."""
        depth = self.encoder.config.num_hidden_layers
        layers = {layer for name in batches for layer in self.tasks[name].layers(depth)}
        first = next(iter(batches.values()))
        known = None if self.frozen is None else self.frozen(first)
        states: States = self.encoder(first, self.conditioner, layers=layers, known=known)
        return states

    def score_states(self, task: str, states: States) -> Scores:
        """What a task's head says about the states of a batch."""
        transitions = self.transitions[task_key(task)]() if task_key(task) in self.transitions else None
        features = cast(Features, self.features[task_key(task)])
        values = features.score(states, self.heads[self.head_of(task)])
        return Scores(values, states.batch.outputs_per_example, transitions)

    def losses(self) -> dict[str, ScoresLoss]:
        """Every task's loss over its scores and the gold of a batch."""
        return {name: self.targets[name].build_loss(loss_of(task)) for name, task in self.tasks.items()}

    def extra_loss(self, task: str) -> Tensor | None:
        """What the conditioning method adds to a task's loss, if anything."""
        head, scales = self.heads[self.head_of(task)], self.tasks[task].pooler.scaled
        return self.conditioner.extra_loss(task, lambda vectors: head(scaled(vectors) if scales else vectors))

    def vocabulary_heads(self) -> dict[str, VocabularyHead]:
        """The heads that tell masked tokens, by their names in `heads`: what other libraries know as a head too."""
        return {key: head for key, head in self.heads.items() if isinstance(head, VocabularyHead)}

    def tasks_of(self, parameter: str) -> frozenset[str]:
        """The tasks that read a parameter, by its name in the network."""
        return self._tasks_of[parameter]

    def added_parameters(self, task: str) -> int:
        """How many parameters the conditioning method adds for one task, those it shares with others included."""
        added = self.conditioner.named_parameters(prefix="conditioner")
        return sum(parameter.numel() for name, parameter in added if task in self.tasks_of(name))

    def max_length(self, task: str) -> int:
        """The tokens a row of this task may have."""
        return min(self.tasks[task].max_length or 10**9, self.encoder.config.max_length)

    def encode(self, task: str, inputs: Sequence[Input], max_length: int | None = None) -> list[TokenizedExample]:
        """Each example of a task as rows of tokens, of fewer than the task's own limit if asked for."""
        limit = self.max_length(task) if max_length is None else min(max_length, self.max_length(task))
        return self.tasks[task].encode(inputs, self.tokenizer, limit)

    def collate(self, task: str, tokenized: Sequence[TokenizedExample]) -> Batch:
        """Some examples of a task as one batch."""
        rows = [row for tokenized_example in tokenized for row in tokenized_example.rows]
        batch = pack([row.ids for row in rows], [row.segments for row in rows], task)
        outputs_per_example = tuple(
            self.tasks[task].count_outputs(tokenized_example) for tokenized_example in tokenized
        )
        return replace(
            batch, outputs_per_example=outputs_per_example, indices=self.tasks[task].indices(tokenized, batch)
        )

    def metric(self, task: str) -> str:
        """The metric a task is chosen by."""
        return self.tasks[task].metric or self.targets[task].target.default_metric

    def _add_head(self, name: str, width: int) -> None:
        task = self.tasks[name]
        sizes = task.feature_size(width), self.targets[name].outputs(loss_of(task))
        key, signature = self.head_of(name), (task.head, *sizes)
        if key not in self.heads:
            self.heads[key] = task.build_head(*sizes, self.encoder)
            self._shared[key] = signature
        elif self._shared[key] != signature:
            raise ConfigError(
                f"tasks.{name}.head: shares the head {task.head.share!r}, but does not agree with the other tasks that "
                f"share it: this one has {sizes[0]} inputs and {sizes[1]} outputs with {task.head!r}; the first has "
                f"{self._shared[key][1]} inputs and {self._shared[key][2]} outputs with {self._shared[key][0]!r}"
            )

    def head_of(self, task: str) -> str:
        """The name in `heads` of a task's head, its own or the one it shares."""
        chosen = self.tasks[task]
        if chosen.head.share is None and chosen.common_head is not None:
            return chosen.common_head  # no task's key, so never in the way of a task of this name
        return task_key(chosen.head.share or task)


def with_pooling(task: Task, target: FittedTarget, conditioning: Conditioning) -> Task:
    """The task with its own pooler, else the first token where labels feed that, else the mean."""
    task = task.without_files()  # which are no part of a network
    if task.pooling is not None:
        return task
    fed = conditioning.reads_first_token and target.row_labels
    return task.model_copy(update={"pooling": Cls() if fed else Mean()})


def network_shape(
    config: EncoderConfig, tasks: Mapping[str, Task], targets: Mapping[str, FittedTarget]
) -> NetworkShape:
    """What conditioning methods may know of a network."""
    return NetworkShape(
        config=config,
        tasks=tuple(tasks),
        labels={name: target.row_labels for name, target in targets.items() if target.row_labels},
        label_losses={name: target.label_loss for name, target in targets.items() if target.row_labels},
        siamese=frozenset(name for name, task in tasks.items() if task.siamese),
        compared=frozenset(name for name, task in tasks.items() if task.compares),
    )


def loss_of(task: Task) -> Loss:
    """The loss a task trains with."""
    return task.loss or task.target().default_loss
