"""What every phase of a run will do, worked out from the config before the first step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.config.experiment import Experiment, Phase, TrainLayers
from weft.training.schedule import DecayShape


@dataclass(frozen=True)
class PhasePlan:
    """One phase in plain values: nothing is left to be looked up elsewhere."""

    tasks: tuple[str, ...]
    orders: list[list[int]]  # of each epoch: the task of each batch, by its index in `tasks`
    train_layers: TrainLayers
    learning_rate: float
    head_learning_rate: float
    weight_decay: float
    layer_decay: float
    warmup_ratio: float
    lr_scheduler_type: DecayShape
    max_grad_norm: float  # 0 for no limit
    batches_per_update: int
    pcgrad: bool
    seed: int

    @property
    def batches(self) -> int:
        """Of all epochs."""
        return sum(len(order) for order in self.orders)

    @property
    def updates(self) -> int:
        """Steps of the optimizer in all epochs; the last of an epoch may have fewer batches."""
        return sum(-(-len(order) // self.batches_per_update) for order in self.orders)


def plan_phases(experiment: Experiment, batches: Mapping[str, int]) -> list[PhasePlan]:
    """The phases of an experiment, or the single one it has without any.

    Args:
        batches: how many batches one pass over the rows of each task has.
    """
    phases = experiment.phases or (Phase(),)
    layers = experiment.trained_layers
    return [_plan(phase, experiment, batches, choice) for phase, choice in zip(phases, layers, strict=True)]


def _plan(phase: Phase, experiment: Experiment, batches: Mapping[str, int], layers: TrainLayers) -> PhasePlan:
    settings = experiment.training
    tasks = phase.tasks or tuple(experiment.tasks)
    rate = phase.learning_rate or settings.learning_rate
    one_of_each = len(tasks) if settings.conflict == "pcgrad" else 1
    return PhasePlan(
        tasks=tasks,
        orders=_orders(phase, experiment, [batches[name] for name in tasks]),
        train_layers=layers,
        learning_rate=rate,
        head_learning_rate=phase.head_learning_rate or settings.head_learning_rate or rate,
        weight_decay=settings.weight_decay,
        layer_decay=settings.layer_decay,
        warmup_ratio=settings.warmup_ratio,
        lr_scheduler_type=settings.lr_scheduler_type,
        max_grad_norm=settings.max_grad_norm,
        batches_per_update=settings.gradient_accumulation_steps or one_of_each,
        pcgrad=settings.conflict == "pcgrad",
        seed=experiment.seed,
    )


def _orders(phase: Phase, experiment: Experiment, sizes: list[int]) -> list[list[int]]:
    """The order of tasks in every epoch of a phase."""
    epochs = phase.epochs or experiment.training.epochs
    sampler = phase.sampling or experiment.sampling
    return [sampler.order(sizes, epoch, epochs, experiment.seed) for epoch in range(epochs)]
