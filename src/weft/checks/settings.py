"""Learning rates, poolers, batches and losses that are possible but unlikely to be meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from weft.checks.findings import Finding, Part
from weft.config.experiment import Experiment
from weft.model.devices import Device, slow_half_precision
from weft.model.network import loss_of
from weft.tasks import Task

HIGH_RATE = 1e-3  # learning rates above this ruin a pretrained encoder


def find_slow_precision(experiment: Experiment, device: Device) -> Iterator[Finding]:
    """Half precision on a processor that computes it in other instructions."""
    if message := slow_half_precision(experiment.training.precision, device):
        yield Finding("note", "training.precision", message, '"fp32" is quicker here, and more exact', message)


def find_odd_settings(experiment: Experiment) -> Iterator[Finding]:
    """Settings that look wrong whatever the data."""
    training, layers = experiment.training, experiment.encoder.train_layers
    rates = [("training", training.learning_rate, layers)]
    for number, phase in enumerate(experiment.phases):
        if phase.learning_rate is not None or phase.train_layers is not None:
            trained = layers if phase.train_layers is None else phase.train_layers
            rates.append((f"phases.{number}", phase.learning_rate or training.learning_rate, trained))
    for place, rate, trained in rates:
        if rate is not None and rate > HIGH_RATE and trained != 0:
            message = f"{rate:g} will ruin the encoder; 1e-5 to 1e-4 suit it (`head_learning_rate` may be higher)"
            yield Finding("warning", f"{place}.learning_rate", message)
    for name, task in experiment.tasks.items():
        read_otherwise = task.pooling and not task.pooling.first_token and not task.without_rows
        if experiment.conditioning.reads_first_token and read_otherwise:
            message = (
                "label attention feeds the first token, which this pooling dilutes; leave `pooling` out, or use cls"
            )
            yield Finding("warning", f"tasks.{name}.pooling", message)
        if task.without_rows:
            yield from _find_without_rows(name, task)
        elif experiment.phases and not any(name in (phase.tasks or experiment.tasks) for phase in experiment.phases):
            yield Finding("warning", f"tasks.{name}", "no phase trains this task")
    yield from _find_text_columns(experiment)
    if experiment.phases and not experiment.learned:
        yield Finding("warning", "phases", "no task has training rows, so there is nothing to learn in them")


def _find_text_columns(experiment: Experiment) -> Iterator[Finding]:
    """Texts in columns of different names, where they are of different files: hardly a new file will have both."""
    single = {
        name: task for name, task in experiment.tasks.items() if task.format is None and len(task.text_columns()) == 1
    }
    by_column: dict[str, list[str]] = {}
    for name, task in single.items():
        by_column.setdefault(task.text_columns()[0], []).append(name)
    files = {column: {single[name].sources().get("train") for name in names} for column, names in by_column.items()}
    if any(files[one].isdisjoint(files[other]) for one, other in combinations(files, 2)):
        listed = ", ".join(f"{column!r} ({', '.join(names)})" for column, names in by_column.items())
        message = f"tasks read their text in columns of different names: {listed}"
        remedy = "to ask all about one file: --column NAME of weft predict; or give the columns one name"
        yield Finding("note", "tasks", message, remedy, message)


def _find_without_rows(name: str, task: Task) -> Iterator[Finding]:
    """What it means that there are no training rows."""
    message = "no training rows: it answers by the words of its labels alone, calibrated on nothing"
    yield Finding("note", f"tasks.{name}", message)
    if task.test is None:
        yield Finding("warning", f"tasks.{name}.test", "how far the words of labels go is not measured; name a file")


def find_uncalibrated_costs(name: str, task: Task, parts: Mapping[str, Part]) -> Iterator[Finding]:
    """Costs that are weighed with probabilities of which no row shows how true they are."""
    if not task.target().weighs_costs or task.train is None or "train" not in parts or not parts["train"].complete:
        return
    if "dev" not in parts or not parts["dev"].rows:
        message = "costs are weighed with probabilities, which nothing calibrates: there are no dev rows"
        yield Finding("note", f"tasks.{name}.costs", message, "dev = 0.2 holds some out", message)


def find_odd_batches(name: str, task: Task, train: Part | None, size: int | None) -> Iterator[Finding]:
    """A batch too large for the rows, or too small for the loss."""
    if size and train is not None and train.complete and 0 < len(train.rows) < size:
        message = f"{size} is more than the {len(train.rows):,} training rows of the task {name!r}: one step per epoch"
        yield Finding("warning", "training.batch_size", message)
    loss = loss_of(task)
    if size and size < loss.min_rows:
        kind = loss.to_dict()["kind"]
        message = (
            f"{size} rows are too few for the {kind!r} loss of the task {name!r}; give it {2 * loss.min_rows} or more"
        )
        yield Finding("warning", "training.batch_size", message)


def find_unordered_labels(name: str, task: Task, train: Part | None) -> Iterator[Finding]:
    """A loss that needs the order of the labels, where nothing says it."""
    if not loss_of(task).ordered or task.target().labels or train is None:
        return
    labels = (label for row in train.rows for label in task.target().labels_in(row.gold))
    if any(not re.fullmatch(r"[-+]?\d+(\.\d+)?", label) for label in labels):
        kind = loss_of(task).to_dict()["kind"]
        message = f"the loss {kind!r} needs the labels in order; without it they are taken by the alphabet"
        yield Finding("warning", f"tasks.{name}.labels", message)
