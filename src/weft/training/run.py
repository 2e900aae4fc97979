"""From a config to a finished model folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import tomli_w
import torch

from weft.checkpoints.masked_head import write_masked_model
from weft.checks.settings import find_slow_precision
from weft.checks.tokens import cut_notes
from weft.checks.too_good import find_too_good
from weft.config.document import data_folder, parse_experiment, read_experiment
from weft.config.experiment import Experiment
from weft.data.atomic import write_atomically
from weft.data.records import Example
from weft.errors import ConfigError, WeftError, kind_of
from weft.metrics.outcomes.file import OUTCOMES, write_outcomes
from weft.model.devices import Device, choose_device
from weft.model.evaluate import ScoredWindow, TaskResult, calibrate, evaluate, hidden_names, measure_baselines
from weft.model.folder import save_network
from weft.model.model import Model
from weft.model.network import Network
from weft.model.zero_shot import begin_with_words, uncalibrated_note
from weft.reports.card import render_card
from weft.reports.evaluation import results_document
from weft.reports.record import to_json
from weft.reports.run_page import render
from weft.targets import Measures
from weft.training.accelerator import Hardware, choose_precision
from weft.training.dev_rows import BestWeights, DevRows
from weft.training.folder import CACHE, RunFolder, Started, resume_command
from weft.training.frozen import Freezing, KeptStates, encoder_source
from weft.training.initial import set_initial_values
from weft.training.kept_weights import WeightsInFolder, WeightsInMemory
from weft.training.loop import Loop
from weft.training.phase import count_trainable
from weft.training.plan import plan_phases
from weft.training.prepare import prepare
from weft.training.probe import measure_probe
from weft.training.progress import Callback, ProgressCallback
from weft.training.record import RunFacts
from weft.training.shared import Shared
from weft.training.state import TrainingState
from weft.training.streams import count_batches, phase_streams
from weft.training.task_batches import TaskBatches
from weft.training.task_data import Fold
from weft.training.weighting import LossWeights


def train(
    config: str | os.PathLike[str] | Mapping[str, Any],
    output: str | os.PathLike[str] | None = None,
    *,
    overrides: Sequence[str] = (),
    data: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    device: Device = "auto",
    resume: bool = False,
    callback: Callback | None = None,
) -> Model:
    """Train what a config describes and return the model, chosen by its dev rows and written to `output`.

    Args:
        config: a TOML file, or the same as a dict, in which a task's `train`, `dev` and `test` may also be rows: a
            table (pandas, polars, Arrow), a `datasets.Dataset`, or an iterable of dicts. Rows are not stored with the
            run; to resume it, give them again.
        output: the folder to make; by default `runs/` and the name of the config. It must not exist.
        overrides: `key=value` changes to the config, for example `training.epochs=5`.
        data: the folder of the tasks' files; see `data_folder`.
        seed: instead of the config's.
        resume: go on with an unfinished run of the same output; the result is the same as without the break.
        callback: sees the run; a live bar on standard error by default.
    """
    return train_one_of_many(
        config, output, overrides=overrides, data=data, seed=seed, device=device, resume=resume, callback=callback
    )


def train_one_of_many(
    config: str | os.PathLike[str] | Mapping[str, Any],
    output: str | os.PathLike[str] | None = None,
    *,
    overrides: Sequence[str] = (),
    data: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    device: Device = "auto",
    resume: bool = False,
    callback: Callback | None = None,
    shared: Shared | None = None,
    fold: Fold | None = None,
    resumable: bool = True,
    resume_with: str | None = None,
) -> Model:
    """As `train`, with what only matters where many runs are compared.

    Args:
        shared: what many runs of this process load, read and compute once; the result is the same as without it.
        fold: the part of the training rows to report on, instead of a test file's rows.
        resumable: write down on the way what `resume` needs; without it, short runs are quicker.
        resume_with: what to type to go on with it, where that is not `weft train`.
    """
    changes = (*overrides, *([f"seed={seed}"] if seed is not None else []))
    name, home = _name(config), Path() if isinstance(config, Mapping) else Path(config).parent
    target = Path(output) if output is not None else default_output(name)
    folder = RunFolder(target)
    before = folder.started() if resume else Started()
    started = Started((*before.overrides, *changes), before.data if data is None else str(Path(data).resolve()))
    experiment = _read(config, started.overrides)
    base = data_folder(home, experiment, before.data if data is None else data)
    with folder.lock():
        if resume:
            folder.resume(experiment)
        else:
            folder.start(experiment, started)
        command = (resume_with or resume_command(config, target, device)) if resumable else None
        run = Run(experiment, base, folder, device, callback or ProgressCallback(), command, shared, fold)
        network = run.finish(run.learn(resume))
        folder.publish()
    return Model(network)


def _name(config: str | os.PathLike[str] | Mapping[str, Any]) -> str:
    """What a run is called after."""
    if isinstance(config, Mapping):
        return "run"
    if not isinstance(config, str | os.PathLike):
        raise ConfigError(f"a config is a TOML file or the same as a dict, but this is {kind_of(config)}")
    return os.fspath(config)


def _read(config: str | os.PathLike[str] | Mapping[str, Any], overrides: Sequence[str]) -> Experiment:
    if isinstance(config, Mapping):
        return parse_experiment(config, overrides)
    return read_experiment(Path(config), overrides)


def default_output(config: str | os.PathLike[str]) -> Path:
    """`runs/` and the config's name."""
    return Path("runs") / Path(config).stem


class Run:
    """One run: data and network made ready, learned, measured and written."""

    def __init__(
        self,
        experiment: Experiment,
        base: Path,
        run_folder: RunFolder,
        device: Device,
        callback: Callback,
        resume_command: str | None,
        shared: Shared | None = None,
        fold: Fold | None = None,
    ) -> None:
        self.experiment, self.base, self.callback, self.resume_command = experiment, base, callback, resume_command
        self.shared = shared
        self.states = KeptStates() if shared is None else shared.states
        self.run_folder, self.folder = run_folder, run_folder.path
        try:
            cache, reading = self.folder / CACHE, callback.reading
            prepared = prepare(experiment, base, device=device, cache=cache, reading=reading, shared=shared, fold=fold)
            self.data, self.network = prepared.complete()
            self.experiment = experiment = prepared.experiment
            self.reasons = prepared.reasons
            slow = [finding.in_one_line for finding in find_slow_precision(experiment, device)]
            for note in (*self.reasons, *cut_notes(prepared), *slow):
                callback.note(note)
            found = find_too_good(prepared)
            self.too_good = {name: tuple(one.in_one_line for one in findings) for name, findings in found.items()}
            for warning in (one for warnings in self.too_good.values() for one in warnings):
                callback.warn(warning)
            self.rows = {name: prepared.rows.by_origin(name) for name in prepared.rows.parts}
            self.label_names = {  # by the whole files, so that runs that learn from other rows of these say the same
                name: hidden_names(experiment.tasks[name].target().fit([row.gold for row in splits["train"].rows]))
                for name, splits in prepared.rows.files.items()
                if name in experiment.learned
            }
            set_initial_values(self.network, experiment, {name: rows.train for name, rows in self.data.items()})
            self.hardware = choose_hardware(experiment, device, self.folder)
            self.network.to(self.hardware.device)
            settings = experiment.training
            self.dev = DevRows(self.network, self.data, settings.max_dev_rows, settings.choose_from)
            in_memory = resume_command is None
            self.kept = WeightsInMemory(self.network) if in_memory else WeightsInFolder(self.folder)
        except WeftError:
            run_folder.remove_if_untouched()
            raise

    def learn(self, resume: bool) -> TrainingState:
        """Train; the best weights are kept as `overall` afterwards."""
        added = {name: self.network.added_parameters(name) for name in self.network.tasks}
        if any(added.values()):
            counts = ", ".join(f"{name} {count:,}" for name, count in added.items())
            self.callback.note(f"{self.network.conditioning.to_dict()['kind']} adds parameters: {counts}")
        for name, splits in self.data.items():
            if self.network.tasks[name].format is not None:  # raw text is never repaired
                continue
            repairs = Counter(repair for part in vars(splits).values() for row in part for repair in row.repairs)
            for said, count in repairs.items():
                self.callback.note(f"{name}: {count:,} {said}")
        if note := uncalibrated_note(self.network):
            self.callback.note(note)
        self.probes = self._probe() if self.experiment.training.baselines else {}
        torch.manual_seed(self.experiment.seed)
        try:
            return self._build_loop().run(resume)
        except WeftError:
            self.run_folder.remove_if_untouched()
            raise

    def _build_loop(self) -> Loop:
        network, settings = self.network, self.experiment.training
        learned = self.experiment.learned
        streams = phase_streams(
            self.experiment, network, {name: self.data[name].train for name in learned}, TaskBatches
        )
        weights = LossWeights(
            {name: network.tasks[name].weight for name in learned}, settings.loss_weights == "uncertainty"
        )
        plans = plan_phases(self.experiment, count_batches(streams))
        self.freezing = Freezing(network, plans, self.rows, self.states, encoder_source(self.experiment))
        return Loop(
            network,
            streams,
            weights.to(self.hardware.device),
            plans,
            self.dev,
            BestWeights(network, self.dev, self.kept, settings.choose_by, settings.keep_best_per_task),
            freezing=self.freezing,
            patience=settings.early_stopping_patience,
            compares_gradients=settings.gradient_agreement,
            folder=self.folder,
            resume_command=self.resume_command,
            hardware=self.hardware,
            callback=self.callback,
        )

    def _probe(self) -> dict[str, dict[str, float]]:
        """What each task's scores would be with the encoder as it is; nothing where it knows nothing yet."""
        if self.experiment.encoder.scratch is not None:
            return {}
        learned = {name: self.rows[name] for name in self.experiment.learned if name in self.rows}
        return measure_probe(
            self.network, self.data, learned, self.hardware, self.states, encoder_source(self.experiment)
        )

    def finish(self, state: TrainingState) -> Network:
        """Calibrate, measure and write the chosen weights, which are returned, those of each task, and the reports."""
        beside = "intervals and baselines" if self.experiment.training.baselines else "intervals"
        if any(splits.dev or splits.test for splits in self.data.values()):
            self.callback.note(f"measuring the weights that are kept, with {beside}")
        network, scored = self._calibrated("overall")
        results = self._measure(network, scored)
        learned = count_trainable(self.network, self.experiment.trained_layers, self.experiment.learned)
        config = tomli_w.dumps(self.experiment.to_dict())
        facts = RunFacts(
            self.experiment, self.base, self.data, self.hardware, learned, config, self.reasons, self.too_good
        )
        record = facts.record(state, results, network)
        save_network(network, self.folder)
        self._write_for_others(network)
        documents = {
            "metrics.json": to_json({name: result.measures.scores for name, result in results.items()}),
            "results.json": to_json(results_document(record)),
            "report.json": to_json(record.to_dict()),
            "report.html": render(record),
            "README.md": render_card(record),
        }
        for name, text in documents.items():
            write_atomically(self.folder / name, partial(Path.write_text, data=text, encoding="utf-8"))
        write_outcomes(
            self.folder / OUTCOMES, {name: one.outcomes for name, one in results.items() if one.outcomes is not None}
        )
        self._keep_per_task(state)
        self.hardware.end_training()
        network.frozen = None
        return network

    def _calibrated(self, best: str) -> tuple[Network, list[ScoredWindow] | None]:
        """The best weights of this name with targets fitted to dev rows, and what they say about these.

        Tasks without rows begin only here: with what this encoder makes of their labels' words.
        """
        network = self.kept.get(best).to(self.hardware.device)
        for name, task in self.experiment.tasks.items():
            if task.without_rows:
                begin_with_words(network, name, task.label_texts())
        network.frozen = self.freezing.in_all_phases()
        scored = self.dev.scored_by(network, best == "overall")
        rows = {name: self.data[name].dev for name in self.dev.calibratable}
        network.targets.update(calibrate(network, rows, scored))
        return network, scored

    def _measure(self, network: Network, scored: list[ScoredWindow] | None) -> dict[str, TaskResult]:
        """Each task's result on its test rows; on dev rows without the thresholds that were fitted to these."""
        rows = {name: splits.report for name, splits in self.data.items() if splits.report[1]}
        plain = {name: target.without_thresholds() for name, target in network.targets.items()}
        test = {name: examples for name, (part, examples) in rows.items() if part == "test"}
        results = evaluate(network, test, names=self.label_names)
        dev = {name: examples for name, (part, examples) in rows.items() if part == "dev"}
        known = [window for window in scored or () if window[0] in dev]
        names = {name for name, _, _ in known}
        results |= evaluate(
            network, {name: dev[name] for name in names}, targets=plain, scored=known, names=self.label_names
        )
        others = {name: dev[name] for name in dev if name not in names}
        results |= evaluate(network, others, targets=plain, names=self.label_names)
        if self.experiment.training.baselines:
            for name, (_, examples) in rows.items():
                if name not in self.experiment.learned:  # simple methods need rows, too
                    continue
                results[name] = replace(results[name], baselines=self._baselines(network, name, examples))
        unmeasured = {name: TaskResult(network.metric(name), 0, Measures({})) for name in self.data}
        return {name: results.get(name, unmeasured[name]) for name in self.data}

    def _write_for_others(self, network: Network) -> None:
        """Where masked words were learned, also the encoder with that head as `transformers` reads it."""
        heads = network.vocabulary_heads()
        for name in network.tasks:
            head = heads.get(network.head_of(name))
            if head is None:
                continue
            if network.added_parameters(name):
                self.callback.note(f"{name}: transformers knows no conditioning, so nothing is written for it")
                continue
            write_masked_model(network.encoder, head.state_dict(), self.folder / "transformers")
            network.tokenizer.save(self.folder / "transformers")
            return

    def _baselines(self, network: Network, name: str, rows: Sequence[Example]) -> dict[str, dict[str, float]]:
        measure = measure_baselines
        if self.shared is not None and network.tasks[name].format is None:  # raw text would be too much to keep
            measure = self.shared.baselines
        found = measure(self.network.targets[name], self.data[name].train, rows)
        return found | ({"probe": self.probes[name]} if name in self.probes else {})

    def _keep_per_task(self, state: TrainingState) -> None:
        """Calibrated weights for each task whose best epoch was another than the chosen one."""
        for name in [task for task in self.network.tasks if task in state.best]:
            if all(state.best[name][key] == state.best["overall"][key] for key in ("phase", "epoch")):
                self.kept.drop(name)
            else:
                save_network(self._calibrated(name)[0], self.folder / "best" / name)


def choose_hardware(experiment: Experiment, device: Device, folder: Path) -> Hardware:
    """Where the config and the command want a run to compute."""
    where, settings = choose_device(device), experiment.training
    return Hardware(where, choose_precision(where, settings.precision), settings.report_to, folder)
