"""The streams of batches that each phase of a run learns from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from weft.config.experiment import Experiment
from weft.data.dataset import Dataset, StoredRows
from weft.data.records import Example
from weft.losses import Loss
from weft.losses.supervised_contrastive import SupervisedContrastive
from weft.model.network import Network
from weft.targets import FittedTarget
from weft.tasks import Task
from weft.training.mismatches import is_contrastable
from weft.training.plan import Together
from weft.training.task_batches import TaskBatches

Stream = TypeVar("Stream", bound=TaskBatches)


def phase_streams(
    experiment: Experiment, network: Network, train: Mapping[str, Dataset], stream: type[Stream]
) -> list[dict[str, Stream]]:
    """The streams of each phase, of this class; phases that gather their batches alike go on with the same.

    Tasks that read the same, through the same encoder, follow the first of them: see `count_batches`.
    """
    known: dict[str, Stream] = {}
    leaders: dict[Hashable, Stream] = {}
    phases: list[dict[str, Stream]] = []
    for phase in experiment.stretches:
        phases.append({})
        for name, rows in train.items():
            batching = phase.batching(experiment.training)
            balanced = phase.loss is not None and is_contrastable(network.targets[name], phase.loss)
            anchored = balanced and network.tasks[name].text_count == 1 and has_anchors(phase.loss)
            key = repr((name, batching, balanced, anchored, phase.max_length))
            if key not in known:
                learned = (
                    StoredRows([*rows, *anchor_rows(network.tasks[name], network.targets[name])]) if anchored else rows
                )
                known[key] = stream(
                    network, name, learned, batching, experiment.seed, balanced=balanced, max_length=phase.max_length
                )
                if len(train) > 1 and not balanced and network.tasks[name].format is None:
                    way = repr((batching, phase.max_length)), network.conditioner.encoder_key(name)
                    first = leaders.setdefault((*way, known[key].tokens), known[key])
                    known[key].follow(first)
            phases[-1][name] = known[key]
    return phases


def has_anchors(loss: Loss | None) -> bool:
    """Whether a loss wants the words of labels among the rows."""
    return isinstance(loss, SupervisedContrastive) and loss.anchors


def anchor_rows(task: Task, target: FittedTarget) -> list[Example]:
    """A row of each label's words, which stands in no file."""
    return [Example((task.label_text(name),), target.target.gold_of(name), 0) for name in target.row_labels]


def count_batches(streams: Sequence[Mapping[str, TaskBatches]]) -> list[dict[Together, int]]:
    """Of each phase, the tasks that learn from the same rows in one pass of the encoder, and how many batches that is.

    Most tasks are alone.
    """
    return [
        {tasks: len(batches[tasks[0]]) for tasks in _together({name: rows.leader for name, rows in batches.items()})}
        for batches in streams
    ]


def _together(leaders: Mapping[str, str]) -> list[Together]:
    """The tasks in groups of one leader."""
    return [
        tuple(task for task, other in leaders.items() if other == leader) for leader in dict.fromkeys(leaders.values())
    ]
