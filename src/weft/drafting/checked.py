"""A draft that `weft check` has looked at: its text with what was found, and whether it can be trained."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.checks.findings import Finding
from weft.checks.run import CheckReport, run_checks
from weft.config.document import data_folder, parse_experiment
from weft.drafting.document import document_of, write_document
from weft.drafting.draft import Draft
from weft.drafting.files import SPLITS
from weft.training.prepare import prepare


@dataclass(frozen=True)
class CheckedDraft:
    """A config as it will be written, and what `weft check` says of it."""

    text: str
    report: CheckReport

    @property
    def faults(self) -> list[Finding]:
        return [finding for finding in self.report.findings if finding.severity == "error"]


def check_draft(draft: Draft, home: Path, config: str) -> CheckedDraft:
    """The draft as TOML, for the folder `home` and under the name `config`, after the same check that training runs."""
    document = document_of(draft, home)
    experiment = parse_experiment(document)
    report = run_checks(prepare(experiment, data_folder(home, experiment, None)))
    text = write_document(draft, document, config, _by_task(report, document["tasks"]))
    assert tomllib.loads(text) == document  # remarks say nothing to a reader of TOML
    return CheckedDraft(text, report)


def _by_task(report: CheckReport, tasks: Mapping[str, Any]) -> dict[str, list[str]]:
    """What was found about each task: faults as they are, and in a sentence each what one thing can be done about.

    Lines are for `weft check`; a config outlives them.
    """
    found: dict[str, list[str]] = defaultdict(list)
    facts: dict[tuple[str, str], list[str]] = defaultdict(list)  # by task and remedy
    for finding in report.findings:
        task = next((name for name in tasks if f"{finding.path}.".startswith(f"tasks.{name}.")), "")
        if finding.severity == "error":
            found[task].append(f"to be mended: {finding.full}")
        elif finding.remedy:
            split = finding.path.rpartition(".")[2]
            facts[task, finding.remedy].append(f"{split}: {finding.fact}" if split in SPLITS else finding.fact)
    for (task, remedy), sentences in facts.items():
        found[task].append("; ".join([*dict.fromkeys(sentences), remedy]))
    return found
