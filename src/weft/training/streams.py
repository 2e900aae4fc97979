"""The streams of batches that each phase of a run learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from weft.config.experiment import Experiment
from weft.data.dataset import Dataset
from weft.model.network import Network
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
            key = repr((name, batching, balanced, phase.max_length))
            if key not in known:
                known[key] = stream(
                    network, name, rows, batching, experiment.seed, balanced=balanced, max_length=phase.max_length
                )
            phases[-1][name] = known[key]
    return phases


def count_batches(streams: Sequence[Mapping[str, TaskBatches]]) -> list[dict[str, int]]:
    """Of each phase, how many batches one pass over the rows of each task has."""
    return [{name: len(rows) for name, rows in batches.items()} for batches in streams]
