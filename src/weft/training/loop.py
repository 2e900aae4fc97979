"""The training loop: phases, epochs and steps over many tasks, with exact resume."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from weft.checkpoints.state import below, load_state, optimizer_tensors, prefixed, restore_optimizer, save_state
from weft.config.experiment import Experiment, Phase, TrainLayers
from weft.data.atomic import write_atomically
from weft.data.dataset import Splits
from weft.errors import ConfigError, WeftError
from weft.model.evaluate import TaskResult, evaluate, overall
from weft.model.folder import save_network
from weft.model.network import Network
from weft.tensors import Batch
from weft.training.divergence import LearnedBatch, check_finite, total
from weft.training.gradients import agreement, assign, collect, project_conflicts
from weft.training.interrupt import Interrupted, Interruption
from weft.training.optimizer import adamw, parameter_groups
from weft.training.progress import Callback
from weft.training.schedule import scale
from weft.training.selection import gain_of, majority_value, mean_loss, thin_out, with_floor
from weft.training.stopping import EarlyStopping
from weft.training.task_batches import TaskBatches
from weft.training.weighting import LossWeights

_SAVE_EVERY = 300.0  # seconds between states within an epoch


@dataclass
class TrainingState:
    """Where a run stands and what it has seen; plain data, so that it can be written down."""

    phase: int = 0
    epoch: int = 0  # within the phase
    index: int = 0  # within the epoch's order of tasks
    step: int = 0  # batches learned from in all
    updates: int = 0  # of the optimizer, within the phase
    learning_rate: float = 0.0  # of the last update
    seconds: float = 0.0
    tokens: int = 0
    padded: int = 0
    rows: int = 0
    stopped: str = "finished"
    data: dict[str, int] = field(default_factory=dict)  # fingerprints of the training rows
    places: dict[str, list[int]] = field(default_factory=dict)
    stopping: dict[str, Any] = field(default_factory=dict)
    best: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    loss_history: list[tuple[int, str, float]] = field(default_factory=list)


class Loop:
    """Trains a network on the training rows of its tasks, choosing weights by their dev rows."""

    def __init__(
        self,
        network: Network,
        data: Mapping[str, Splits],
        experiment: Experiment,
        folder: Path,
        accelerator: Accelerator,
        callback: Callback,
    ) -> None:
        self.experiment, self.settings = experiment, experiment.training
        self.folder, self.accelerator, self.callback = folder, accelerator, callback
        self.network, self.data = network.to(accelerator.device), data
        self.losses = network.losses()
        self.weights = LossWeights(
            {name: task.weight for name, task in network.tasks.items()}, self.settings.loss_weights == "uncertainty"
        ).to(accelerator.device)
        self.rows = {
            name: TaskBatches(network, name, splits.train, self.settings, experiment.seed)
            for name, splits in data.items()
        }
        self.dev = {name: thin_out(splits.dev, self.settings.max_dev_rows) for name, splits in data.items()}
        self.floor = {name: majority_value(network, name, data[name].train, rows) for name, rows in self.dev.items()}
        self.phases = experiment.phases or (Phase(),)
        self.state = TrainingState()
        self.restored: dict[str, Tensor] = {}

    def run(self, resume: bool = False) -> TrainingState:
        """Train to the end; raises `Interrupted` when asked to stop, after writing the state down."""
        if resume:
            self._restore()
        self.callback.begin(sum(len(order) for phase in self.phases for order in self._orders(phase)), self.state.step)
        self.began = self.saved = time.monotonic()
        try:
            with Interruption() as interruption:
                while self.state.phase < len(self.phases):
                    self._run_phase(self.phases[self.state.phase], interruption)
                    self.state.phase += 1
                    self.state.epoch = self.state.updates = 0
                    self.state.stopping = {}
        finally:
            self.callback.end()
        return self.state

    def _run_phase(self, phase: Phase, interruption: Interruption) -> None:
        names = self._names(phase)
        set_trainable(self.network, phase.train_layers if phase.train_layers is not None else self._train_layers())
        self.parameters = {
            **{name: p for name, p in self.network.named_parameters() if p.requires_grad},
            **{f"weights.{name}": p for name, p in self.weights.named_parameters()},
        }
        self.optimizer = self._build_optimizer(phase)
        self.model = self.accelerator.prepare(self.network)
        self.base_rates = [group["lr"] for group in self.optimizer.param_groups]
        stopping = EarlyStopping(self.settings.early_stopping_patience)
        if self.restored:
            restore_optimizer(self.optimizer, self.parameters, below("optimizer", self.restored))
            torch.set_rng_state(self.restored["rng"])
            if "rng_device" in self.restored and torch.cuda.is_available():
                torch.cuda.set_rng_state(self.restored["rng_device"])
            self.restored = {}
            if self.state.stopping:
                stopping.load_state_dict(self.state.stopping)
        self.state.stopped = "early" if stopping.done else "finished"  # done already: broken off at the very end
        orders = self._orders(phase)
        one_of_each = len(names) if self.settings.conflict == "pcgrad" else 1
        accumulate = self.settings.gradient_accumulation_steps or one_of_each
        self.total_updates = sum(-(-len(order) // accumulate) for order in orders)
        while (epoch := self.state.epoch) < len(orders) and not stopping.done:
            self._run_epoch(names, orders[epoch], epoch, accumulate, interruption)
            self.state.epoch, self.state.index = epoch + 1, 0
            self._evaluate(names, stopping)
            if stopping.done:
                self.state.stopped = "early"
            self._save()
            self._stop_if_asked(interruption)

    def _run_epoch(
        self, names: list[str], order: list[int], epoch: int, accumulate: int, interruption: Interruption
    ) -> None:
        self.network.train()
        label = f"epoch {epoch + 1}" if len(self.phases) == 1 else f"phase {self.state.phase + 1} epoch {epoch + 1}"
        for begin in range(self.state.index, len(order), accumulate):
            window = [names[task] for task in order[begin : begin + accumulate]]
            self._update(window, label)
            self.state.index = begin + len(window)
            if interruption.asked or time.monotonic() - self.saved > _SAVE_EVERY:
                self._save()
                self._stop_if_asked(interruption)

    def _stop_if_asked(self, interruption: Interruption) -> None:
        if interruption.asked:
            raise Interrupted(self.folder)

    def _update(self, window: list[str], label: str) -> None:
        """One step of the optimizer from one batch of each task in the window."""
        pcgrad = self.settings.conflict == "pcgrad"
        shape = self.settings.lr_scheduler_type
        factor = scale(self.state.updates, self.total_updates, self.settings.warmup_ratio, shape)
        for group, rate in zip(self.optimizer.param_groups, self.base_rates, strict=True):
            group["lr"] = rate * factor
        self.state.learning_rate = self.optimizer.param_groups[0]["lr"]
        parameters = list(self.parameters.values())
        shared = self._shared(window) if pcgrad else []
        apart: dict[str, Tensor] = {}
        self.learned: list[LearnedBatch] = []
        self.optimizer.zero_grad()
        for task in window:
            loss = self._backward(task, len(window))
            if pcgrad:  # gradients must be apart before they are summed, or there is nothing left to project
                found = collect(shared)
                apart[task] = apart[task] + found if task in apart else found
                for parameter in shared:
                    parameter.grad = None
            self.callback.step(label, task, loss, len(self.last.outputs_per_example))
        if pcgrad:
            rng = random.Random(f"{self.experiment.seed} {self.state.step}")
            assign(shared, project_conflicts(list(apart.values()), rng))
        check_finite("the gradient", self._clip(parameters), self.state.step, self.learned)
        self.optimizer.step()
        check_finite("a weight", total(parameters), self.state.step, self.learned)
        self.state.updates += 1

    def _clip(self, parameters: list[nn.Parameter]) -> float:
        """Shorten the gradient where it is too long; what comes back is finite if all of it is."""
        if self.settings.max_grad_norm:
            return float(self.accelerator.clip_grad_norm_(parameters, self.settings.max_grad_norm))
        return total(parameter.grad for parameter in parameters if parameter.grad is not None)

    def _shared(self, window: Sequence[str]) -> list[nn.Parameter]:
        """The parameters that several tasks of the window read; a head of one task conflicts with nobody."""
        own = {name: p for name, p in self.parameters.items() if not name.startswith("weights.")}
        return [p for name, p in own.items() if len(self.network.tasks_of(name) & set(window)) > 1]

    def _backward(self, task: str, share: int) -> float:
        batch = self.last = self.rows[task].next().to(self.accelerator.device)
        with self._autocast():
            loss = self.losses[task](self.model(batch), batch)
            extra = self.network.extra_loss(task)
        total = loss if extra is None else loss + extra
        self.accelerator.backward(self.weights(task, total) / share)
        value = float(loss.detach())
        self.learned.append((task, self.rows[task].lines))
        check_finite(f"the loss of task {task!r}", value, self.state.step + 1, self.learned[-1:])
        self._count(task, value, batch)
        return value

    def _count(self, task: str, loss: float, batch: Batch) -> None:
        here = self.state
        here.step += 1
        here.tokens += len(batch.ids)
        here.padded += batch.rows * max(length for _, length in batch.runs)
        here.rows += len(batch.outputs_per_example)
        here.loss_history.append((here.step, task, round(loss, 5)))

    def _evaluate(self, names: list[str], stopping: EarlyStopping) -> None:
        """Look at the dev rows of all tasks and remember the best weights."""
        here = self.state
        results = with_floor(evaluate(self.network, self.dev, intervals=False), self.floor)
        gain = overall(results)
        recent = [entry for entry in here.loss_history if entry[0] > (here.history[-1]["step"] if here.history else 0)]
        entry = {
            "step": here.step,
            "phase": here.phase,
            "epoch": here.epoch,
            "losses": {name: mean_loss(recent, name) for name in names},
            "learning_rate": here.learning_rate,
            "dev": {name: result.value for name, result in results.items()},
            "scores": {name: result.measures.scores for name, result in results.items()},
            "overall": gain,
            "agreement": self._agreement(names),
            "weights": self.weights.current(),
        }
        chosen = self.settings.choose_by
        better = {name: self._improves(name, result.value) for name, result in results.items()}
        better["overall"] = self._improves("overall", gain_of(entry, chosen))
        entry["best"] = better["overall"]
        here.history.append(entry)
        self._log(entry, results)
        self._keep(better, entry)
        self.callback.evaluated(entry)
        stopping.update(gain_of(entry, chosen))
        here.stopping = stopping.state_dict()

    def _log(self, entry: Mapping[str, Any], results: Mapping[str, TaskResult]) -> None:
        """Write the history for machines, and tell the trackers, if any."""
        lines = "".join(json.dumps(one) + "\n" for one in self.state.history)
        if self.accelerator.is_main_process:
            write_atomically(self.folder / "metrics.jsonl", lambda path: path.write_text(lines, encoding="utf-8"))
        losses = {f"{name}/loss": loss for name, loss in entry["losses"].items() if loss is not None}
        values = {f"{name}/{result.metric}": result.value for name, result in results.items()}
        agreements = {f"agreement/{pair}": value for pair, value in entry["agreement"].items()}
        self.accelerator.log({"overall": entry["overall"], **losses, **values, **agreements}, step=self.state.step)

    def _improves(self, name: str, value: float) -> bool:
        if not math.isfinite(value):
            raise WeftError(f"training has diverged: the dev value of {name} is {value}; lower training.learning_rate")
        best = self.state.best.get(name)
        return best is None or value > best["value"]

    def _keep(self, better: Mapping[str, bool], entry: Mapping[str, Any]) -> None:
        chosen = self.settings.choose_by
        for name, improved in better.items():
            if not improved or (name != "overall" and not self.settings.keep_best_per_task):
                continue
            value = gain_of(entry, chosen) if name == "overall" else entry["dev"][name]
            self.state.best[name] = {key: entry[key] for key in ("step", "phase", "epoch")} | {"value": value}
            if self.accelerator.is_main_process:
                save_network(self.network, self.folder / "best" / name)

    def _agreement(self, names: Sequence[str]) -> dict[str, float]:
        """How far the tasks' gradients on the encoder point the same way, on the first rows of each."""
        shared = [p for name, p in self.network.named_parameters() if p.requires_grad and name.startswith("encoder.")]
        if len(names) < 2 or not shared:
            return {}
        self.network.eval()  # no dropout, so that only the tasks differ
        found = {}
        for name in names:
            self.network.zero_grad()
            rows = self.rows[name]
            batch = rows.first(64).to(self.accelerator.device)
            self.losses[name](self.network(batch), batch).backward()
            found[name] = collect(shared)
        self.network.zero_grad()
        return agreement(found)

    def _save(self) -> None:
        now = time.monotonic()
        self.state.seconds += now - self.began
        self.began = self.saved = now
        self.state.places = {name: list(rows.position) for name, rows in self.rows.items()}
        self.state.data = self.state.data or {name: rows.fingerprint for name, rows in self.rows.items()}
        if not self.accelerator.is_main_process:
            return
        tensors = {
            **prefixed("network", self.network.state_dict()),
            **prefixed("weights", self.weights.state_dict()),
            **prefixed("optimizer", optimizer_tensors(self.optimizer, self.parameters)),
            "rng": torch.get_rng_state(),
        }
        if torch.cuda.is_available():
            tensors["rng_device"] = torch.cuda.get_rng_state()
        save_state(self.folder, vars(self.state), tensors)

    def _restore(self) -> None:
        state = load_state(self.folder)
        if state is None:
            return
        document, tensors = state
        document.pop("tensors")
        self.state = TrainingState(**document)
        self.state.loss_history = [(step, task, loss) for step, task, loss in self.state.loss_history]
        self.network.load_state_dict(below("network", tensors))
        self.weights.load_state_dict(below("weights", tensors))
        changed = [name for name, rows in self.rows.items() if self.state.data.get(name) != rows.fingerprint]
        if changed:
            raise ConfigError(
                f"the training rows of {', '.join(changed)} are not those that {self.folder} was started with; restore "
                "them, or remove the folder and start anew"
            )
        for name, (turn, index) in self.state.places.items():
            self.rows[name].go_to(turn, index)
        self.restored = tensors

    def _build_optimizer(self, phase: Phase) -> torch.optim.Optimizer:
        settings = self.settings
        rate = phase.learning_rate or settings.learning_rate
        groups = parameter_groups(
            self.parameters.items(),
            learning_rate=rate,
            head_learning_rate=phase.head_learning_rate or settings.head_learning_rate or rate,
            weight_decay=settings.weight_decay,
            layer_decay=settings.layer_decay,
            depth=self.network.encoder.config.num_hidden_layers,
        )
        return adamw(groups)

    def _orders(self, phase: Phase) -> list[list[int]]:
        """The order of tasks in every epoch of a phase."""
        epochs = phase.epochs or self.settings.epochs
        sampler = phase.sampling or self.experiment.sampling
        sizes = [len(self.rows[name]) for name in self._names(phase)]
        return [sampler.order(sizes, epoch, epochs, self.experiment.seed) for epoch in range(epochs)]

    def _names(self, phase: Phase) -> list[str]:
        return list(phase.tasks or self.network.tasks)

    def _train_layers(self) -> TrainLayers:
        return self.experiment.encoder.train_layers

    def _autocast(self) -> AbstractContextManager[Any]:
        return self.accelerator.autocast()  # type: ignore[no-any-return]


def set_trainable(network: Network, layers: TrainLayers) -> None:
    """Let the whole network learn, or of its encoder only the top `layers` blocks."""
    network.requires_grad_(True)
    if layers == "all":
        return
    encoder = network.encoder
    encoder.requires_grad_(False)
    blocks = list(encoder.blocks)
    for block in blocks[max(0, len(blocks) - layers) :]:
        block.requires_grad_(True)
