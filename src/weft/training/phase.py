"""One phase of a run: which parameters learn, and one update of them after the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from weft.checkpoints.state import below, optimizer_tensors, prefixed, restore_optimizer
from weft.config.experiment import TrainLayers
from weft.losses import LossFunction
from weft.model.network import Network
from weft.tensors import Batch
from weft.training.accelerator import Hardware
from weft.training.average import WeightAverage
from weft.training.divergence import LearnedBatch, check_finite, total
from weft.training.gradients import assign, clear, collect, project_conflicts
from weft.training.mismatches import is_contrastable
from weft.training.optimizer import adamw, parameter_groups
from weft.training.plan import PhasePlan, Together
from weft.training.schedule import scale
from weft.training.state import TrainingState
from weft.training.task_batches import TaskBatches
from weft.training.weighting import LossWeights

Learned = Callable[[str, float, Batch, bool], None]  # told of every batch: task, loss, itself, if it took a pass
COMPARED = 64  # rows of each task whose gradients are compared
_SHARED = ("encoder.", "conditioner.")  # weights that are no head's


class PhaseRun:
    """A network, its optimizer and the rows it learns from, ready for `update`."""

    def __init__(
        self,
        network: Network,
        weights: LossWeights,
        batches: Mapping[str, TaskBatches],
        plan: PhasePlan,
        hardware: Hardware,
    ) -> None:
        self.network, self.weights, self.batches, self.plan = network, weights, batches, plan
        self.hardware = hardware
        self.losses = network.losses()
        self.contrasts = contrasts(network, plan)
        set_trainable(network, plan.train_layers)
        learning = {name: p for name, p in network.named_parameters() if p.requires_grad}
        self.parameters = {**learning, **{f"weights.{name}": p for name, p in weights.named_parameters()}}
        self.optimizer = self._build_optimizer()
        self.base_rates = [group["lr"] for group in self.optimizer.param_groups]
        self.began = self._shared_weights(clone=True) if plan.interpolate < 1 else {}
        self.average = None if plan.ema_decay is None else WeightAverage(learning, plan.ema_decay)
        self.model = hardware.prepare(network)
        for first, *others in plan.together:
            for task in others:
                batches[task].go_to(*batches[first].position)

    def windows(self, epoch: int, begin: int) -> Iterator[list[Together]]:
        """The passes of each update of an epoch, from the pass `begin` on."""
        order, size = self.plan.orders[epoch], self.plan.batches_per_update
        for start in range(begin, len(order), size):
            yield [self.plan.together[index] for index in order[start : start + size]]

    def update(self, window: Sequence[Together], state: TrainingState, learned: Learned) -> None:
        """One step of the optimizer from one pass for all tasks of each entry of the window."""
        self._set_rates(state)
        parameters = list(self.parameters.values())
        tasks = [task for together in window for task in together]
        shared = self._shared(tasks) if self.plan.pcgrad else []
        apart: dict[str, Tensor] = {}
        used: list[LearnedBatch] = []
        clear(parameters)
        for together in window:
            batches, losses = self._backward(together, len(tasks))
            for task, loss in losses.items():
                used.append((task, self.batches[task].lines))
                check_finite(f"the loss of task {task!r}", loss, state.step + 1, used[-1:])
            if self.plan.pcgrad:  # gradients must be apart before they are summed, or there is nothing left to project
                gradient, task = collect(shared), together[0]
                apart[task] = apart[task] + gradient if task in apart else gradient
                for parameter in shared:
                    parameter.grad = None
            for task, loss in losses.items():
                learned(task, loss, batches[task], task == together[0])
        if self.plan.pcgrad:
            rng = random.Random(f"{self.plan.seed} {state.step}")
            assign(shared, project_conflicts(list(apart.values()), rng))
        check_finite("the gradient", self._clip(parameters), state.step, used)
        self.optimizer.step()
        check_finite("a weight", total(parameters), state.step, used)
        state.updates += 1
        if self.average is not None:
            self.average.update(state.updates)

    def measured(self) -> AbstractContextManager[None]:
        """The network as it is measured and kept meanwhile: with the average of its weights, where there is one."""
        return nullcontext() if self.average is None else self.average.applied()

    @torch.no_grad()
    def finish(self) -> None:
        """Take the average of the weights, and all but the heads only as far from where it began as the plan says."""
        if self.average is not None:
            self.average.settle()
        ended = self._shared_weights()
        for name, begin in self.began.items():
            ended[name].copy_(torch.lerp(begin, ended[name], self.plan.interpolate))

    def losses_of_first_rows(self, task: str) -> Iterator[Tensor]:
        """The mean loss of a task's first rows in parts, a batch each, as large as in training."""
        for batch, share in self.batches[task].first(COMPARED):
            moved = batch.to(self.hardware.device)
            with self.hardware.autocast():
                loss = self._losses(self.network, {task: moved})[task]
            yield loss * share

    def tensors(self) -> dict[str, Tensor]:
        """All that an exact continuation needs beside the plain state."""
        tensors = {
            **prefixed("network", self.network.state_dict()),
            **prefixed("weights", self.weights.state_dict()),
            **prefixed("optimizer", optimizer_tensors(self.optimizer, self.parameters)),
            **prefixed("began", self.began),
            **prefixed("average", {} if self.average is None else self.average.tensors),
            "rng": torch.get_rng_state(),
        }
        if torch.cuda.is_available():
            tensors["rng_device"] = torch.cuda.get_rng_state()
        return tensors

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `tensors` gave."""
        self.network.load_state_dict(below("network", tensors))
        self.weights.load_state_dict(below("weights", tensors))
        restore_optimizer(self.optimizer, self.parameters, below("optimizer", tensors))
        self.began = {name: tensor.to(self.hardware.device) for name, tensor in below("began", tensors).items()}
        if self.average is not None:
            self.average.load(below("average", tensors))
        torch.set_rng_state(tensors["rng"])
        if "rng_device" in tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(tensors["rng_device"])

    def _build_optimizer(self) -> torch.optim.Optimizer:
        groups = parameter_groups(
            self.parameters.items(),
            learning_rate=self.plan.learning_rate,
            head_learning_rate=self.plan.head_learning_rate,
            weight_decay=self.plan.weight_decay,
            layer_decay=self.plan.layer_decay,
            depth=self.network.encoder.config.num_hidden_layers,
        )
        return adamw(groups)

    def _set_rates(self, state: TrainingState) -> None:
        factor = scale(state.updates, self.plan.updates, self.plan.warmup_ratio, self.plan.lr_scheduler_type)
        for group, rate in zip(self.optimizer.param_groups, self.base_rates, strict=True):
            group["lr"] = rate * factor
        state.learning_rate = self.optimizer.param_groups[0]["lr"]

    def _shared(self, window: Sequence[str]) -> list[nn.Parameter]:
        """The parameters that several tasks of the window read; a head of one task conflicts with nobody."""
        own = {name: p for name, p in self.parameters.items() if not name.startswith("weights.")}
        return [p for name, p in own.items() if len(self.network.tasks_of(name) & set(window)) > 1]

    def _backward(self, together: Together, share: int) -> tuple[dict[str, Batch], dict[str, float]]:
        """The next batches of tasks that learn together and their losses, whose part of the gradient is there then."""
        batches = {task: self.batches[task].next().to(self.hardware.device) for task in together}
        whole = []
        with self.hardware.autocast():
            losses = self._losses(self.model, batches, learning=True)
            for task, loss in losses.items():
                extra = None if task in self.contrasts else self.network.extra_loss(task)
                whole.append(self.weights(task, loss if extra is None else loss + extra))
        self.hardware.backward(torch.stack(whole).sum() / share)
        return batches, {task: float(loss.detach()) for task, loss in losses.items()}

    def _losses(self, model: nn.Module, batches: Mapping[str, Batch], learning: bool = False) -> dict[str, Tensor]:
        """The loss of each batch: of what the task's head says, and says again where that must agree, or of what it
        reads."""
        losses = {}
        if not self.contrasts.keys() & batches:
            scores, tasks = model(batches), self.network.tasks
            twice = {task: batch for task, batch in batches.items() if learning and tasks[task].consistency}
            again = model(twice) if twice else {}
            for task, batch in batches.items():
                losses[task] = self.losses[task](scores[task], batch)
                if task in again:
                    second = self.losses[task](again[task], batch)
                    apart = self.network.targets[task].disagreement(scores[task], again[task], batch)
                    losses[task] = (losses[task] + second) / 2 + tasks[task].consistency * apart
            return losses
        for task, batch in batches.items():  # one: rows that are compared with each other are drawn by their labels
            assert batch.gold is not None
            losses[task] = self.contrasts[task](model(batch, features=True).values, batch.gold)
        return losses

    def _shared_weights(self, clone: bool = False) -> dict[str, Tensor]:
        """The weights that learn and are of no head, by name; as they are now, or as they stay."""
        tensors = {name: p.detach() for name, p in self.parameters.items() if name.startswith(_SHARED)}
        return {name: tensor.clone() if clone else tensor for name, tensor in tensors.items()}

    def _clip(self, parameters: list[nn.Parameter]) -> float:
        """Shorten the gradient where it is too long; what comes back is finite if all of it is."""
        if self.plan.max_grad_norm:
            return self.hardware.clip_gradient(parameters, self.plan.max_grad_norm)
        return total(parameter.grad for parameter in parameters if parameter.grad is not None)


def contrasts(network: Network, plan: PhasePlan) -> dict[str, LossFunction]:
    """The loss of what heads read, for each task of a phase whose answers it suits."""
    suited = [
        name for name in plan.tasks if plan.loss is not None and is_contrastable(network.targets[name], plan.loss)
    ]
    return {name: plan.loss.build(network.targets[name].label_counts) for name in suited if plan.loss is not None}


def set_trainable(network: Network, layers: TrainLayers) -> None:
    """Let the whole network learn, or of its encoder only the top `layers` blocks."""
    network.requires_grad_(True)
    if layers == "all":
        return
    encoder = network.encoder
    encoder.requires_grad_(False)
    blocks = list(encoder.blocks)
    for block in blocks if layers == "blocks" else blocks[max(0, len(blocks) - layers) :]:
        block.requires_grad_(True)


def count_trainable(network: Network, layers: Iterable[TrainLayers], tasks: Iterable[str]) -> int:
    """How many parameters learn from these tasks where most of the encoder's do; it is left to train as before."""
    learned = frozenset(tasks)
    before = {name: parameter.requires_grad for name, parameter in network.named_parameters()}
    counts = []
    for choice in layers:
        set_trainable(network, choice)
        trained = ((name, parameter) for name, parameter in network.named_parameters() if parameter.requires_grad)
        counts.append(sum(parameter.numel() for name, parameter in trained if network.tasks_of(name) & learned))
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(before[name])
    return max(counts, default=0)
