"""The training loop: phases, epochs and steps over many tasks, with exact resume."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.data.atomic import write_atomically
from weft.errors import ConfigError
from weft.model.network import Network
from weft.tensors import Batch
from weft.training.accelerator import Hardware
from weft.training.dev_rows import BestWeights, DevRows
from weft.training.fit import fit_heads
from weft.training.frozen import Freezing
from weft.training.gradients import compare_gradients
from weft.training.interrupt import Interrupted, Interruption
from weft.training.phase import PhaseRun
from weft.training.plan import PhasePlan
from weft.training.progress import Callback
from weft.training.selection import overall
from weft.training.state import StateFolder, TrainingState
from weft.training.stopping import EarlyStopping
from weft.training.task_batches import TaskBatches
from weft.training.weighting import LossWeights


class Loop:
    """Trains a network on the training rows of its tasks, choosing weights by their dev rows.

    Args:
        streams: of each phase, the training rows of each task; the same object where phases go on with them.
        weights: how much each task's loss counts.
        plans: the phases.
        freezing: the layers that do not learn in each phase.
        patience: the evaluations without gain after which a phase stops; None for no limit.
        compares_gradients: whether the tasks' gradients are compared after each epoch.
        resume_command: what to type to go on after an interruption; None for a run that cannot go on: it writes no
            states, and an interruption ends it at once.
    """

    def __init__(
        self,
        network: Network,
        streams: Sequence[Mapping[str, TaskBatches]],
        weights: LossWeights,
        plans: Sequence[PhasePlan],
        dev: DevRows,
        best: BestWeights,
        *,
        freezing: Freezing,
        patience: int | None,
        compares_gradients: bool,
        folder: Path,
        resume_command: str | None,
        hardware: Hardware,
        callback: Callback,
    ) -> None:
        self.network, self.streams, self.weights, self.plans = network, streams, weights, plans
        self.freezing = freezing
        self.dev, self.best, self.patience, self.compares_gradients = dev, best, patience, compares_gradients
        self.folder, self.resume_command = folder, resume_command or ""
        self.hardware, self.callback = hardware, callback
        self.state, self.states = TrainingState(), StateFolder(folder, resume_command is not None)
        self.interruption = Interruption(partial(_acknowledge, callback, self.resume_command))

    def run(self, resume: bool = False) -> TrainingState:
        """Train to the end; raises `Interrupted` when asked to stop, after writing the state down."""
        steps = sum(plan.batches for plan in self.plans)
        tensors = self._restore() if resume else None
        if resume:
            where = f"at step {self.state.step:,} of {steps:,}" if tensors else "from the beginning: no state was saved"
            self.callback.note(f"going on {where}")
        self.callback.begin(steps, self.state.step)
        try:
            with self.interruption if self.states.writes else nullcontext():
                while self.state.phase < len(self.plans):
                    plan = self.plans[self.state.phase]
                    self.network.frozen = self.freezing.in_phase(self.state.phase)
                    batches = self.streams[self.state.phase]
                    phase = PhaseRun(self.network, self.weights, batches, plan, self.hardware)
                    self._run_phase(phase, tensors)
                    tensors = None
                    self.state.start_phase()
        finally:
            self.callback.end()
        if not self.plans:  # nothing to learn
            self.best.kept.put(self.network, "overall")
        return self.state

    def _run_phase(self, phase: PhaseRun, tensors: Mapping[str, Tensor] | None) -> None:
        stopping = EarlyStopping(self.patience if phase.plan.interpolate == 1 else None)
        if tensors is not None:
            phase.restore(tensors)
        if self.state.stopping:
            stopping.load_state_dict(self.state.stopping)
        self.state.stopped = "early" if stopping.done else "finished"  # done already: broken off at the very end
        self._complete_entry(phase)
        while self.state.epoch < len(phase.plan.orders) and not stopping.done:
            self._run_epoch(phase)
            self.state.epoch, self.state.index = self.state.epoch + 1, 0
            if self.state.epoch == len(phase.plan.orders):
                phase.finish()
            if phase.plan.measured:
                with phase.measured():
                    self._evaluate(phase, stopping)
            if stopping.done:
                phase.finish()
                self.state.stopped = "early"
            self._save(phase)
            self._complete_entry(phase)
            self._stop_if_asked()

    def _run_epoch(self, phase: PhaseRun) -> None:
        if phase.plan.fits:
            self.callback.note(f"fitting the heads of {', '.join(phase.plan.tasks)}")
            fit_heads(self.network, phase.plan.tasks, phase.batches, self.hardware, phase.plan.words)
            return
        self.network.train()
        epoch = f"epoch {self.state.epoch + 1}"
        label = epoch if len(self.plans) == 1 else f"phase {self.state.phase + 1} {epoch}"

        def learned(task: str, loss: float, batch: Batch, passed: bool) -> None:
            self._count(task, loss, batch, passed)
            self.callback.step(label, task, loss, len(batch.outputs_per_example))

        for window in phase.windows(self.state.epoch, self.state.index):
            phase.update(window, self.state, learned)
            self.state.index += len(window)
            if self.interruption.asked or self.states.due():
                self._save(phase)
                self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        if self.interruption.asked:
            raise Interrupted(self.folder, self.resume_command, self.interruption.asked)

    def _count(self, task: str, loss: float, batch: Batch, passed: bool) -> None:
        here = self.state
        here.step += 1
        if passed:
            here.tokens += len(batch.ids)
            here.padded += batch.rows * max(length for _, length in batch.runs)
        here.row_passes += len(batch.outputs_per_example)
        here.losses.add(here.step, task, round(loss, 5))

    def _evaluate(self, phase: PhaseRun, stopping: EarlyStopping) -> None:
        """Look at the dev rows of all tasks and remember the best weights."""
        here, results = self.state, self.dev.evaluate()
        entry: dict[str, Any] = {
            "step": here.step,
            "phase": here.phase,
            "epoch": here.epoch,
            "losses": {name: here.losses.mean(name) for name in phase.plan.tasks},
            "learning_rate": here.learning_rate,
            "dev": {name: result.value for name, result in results.items()},
            "scores": {name: result.measures.scores for name, result in results.items()},
            "overall": overall({name: result for name, result in results.items() if name in self.dev.telling}),
            "weights": self.weights.current(),
        }
        kept, value = self.best.keep(entry, here.best), self.best.value(entry)
        entry["best"] = kept and value is not None  # else they are only the last
        here.losses.start_epoch()
        here.history.append(entry)
        if value is not None:
            stopping.update(value)
        here.stopping = stopping.state_dict()

    def _complete_entry(self, phase: PhaseRun) -> None:
        """Add to the last evaluation how far the tasks agree, and tell it; the state is safe by then."""
        entry = self.state.history[-1] if self.state.history else {"agreement": {}}
        if "agreement" in entry:
            return
        entry["agreement"] = self._agreement(phase)
        self.states.amend(self.state)
        self._log(entry)
        self.callback.evaluated(entry)

    def _agreement(self, phase: PhaseRun) -> dict[str, float]:
        """How far the tasks' gradients on the encoder point the same way, on the first rows of each."""
        shared = [p for name, p in self.network.named_parameters() if p.requires_grad and name.startswith("encoder.")]
        if len(phase.plan.tasks) < 2 or not shared or not self.compares_gradients:
            return {}
        self.network.eval()  # no dropout, so that only the tasks differ
        losses = {name: phase.losses_of_first_rows(name) for name in phase.plan.tasks}
        return compare_gradients(self.network, shared, losses)

    def _log(self, entry: Mapping[str, Any]) -> None:
        """Write the history for machines, and tell the trackers, if any."""
        lines = "".join(json.dumps(evaluation) + "\n" for evaluation in self.state.history)
        write_atomically(self.folder / "metrics.jsonl", lambda path: path.write_text(lines, encoding="utf-8"))
        losses = {f"{name}/loss": loss for name, loss in entry["losses"].items() if loss is not None}
        values = {f"{name}/{self.network.metric(name)}": value for name, value in entry["dev"].items()}
        agreements = {f"agreement/{pair}": value for pair, value in entry["agreement"].items()}
        gain = {} if entry["overall"] is None else {"overall": entry["overall"]}
        self.hardware.log({**gain, **losses, **values, **agreements}, step=self.state.step)

    def _save(self, phase: PhaseRun) -> None:
        self.state.positions = {name: list(rows.position) for name, rows in self._named_streams().items()}
        self.state.rows = sum(self._rows_seen(name) for name in self.streams[0])
        self.state.data = self.state.data or {name: rows.fingerprint for name, rows in self.streams[0].items()}
        self.states.save(self.state, phase.tensors())

    def _restore(self) -> dict[str, Tensor] | None:
        """Stand where the last state says; the tensors are for the phase it was written in."""
        restored = self.states.load()
        if restored is None:
            return None
        self.state, tensors = restored
        changed = [name for name, rows in self.streams[0].items() if self.state.data.get(name) != rows.fingerprint]
        if changed:
            raise ConfigError(
                f"the training rows of {', '.join(changed)} are not those that {self.folder} was started with; restore "
                "them, or remove the folder and start anew"
            )
        for name, rows in self._named_streams().items():
            rows.go_to(*self.state.positions[name])
        return tensors

    def _named_streams(self) -> dict[str, TaskBatches]:
        """Every stream of batches once, by the first phase that it serves and its task."""
        streams = (
            (number, name, rows) for number, batches in enumerate(self.streams) for name, rows in batches.items()
        )
        named = {id(rows): (f"{number} {name}", rows) for number, name, rows in reversed(list(streams))}
        return dict(named.values())

    def _rows_seen(self, task: str) -> int:
        """How many different rows of a task have been learned from or fitted to."""
        rows = min(len(batches[task].dataset) for batches in self.streams)  # without the words of labels
        now = self.plans[: self.state.phase + 1]
        if any(plan.fits and task in plan.tasks for plan in now):
            return rows
        return min(rows, max(batches[task].rows_seen for batches in self.streams))


def _acknowledge(callback: Callback, resume_command: str) -> None:
    """Say what a first Ctrl-C does; no method of the loop, which its own interruption would then hold for ever."""
    callback.note(
        "stopping after this step; all that was learned is kept (once more: at once, back to the last state). "
        f"Go on with: {resume_command}"
    )
