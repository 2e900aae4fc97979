"""How long a run would take, from one timed step of each task."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from weft.config.experiment import Experiment
from weft.model.devices import Device, choose_device
from weft.model.network import Network
from weft.tensors import Batch
from weft.training.accelerator import Hardware, choose_precision
from weft.training.fit import MOST_READ, fit_layer, read_rows
from weft.training.frozen import Freezing, FrozenLayers, KeptStates, encoder_source
from weft.training.kept_weights import WeightsInMemory
from weft.training.phase import COMPARED, PhaseRun
from weft.training.plan import PhasePlan, Together, plan_phases
from weft.training.prepare import prepare
from weft.training.probe import build_probe
from weft.training.shared import Shared
from weft.training.state import TrainingState
from weft.training.streams import count_batches, phase_streams
from weft.training.task_batches import TaskBatches
from weft.training.task_data import Fold
from weft.training.weighting import LossWeights

_ALWAYS = 0.3  # seconds of reading, reporting and writing
_MOST_TOKENS = 1024  # of a timed batch; longer ones take as much longer as they have more


@dataclass(frozen=True)
class RunTime:
    """About how long a run takes, in seconds."""

    steps: float  # and all else that every run does
    states: Mapping[Hashable, float]  # of each window of layers that do not learn: computed once by all that share it
    room: float  # the part of what a process can keep of them that these need


def can_be_timed(experiment: Experiment) -> bool:
    """Whether it is known beforehand how many steps there are: rows of raw text are, when all of it is tokenized."""
    return all(task.format is None for task in experiment.tasks.values())


class RunTimer:
    """Tells how long a run would take; its data and network are made ready, and one step of each task is timed."""

    def __init__(
        self,
        experiment: Experiment,
        base: Path,
        shared: Shared | None = None,
        *,
        device: Device = "auto",
        fold: Fold | None = None,
    ) -> None:
        self.shared = shared or Shared()
        prepared = prepare(experiment, base, device=device, shared=self.shared, fold=fold)
        self.data, network = prepared.complete()
        self.experiment = experiment = prepared.experiment
        where = choose_device(device)
        self.network = network.to(where)
        self.hardware = Hardware(where, choose_precision(where, experiment.training.precision), (), Path())
        self.train = {name: self.data[name].train for name in experiment.learned}
        self.streams = phase_streams(experiment, network, self.train, _FirstBatch)
        self.plans = plan_phases(experiment, count_batches(self.streams))
        rows = {name: prepared.rows.by_origin(name) for name in prepared.rows.parts}
        self.kept, source = KeptStates(), encoder_source(experiment)
        freezing = Freezing(network, self.plans, rows, self.kept, source)
        self.frozen = [freezing.in_phase(number) for number in range(len(self.plans))]
        asks = experiment.training.baselines and experiment.encoder.scratch is None
        learned = {name: rows[name] for name in experiment.learned if name in rows}
        self.probe = build_probe(network, self.data, learned, self.kept, source) if asks else None

    def time(self) -> RunTime:
        """The seconds of a whole run: its steps, fits, evaluations and final measurement."""
        windows = self.windows()
        each = self._seconds_per_state()
        total = _ALWAYS + each * self._unshared_tokens() + self._beside()
        for frozen, batches, plan in zip(self.frozen, self.streams, self.plans, strict=True):
            self.network.frozen = frozen
            timed = _TimedPhase(self.network, batches, plan, self.hardware)
            total += timed.learning() + timed.fitting()
            if plan.measured:
                total += len(plan.orders) * (timed.reading(self._dev_rows()) + timed.keeping())
                total += timed.comparing() if self.experiment.training.gradient_agreement else 0.0
        if self.plans:
            total += timed.reading({name: len(self.data[name].test) for name in self.train})
        held = sum(windows.values()) * self.network.encoder.config.hidden_size * 4
        return RunTime(total, {name: tokens * each for name, tokens in windows.items()}, held / self.kept.most)

    def windows(self) -> dict[Hashable, int]:
        """The tokens of every window of states that a run computes unless another has, by name."""
        shared = [frozen for frozen in self._stacks() if frozen.kept is self.kept]
        return {name: tokens for frozen in shared for name, tokens in frozen.windows().items()}

    def _stacks(self) -> list[FrozenLayers]:
        """The layers that do not learn, of every phase and of the probe."""
        found = [*self.frozen, None if self.probe is None else self.probe.frozen]
        return [frozen for frozen in found if isinstance(frozen, FrozenLayers)]

    def _unshared_tokens(self) -> int:
        """The tokens of rows whose states every run computes for itself: of layers that have learned before, and where
        there are too many to be kept, those that the probe reads.
        """
        stacks = [frozen for frozen in self._stacks() if frozen.kept is not self.kept]
        learned = sum(sum(frozen.windows().values()) for frozen in stacks)
        if self.probe is None or (isinstance(self.probe.frozen, FrozenLayers) and self.probe.frozen.windows()):
            return learned
        rows = {name: len(self.train[name]) + len(self.data[name].report[1]) for name in self.probe.tasks}
        return learned + round(sum(count * self.streams[0][name].tokens_per_row for name, count in rows.items()))

    def _seconds_per_state(self) -> float:
        """The seconds that the states of a token take in the deepest stack that does not learn; 0 without any."""
        frozen = max(self._stacks(), key=lambda frozen: frozen.depth, default=None)
        if frozen is None:
            return 0.0
        batch = next(iter(self.streams[0].values())).next().to(self.hardware.device)
        self.network.eval()
        frozen.compute(batch)  # the first is slower
        began = time.perf_counter()
        frozen.compute(batch)
        return (time.perf_counter() - began) / len(batch.ids)

    def _beside(self) -> float:
        """The seconds of baselines: those without an encoder, measured as they will be, and the probe's heads."""
        if not self.experiment.training.baselines:
            return 0.0
        reported = {name: self.data[name].report[1] for name in self.train if self.data[name].report[1]}
        began = time.perf_counter()
        for name, rows in reported.items():
            self.shared.baselines(self.network.targets[name], self.train[name], rows)
        taken = time.perf_counter() - began
        probe = self.probe
        if probe is None:
            return taken
        return taken + sum(_fit(probe, name, self.streams[0][name], self.hardware) for name in probe.tasks)

    def _dev_rows(self) -> dict[str, int]:
        """How many rows of each task are looked at after an epoch."""
        most = self.experiment.training.max_dev_rows
        return {name: min(len(self.data[name].dev), most) for name in self.experiment.learned}


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

    def fitting(self) -> float:
        """The seconds of reading all rows once and fitting heads to them, where a phase does."""
        if not self.plan.fits:
            return 0.0
        heads = sum(_fit(self.network, task, self.batches[task], self.hardware) for task in self.plan.tasks)
        return heads + self.reading({task: len(self.batches[task].dataset) for task in self.plan.tasks})

    def keeping(self) -> float:
        """The seconds of keeping the weights of an epoch."""
        began = time.perf_counter()
        WeightsInMemory(self.network).put(self.network, "timed")
        return time.perf_counter() - began

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


def _fit(network: Network, task: str, batches: _FirstBatch, hardware: Hardware) -> float:
    """The seconds of fitting a head of its own to what it reads of all rows: here, of the first again and again."""
    network.eval()
    rows = read_rows(network, task, [batches.next()], hardware)
    times = max(1, min(round(len(batches.dataset) / len(batches.drawn)), MOST_READ // rows.features.numel()))
    layer = deepcopy(network.tasks[task].head.linear_layer(network.heads[network.head_of(task)])).cpu()
    many = replace(
        rows, features=rows.features.repeat(times, 1), gold=rows.gold.repeat(times, *[1] * (rows.gold.dim() - 1))
    )
    began = time.perf_counter()
    fit_layer(layer, [many])
    return time.perf_counter() - began
