"""The streams of batches that each phase of a run learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from weft.config.experiment import Experiment
from weft.data.dataset import Dataset, StoredRows
from weft.data.label_words import label_words
from weft.data.records import Example
from weft.losses import Loss
from weft.losses.supervised_contrastive import SupervisedContrastive
from weft.model.network import Network
from weft.targets import FittedTarget
from weft.training.mismatches import is_contrastable
from weft.training.task_batches import TaskBatches

Stream = TypeVar("Stream", bound=TaskBatches)


def phase_streams(
    experiment: Experiment, network: Network, train: Mapping[str, Dataset], stream: type[Stream]
) -> list[dict[str, Stream]]:
    """The streams of each phase, of this class; phases that gather their batches alike go on with the same."""
    known: dict[str, Stream] = {}
    phases: list[dict[str, Stream]] = []
    for phase in experiment.stretches:
        phases.append({})
        for name, rows in train.items():
            batching = phase.batching(experiment.training)
            balanced = phase.loss is not None and is_contrastable(network.targets[name], phase.loss)
            anchored = balanced and network.tasks[name].text_count == 1 and has_anchors(phase.loss)
            key = repr((name, batching, balanced, anchored, phase.max_length))
            if key not in known:
                learned = StoredRows([*rows, *anchor_rows(network.targets[name])]) if anchored else rows
                known[key] = stream(
                    network, name, learned, batching, experiment.seed, balanced=balanced, max_length=phase.max_length
                )
            phases[-1][name] = known[key]
    return phases


def has_anchors(loss: Loss | None) -> bool:
    """Whether a loss wants the words of labels among the rows."""
    return isinstance(loss, SupervisedContrastive) and loss.anchors


def anchor_rows(target: FittedTarget) -> list[Example]:
    """A row of each label's words, which stands in no file."""
    return [Example((label_words(name) or name,), target.target.gold_of(name), 0) for name in target.row_labels]


def count_batches(streams: Sequence[Mapping[str, TaskBatches]]) -> list[dict[str, int]]:
    """Of each phase, how many batches one pass over the rows of each task has."""
    return [{name: len(rows) for name, rows in batches.items()} for batches in streams]
