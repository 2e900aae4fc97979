"""What `weft.compare` returns: the table as rows, sentences, and a page for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from rich.console import Console

from weft.model.notebook import html_table
from weft.reports.comparison_csv import COLUMNS
from weft.reports.comparison_record import CellRecord, ComparisonRecord
from weft.reports.comparison_sentences import amount, amounts, p_words, sentences, verdict_words
from weft.reports.comparison_terminal import comparison_table
from weft.reports.summary import interval_in_words, number

_HEADINGS = ("variant", "rows", "mean", "95 % interval", "difference", "95 % interval", "p", "verdict")


@dataclass(frozen=True, repr=False)
class Comparison:
    """A finished comparison."""

    folder: Path
    record: ComparisonRecord

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict for each task, variant and size, with the columns of `compare.csv`; `size` is None for all rows."""
        return [cell.model_dump(include=set(COLUMNS)) for cell in self.record.cells]

    @property
    def sentences(self) -> dict[str, str]:
        """What it says about each task, in words."""
        return sentences(self.record)

    def cell(self, task: str, variant: str, size: int | None = None) -> CellRecord:
        """All that is known of one variant of a task."""
        for cell in self.record.cells:
            if (cell.task, cell.variant, cell.size) == (task, variant, size):
                return cell
        known = ", ".join(f"({cell.task}, {cell.variant}, {cell.size})" for cell in self.record.cells)
        raise KeyError(f"there is no ({task}, {variant}, {size}); there are: {known}")

    def __repr__(self) -> str:
        console = Console(width=120, no_color=True, highlight=False)
        with console.capture() as captured:
            console.print(comparison_table(self.record))
            for sentence in self.sentences.values():
                console.print(sentence, markup=False)
        return f"{captured.get()}{self.folder / 'compare.html'}"

    def _repr_html_(self) -> str:
        """A table per task and its sentence, for notebooks."""
        parts = []
        for task, sentence in self.sentences.items():
            rows = [
                (
                    cell.variant,
                    "all" if cell.size is None else f"{cell.size:,}",
                    number(cell.mean),
                    interval_in_words(cell.interval),
                    amount(cell, cell.difference),
                    amounts(cell, cell.difference_interval),
                    p_words(cell.p),
                    verdict_words(cell),
                )
                for cell in self.record.of(task)
            ]
            parts.append(html_table(_HEADINGS, rows, task) + f"<p>{escape(sentence)}</p>")
        return "".join(parts)
