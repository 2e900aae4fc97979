"""What the encoder already knows of each task: heads fitted to its states as it was loaded."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import torch

from weft.config.training import Batching
from weft.data.dataset import Splits
from weft.heads.linear import Linear
from weft.model.evaluate import evaluate
from weft.model.network import Network
from weft.pooling.mean import Mean
from weft.tasks import Task
from weft.training.accelerator import Hardware
from weft.training.fit import fit_heads
from weft.training.frozen import Freezing, KeptStates, RowsOfFiles
from weft.training.mismatches import can_be_fitted
from weft.training.task_batches import TaskBatches


def measure_probe(
    network: Network,
    data: Mapping[str, Splits],
    rows: RowsOfFiles,
    hardware: Hardware,
    kept: KeptStates,
    source: Hashable,
) -> dict[str, dict[str, float]]:
    """The scores that a logistic regression on the encoder's mean states reaches on each task's rows to report on.

    The network must not have learned anything yet. Of two texts, the two states are compared; words are told by their
    own. Tasks that cannot be fitted at once, or have no such rows, are left out.

    Args:
        rows: what the tasks read, file by file.
        kept: where states of the encoder are kept.
        source: the encoder, as these states are known by.
    """
    probe = build_probe(network, data, rows, kept, source)
    if probe is None:
        return {}
    probe.to(hardware.device)
    batches = {name: TaskBatches(probe, name, data[name].train, Batching(), 0) for name in probe.tasks}
    fit_heads(probe, list(probe.tasks), batches, hardware, words=False)
    results = evaluate(probe, {name: data[name].report[1] for name in probe.tasks}, intervals=False)
    return {name: result.measures.scores for name, result in results.items()}


def build_probe(
    network: Network, data: Mapping[str, Splits], rows: RowsOfFiles, kept: KeptStates, source: Hashable
) -> Network | None:
    """The network whose heads are fitted, with the states of its encoder; None where there is no task for it."""
    tasks = {name: as_probe(task) for name, task in network.tasks.items() if name in rows and data[name].report[1]}
    tasks = {name: task for name, task in tasks.items() if can_be_fitted(task, network.targets[name])}
    if not tasks:
        return None
    targets = {name: task.target().fit([row.gold for row in data[name].train]) for name, task in tasks.items()}
    with torch.random.fork_rng(devices=[]):  # so that a run is the same with and without baselines
        probe = Network(network.encoder, network.tokenizer, tasks, targets)
    probe.frozen = Freezing(probe, (), {name: rows[name] for name in tasks}, kept, source).whole()
    return probe


def as_probe(task: Task) -> Task:
    """The task with the plainest way to read its rows: mean states, a linear head, two texts compared."""
    plain = {"head": Linear(), "pooling": Mean(), "encode_as": "siamese", "output": "linear"}
    known = {name: value for name, value in plain.items() if name in type(task).model_fields}
    return task.model_copy(update=known)
