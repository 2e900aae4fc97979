"""All checks together: the errors that training would stop with, and warnings and notes about what it would use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from weft.checks.duplicates import Normalised, find_duplicates, find_leaks, find_leaks_across
from weft.checks.files import find_file_notes
from weft.checks.findings import SEVERITIES, Finding, Part
from weft.checks.labels import find_odd_labels, find_several, find_small_parts, find_unmeasured
from weft.checks.no_answers import find_no_answers
from weft.checks.settings import (
    find_odd_batches,
    find_odd_settings,
    find_slow_precision,
    find_uncalibrated_costs,
    find_unordered_labels,
)
from weft.checks.spelling import find_look_alikes
from weft.checks.tokens import find_odd_tokens
from weft.training.prepare import PreparedRun
from weft.training.reading import SplitRows


@dataclass(frozen=True)
class CheckReport:
    """All findings, errors first, and each task's rows by split."""

    findings: list[Finding]
    parts: dict[str, dict[str, Part]]

    @property
    def counts(self) -> Counter[str]:
        """How many findings there are of each severity."""
        return Counter(finding.severity for finding in self.findings)

    @property
    def verdict(self) -> str:
        """`0 errors, 2 warnings, 1 note: ready to train`."""
        counts = self.counts
        numbers = ", ".join(f"{counts[severity]} {severity}{'s' * (counts[severity] != 1)}" for severity in SEVERITIES)
        return f"{numbers}: {'training is not possible yet' if counts['error'] else 'ready to train'}"


def run_checks(prepared: PreparedRun) -> CheckReport:
    """All findings about what was prepared, and the rows they are about."""
    parts = {name: _parts(splits) for name, splits in prepared.rows.parts.items()}
    found = [Finding("error", fault.path, fault.message) for fault in prepared.faults]
    found += find_slow_precision(prepared.experiment, prepared.device)
    found += find_odd_settings(prepared.experiment)
    texts = Normalised()
    for name in parts:
        found += _check_task(name, prepared, parts[name], texts)
    found += find_leaks_across(parts, texts)
    if prepared.source is None:
        found.append(Finding("note", "encoder.from", "without its tokenizer, texts were not held against the limit"))
    for name in prepared.unread:
        found.append(Finding("note", f"tasks.{name}", "of so much raw text only the beginnings of files were read"))
    return CheckReport(sorted(dict.fromkeys(found), key=lambda finding: SEVERITIES.index(finding.severity)), parts)


def _parts(splits: dict[str, SplitRows]) -> dict[str, Part]:
    return {split: Part(**vars(rows)) for split, rows in splits.items()}


def _check_task(name: str, prepared: PreparedRun, parts: dict[str, Part], texts: Normalised) -> Iterator[Finding]:
    task, train, files = prepared.experiment.tasks[name], parts.get("train"), _parts(prepared.rows.files[name])
    yield from find_file_notes(name, task, files)
    for part in files.values():
        yield from find_duplicates(task.target(), part, texts)
        yield from find_look_alikes(task, part)
        yield from find_no_answers(task, part)
    yield from find_odd_labels(name, task, parts)
    yield from find_leaks(task.target(), parts, texts)
    yield from find_small_parts(task.target(), parts)
    yield from find_several(name, task, train)
    yield from find_unmeasured(name, task, parts)
    yield from find_odd_batches(name, task, train, prepared.experiment.training.batch_size)
    yield from find_unordered_labels(name, task, train)
    yield from find_uncalibrated_costs(name, task, parts)
    if prepared.source is not None:
        tokenizer, longest = prepared.source.tokenizer, prepared.source.encoder.config.max_length
        yield from find_odd_tokens(name, task, parts, tokenizer, longest)
