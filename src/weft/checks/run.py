"""All checks together; one that finds a fault never keeps another from being made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from weft.checks.duplicates import Normalised, find_duplicates, find_leaks, find_leaks_across
from weft.checks.files import divide, find_lost_corpora, read_files
from weft.checks.findings import SEVERITIES, Finding, Part
from weft.checks.labels import find_look_alikes, find_odd_labels, find_small_parts
from weft.checks.lengths import find_cut_texts
from weft.checks.settings import find_odd_batches, find_odd_settings, find_unfit_heads, find_unfit_losses
from weft.checks.spans import find_lost_marks
from weft.config.experiment import Experiment
from weft.targets import FittedTarget
from weft.tasks.base.examples import held_out_lines
from weft.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True)
class Survey:
    """All findings, faults first, and each task's rows by split."""

    findings: list[Finding]
    parts: dict[str, dict[str, Part]]


def check(experiment: Experiment, base: Path, tokenizer: Tokenizer | None, max_length: int | None) -> list[Finding]:
    """All findings, faults first; see `survey`."""
    return run_checks(experiment, base, tokenizer, max_length).findings


def run_checks(experiment: Experiment, base: Path, tokenizer: Tokenizer | None, max_length: int | None) -> Survey:
    """All findings, and the rows they are about.

    Args:
        experiment: the config.
        base: the folder its files are in; see `data_folder`.
        tokenizer: the encoder's; without it texts are not measured, and a note says so.
        max_length: the tokens the encoder takes.
    """
    found = list(find_odd_settings(experiment))
    tasks: dict[str, dict[str, Part]] = {}
    targets: dict[str, FittedTarget] = {}
    texts = Normalised()
    labelled = {name: task for name, task in experiment.tasks.items() if task.format is None}
    found += find_lost_corpora(experiment.tasks, base)
    read = {name: read_files(name, task, base) for name, task in labelled.items()}
    train_rows = {name: files["train"].rows for name, (files, _) in read.items() if "train" in files}
    held_out = held_out_lines(experiment.tasks, train_rows, experiment.seed)
    for name, task in labelled.items():
        files, faults = read[name]
        tasks[name] = parts = divide(name, task, files, held_out.get(name, ()), experiment.seed)
        train = parts.get("train")
        found += faults
        for part in files.values():
            found += [*find_duplicates(part, texts), *find_look_alikes(task, part)]
        found += [*find_odd_labels(name, task, parts), *find_leaks(parts, texts), *find_small_parts(parts)]
        found += find_odd_batches(name, task, train, experiment.training.batch_size)
        found += find_unfit_losses(name, task, train, targets)
        found += find_cut_texts(name, task, parts, tokenizer, max_length)
        found += find_lost_marks(task, parts, tokenizer, max_length)
    found += [*find_unfit_heads(labelled, targets), *find_leaks_across(tasks, texts)]
    if tokenizer is None:
        found.append(Finding("note", "encoder.from", "without its tokenizer, texts were not held against the limit"))
    return Survey(sorted(dict.fromkeys(found), key=lambda one: SEVERITIES.index(one.severity)), tasks)
