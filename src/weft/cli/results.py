"""The table at the end of a run, and what to type next."""

from __future__ import annotations

from pathlib import Path

from weft.checkpoints.hf import read_json
from weft.cli.progress import console, output
from weft.reports.table import results_table, verdict


def show_run(folder: Path) -> None:
    """Print the results of a finished run."""
    record = read_json(folder / "report.json")
    output.print(results_table(record))
    for sentence in verdict(record):
        output.print(sentence)
    console.print(f"\nmodel and report: [bold]{folder}[/] (open {folder / 'report.html'})", soft_wrap=True)
