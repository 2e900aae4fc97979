"""How long a run would take, from one timed step of each task."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import torch

from weft.config.experiment import Experiment
from weft.data.dataset import Splits
from weft.model.devices import Device, choose_device
from weft.model.network import Network
from weft.tensors import Batch
from weft.training.accelerator import Hardware, choose_precision
from weft.training.frozen import Freezing, KeptStates
from weft.training.phase import COMPARED, PhaseRun
from weft.training.plan import PhasePlan, Together, plan_phases
from weft.training.prepare import prepare
from weft.training.shared import Shared
from weft.training.state import TrainingState
from weft.training.streams import count_batches, phase_streams
from weft.training.task_batches import TaskBatches
from weft.training.task_data import Fold
from weft.training.weighting import LossWeights

_ALWAYS = 0.3  # seconds of reading, reporting and writing
_MOST_TOKENS = 1024  # of a timed batch; longer ones take as much longer as they have more


def seconds_per_run(
    experiment: Experiment,
    base: Path,
    shared: Shared | None = None,
    *,
    device: Device = "auto",
    fold: Fold | None = None,
) -> float | None:
    """An estimate of the seconds of a whole run: its steps, evaluations and final measurement.

    What the first of many runs makes for all (an encoder loaded, states of frozen layers) is not counted. None for raw
    text, whose rows are known only when all of it is tokenized.
    """
    if any(task.format is not None for task in experiment.tasks.values()):
        return None
    prepared = prepare(experiment, base, device=device, shared=shared, fold=fold)
    data, network = prepared.complete()
    experiment = prepared.experiment
    where = choose_device(device)
    hardware = Hardware(where, choose_precision(where, experiment.training.precision), (), Path())
    train = {name: data[name].train for name in experiment.learned}
    streams = phase_streams(experiment, network.to(where), train, _FirstBatch)
    plans = plan_phases(experiment, count_batches(streams))
    rows = {name: prepared.rows.by_origin(name) for name in prepared.rows.parts}
    freezing = Freezing(network, plans, rows, KeptStates(), "timed")
    total = _ALWAYS
    for number, plan in enumerate(plans):
        network.frozen = freezing.in_phase(number)
        timed = _TimedPhase(network, streams[number], plan, hardware)
        total += timed.learning() + len(plan.orders) * timed.reading(_dev_rows(experiment, data))
        total += timed.comparing() if experiment.training.gradient_agreement else 0.0
    return total + (timed.reading({name: len(data[name].test) for name in train}) if plans else 0.0)


def _dev_rows(experiment: Experiment, data: Mapping[str, Splits]) -> dict[str, int]:
    """How many rows of each task are looked at after an epoch."""
    return {name: min(len(data[name].dev), experiment.training.max_dev_rows) for name in experiment.learned}


class _FirstBatch(TaskBatches):
    """The first rows of a task again and again, in a batch that is not too large to be timed."""

    def next(self) -> Batch:
        self.drawn, tokens = [], 0
        for row in range(len(self.batches[0])):
            tokens += self.rows.lengths[row]
            if self.drawn and tokens > _MOST_TOKENS:
                break
            self.drawn.append(row)
        return self._batch(self.drawn)

    @property
    def tokens_per_row(self) -> float:
        return sum(self.rows.lengths) / len(self.dataset)

    @property
    def tokens_per_batch(self) -> float:
        return sum(self.rows.lengths[row] for batch in self.batches for row in batch) / len(self)


class _TimedPhase:
    """The seconds that a token of each task takes in one phase: to be learned from, and to be read."""

    def __init__(
        self, network: Network, batches: Mapping[str, _FirstBatch], plan: PhasePlan, hardware: Hardware
    ) -> None:
        self.network, self.batches, self.plan, self.hardware = network, batches, plan, hardware
        self.phase = PhaseRun(network, LossWeights(dict.fromkeys(batches, 1.0)), batches, plan, hardware)
        for task in batches if network.frozen is not None else ():
            self._read(task)  # so that what is computed once is not timed
        self._learn(plan.together[0])  # which makes room for the optimizer
        self.learned = {tasks[0]: self._learn(tasks) for tasks in plan.together}
        self.read = {task: self._read(task) for task in batches}

    def learning(self) -> float:
        """The seconds of all steps."""
        steps = Counter(self.plan.together[index][0] for order in self.plan.orders for index in order)
        return sum(count * self.learned[task] * self.batches[task].tokens_per_batch for task, count in steps.items())

    def reading(self, rows: Mapping[str, int]) -> float:
        """The seconds of looking at so many rows of each task."""
        return sum(count * self.batches[task].tokens_per_row * self.read[task] for task, count in rows.items())

    def comparing(self) -> float:
        """The seconds of comparing the tasks' gradients after every epoch."""
        if len(self.plan.tasks) < 2 or self.plan.train_layers == 0:
            return 0.0
        rows = {task: min(COMPARED, len(self.batches[task].dataset)) for task in self.plan.tasks}
        slowest = max(self.learned.values())
        each = sum(count * self.batches[task].tokens_per_row * slowest for task, count in rows.items())
        return len(self.plan.orders) * each

    def _learn(self, together: Together) -> float:
        """The seconds per token of a step."""
        self.network.train()
        began = time.perf_counter()
        self.phase.update([together], TrainingState(), lambda task, loss, batch, passed: None)
        return (time.perf_counter() - began) / len(self.batches[together[0]].next().ids)

    @torch.inference_mode()
    def _read(self, task: str) -> float:
        """The seconds per token of scores."""
        self.network.eval()
        batch = self.batches[task].next()
        began = time.perf_counter()
        float(self.network(batch.to(self.hardware.device)).values.sum())  # waits for the device
        return (time.perf_counter() - began) / len(batch.ids)
