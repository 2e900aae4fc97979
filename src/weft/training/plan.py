"""What every phase of a run will do, worked out from the config before the first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.config.experiment import Experiment, Phase, TrainLayers
from weft.losses import Loss
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
    loss: Loss | None = None  # of what heads read, for the tasks it suits
    fits: bool = False  # heads, at once, in the single epoch it then has
    interpolate: float = 1.0  # how far the encoder goes in the end

    @property
    def measured(self) -> bool:
        """Whether its heads have learned what the dev rows ask for."""
        return self.loss is None

    @property
    def batches(self) -> int:
        """Of all epochs."""
        return sum(len(order) for order in self.orders)

    @property
    def updates(self) -> int:
        """Steps of the optimizer in all epochs; the last of an epoch may have fewer batches."""
        return sum(-(-len(order) // self.batches_per_update) for order in self.orders)


def plan_phases(experiment: Experiment, batches: Sequence[Mapping[str, int]]) -> list[PhasePlan]:
    """The phases of an experiment, or the single one it has without any.

    Args:
        batches: of each phase, how many batches one pass over the rows of each task has.
    """
    phases = zip(experiment.stretches, batches, experiment.trained_layers, strict=True)
    return [_plan(phase, experiment, counts, layers) for phase, counts, layers in phases]


def _plan(phase: Phase, experiment: Experiment, batches: Mapping[str, int], layers: TrainLayers) -> PhasePlan:
    settings = experiment.training
    tasks = phase.tasks or tuple(experiment.tasks)
    rate = phase.learning_rate or settings.learning_rate
    assert rate is not None, "presets give what a config leaves out"
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
        loss=phase.loss,
        fits=phase.fit is not None,
        interpolate=phase.interpolate or 1.0,
    )


def _orders(phase: Phase, experiment: Experiment, sizes: list[int]) -> list[list[int]]:
    """The order of tasks in every epoch of a phase."""
    if phase.fit is not None:
        return [[]]
    sampler = phase.sampling or experiment.sampling
    if phase.steps is not None:
        return [sampler.order([phase.steps] * len(sizes), 0, 1, experiment.seed)]
    epochs = phase.epochs or experiment.training.epochs
    assert epochs is not None, "presets give what a config leaves out"
    return [sampler.order(sizes, epoch, epochs, experiment.seed) for epoch in range(epochs)]
