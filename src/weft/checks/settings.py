"""Losses, heads, batches and learning rates that do not suit the tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from weft.checks.findings import Finding, Part
from weft.config.experiment import Experiment
from weft.data.records import Input
from weft.errors import ConfigError
from weft.model.devices import choose_device, half_precision_fault
from weft.model.network import check_losses, loss_of
from weft.targets import FittedTarget
from weft.tasks import Task

HIGH_RATE = 1e-3  # learning rates above this ruin a pretrained encoder
_NOMINAL = [Input(("a b",), words=((0, 1), (2, 3)), spans=((0, 1, ""), (2, 3, "")))] * 4  # for rows that cannot be read
_WIDTH = 1024  # of a nominal encoder: only whether two heads read equally much matters


def find_odd_settings(experiment: Experiment) -> Iterator[Finding]:
    """Settings that look wrong whatever the data."""
    training, layers = experiment.training, experiment.encoder.train_layers
    on_processor = training.precision == "bf16" and choose_device().type == "cpu"
    if on_processor and (fault := half_precision_fault()):
        yield Finding("fault", "training.precision", fault)
    rates = [("training", training.learning_rate, layers)]
    for number, phase in enumerate(experiment.phases):
        if phase.learning_rate is not None or phase.train_layers is not None:
            trained = layers if phase.train_layers is None else phase.train_layers
            rates.append((f"phases.{number}", phase.learning_rate or training.learning_rate, trained))
    for place, rate, trained in rates:
        if rate > HIGH_RATE and trained != 0:
            said = f"{rate:g} will ruin the encoder; 1e-5 to 1e-4 suit it (`head_learning_rate` may be higher)"
            yield Finding("warning", f"{place}.learning_rate", said)
    for name, task in experiment.tasks.items():
        if experiment.conditioning.reads_first_token and task.pooling and not task.pooling.first_token:
            said = "label attention feeds the first token, which this pooling dilutes; leave `pooling` out, or use cls"
            yield Finding("warning", f"tasks.{name}.pooling", said)
        if experiment.phases and not any(name in (phase.tasks or experiment.tasks) for phase in experiment.phases):
            yield Finding("warning", f"tasks.{name}", "no phase trains this task")


def find_odd_batches(name: str, task: Task, train: Part | None, size: int | None) -> Iterator[Finding]:
    """A batch too large for the rows, or too small for the loss."""
    if size and train is not None and train.complete and 0 < len(train.rows) < size:
        said = f"{size} is more than the {len(train.rows):,} training rows of the task {name!r}: one step per epoch"
        yield Finding("warning", "training.batch_size", said)
    loss = loss_of(task)
    if size and size < loss.min_rows:
        kind = loss.to_dict()["kind"]
        said = (
            f"{size} rows are too few for the {kind!r} loss of the task {name!r}; give it {2 * loss.min_rows} or more"
        )
        yield Finding("warning", "training.batch_size", said)


def find_unfit_losses(name: str, task: Task, train: Part | None, targets: dict[str, FittedTarget]) -> Iterator[Finding]:
    """Losses and metrics that do not suit the answers; adds the target to `targets` where the rows tell it."""
    golds = [row.gold for row in train.rows] if train is not None else []
    try:
        target = task.target().fit(golds or task.target().example_golds(_NOMINAL))
        check_losses({name: task}, {name: target})
        if golds:
            targets[name] = target
    except ConfigError as error:
        for fault in error.faults:
            place, _, message = fault.partition(": ")
            yield Finding("fault", place, message)
    words = any(isinstance(gold, str) and not re.fullmatch(r"[-+]?\d+(\.\d+)?", gold) for gold in golds)
    if loss_of(task).ordered and not task.target().labels and words:
        kind = loss_of(task).to_dict()["kind"]
        said = f"the loss {kind!r} needs the labels in order; without it they are taken by the alphabet"
        yield Finding("warning", f"tasks.{name}.labels", said)


def find_unfit_heads(tasks: Mapping[str, Task], targets: Mapping[str, FittedTarget]) -> Iterator[Finding]:
    """Heads that tasks share by name but that are not the same."""
    first: dict[str, str] = {}
    for name, task in tasks.items():
        if task.head.share is None:
            continue
        other = first.setdefault(task.head.share, name)
        differences = ["their options differ"] if task.head != tasks[other].head else []
        if task.feature_size(_WIDTH) != tasks[other].feature_size(_WIDTH):
            differences.append("they read different numbers of vectors; compare `encode` and `features`")
        if name in targets and other in targets:
            here, there = (targets[one].outputs(loss_of(tasks[one])) for one in (name, other))
            if here != there:
                differences.append(f"this one has {here} outputs and that one {there}")
        if differences:
            said = f"shares the head {task.head.share!r} with the task {other!r}, but {'; '.join(differences)}"
            yield Finding("fault", f"tasks.{name}.head", said)
