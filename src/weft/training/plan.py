"""What every phase of a run will do, worked out from the config before the first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.config.experiment import Experiment, Phase, TrainLayers
from weft.losses import Loss
from weft.training.schedule import DecayShape

Together = tuple[str, ...]  # tasks that learn from the same rows in one pass of the encoder; most are alone


@dataclass(frozen=True)
class PhasePlan:
    """One phase in plain values: nothing is left to be looked up elsewhere."""

    tasks: tuple[str, ...]
    together: tuple[
        Together, ...
    ]  # the same tasks, those that learn from the same rows in one pass of the encoder as one
    orders: list[list[int]]  # of each epoch: who learns from each batch, by its index in `together`
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
    words: bool = True  # whether these begin with what the words of labels tell
    interpolate: float = 1.0  # how far the encoder goes in the end
    ema_decay: float | None = None  # of the average of weights, where there is one

    @property
    def measured(self) -> bool:
        """Whether its heads have learned what the dev rows ask for."""
        return self.loss is None

    @property
    def batches(self) -> int:
        """Of all tasks and epochs."""
        return sum(len(self.together[index]) for order in self.orders for index in order)

    @property
    def updates(self) -> int:
        """Steps of the optimizer in all epochs; the last of an epoch may have fewer passes."""
        return sum(-(-len(order) // self.batches_per_update) for order in self.orders)


def plan_phases(experiment: Experiment, batches: Sequence[Mapping[Together, int]]) -> list[PhasePlan]:
    """The phases of an experiment, or the single one it has without any.

    Args:
        batches: of each phase, how many batches the rows of tasks that may learn together make.
    """
    phases = zip(experiment.stretches, batches, experiment.trained_layers, strict=True)
    return [_plan(phase, experiment, counts, layers) for phase, counts, layers in phases]


def _plan(phase: Phase, experiment: Experiment, batches: Mapping[Together, int], layers: TrainLayers) -> PhasePlan:
    settings = experiment.training
    tasks = phase.tasks or experiment.learned
    rate = phase.learning_rate or settings.learning_rate
    assert rate is not None, "presets give what a config leaves out"
    one_of_each = len(tasks) if settings.conflict == "pcgrad" else 1
    sizes = _sizes(tasks, batches, apart=settings.conflict == "pcgrad")
    return PhasePlan(
        tasks=tasks,
        together=tuple(sizes),
        orders=_orders(phase, experiment, list(sizes.values())),
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
        words=phase.words is not False,
        interpolate=phase.interpolate or 1.0,
        ema_decay=None if phase.fit is not None else settings.ema_decay,
    )


def _sizes(tasks: Sequence[str], batches: Mapping[Together, int], apart: bool) -> dict[Together, int]:
    """The batches of the tasks of a phase, those that learn together as one unless they are to be kept apart."""
    sizes: dict[Together, int] = {}
    for task in tasks:
        group, size = next((group, size) for group, size in batches.items() if task in group)
        sizes[(task,) if apart else tuple(name for name in tasks if name in group)] = size
    return sizes


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
