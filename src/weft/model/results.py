"""The results of several tasks, which show themselves as a table."""

from __future__ import annotations

from collections.abc import Iterator

from weft.model.evaluate import TaskResult
from weft.model.notebook import html_table

_HEADINGS = ("task", "metric", "value", "95 % interval", "rows")


class TaskResults(dict[str, TaskResult]):
    """Each task's result by its name: a dict that prints as a table, a line for each metric."""

    def __repr__(self) -> str:
        lines = [_HEADINGS, *self._lines()]
        widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return html_table(_HEADINGS, self._lines())

    def _lines(self) -> Iterator[tuple[str, ...]]:
        for name, result in self.items():
            for metric, value in result.measures.scores.items():
                low_high = result.measures.intervals.get(metric)
                interval = f"{low_high[0]:.3f} to {low_high[1]:.3f}" if low_high else "–"
                yield name, metric, f"{value:.3f}", interval, f"{result.rows:,}"
