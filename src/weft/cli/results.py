"""The table at the end of a run, and what to type next."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape

from weft.checkpoints.hf import read_json
from weft.cli.progress import console, output
from weft.reports.terminal import results_table, verdict


def show_run(folder: Path) -> None:
    """Print the results of a finished run."""
    record = read_json(folder / "report.json")
    output.print(results_table(record))
    for sentence in verdict(record):
        output.print(sentence)
    place, page = (escape(str(path)) for path in (folder, folder / "report.html"))  # brackets are no markup here
    console.print(f"\nmodel and report: [bold]{place}[/] (open {page})", soft_wrap=True)
