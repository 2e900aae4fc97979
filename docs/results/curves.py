"""Scores of several tasks after every epoch of every phase: a page and a picture, from what all seeds reached.

seed, phase, epoch, task, metric, score     phases are counted from 1, epochs within their phase
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from docs.results.curve_picture import Panel, Stretch, panels
from docs.results.draws import table
from docs.results.pictures import by_itself
from docs.results.recipe import Recipe, head
from weft.config.document import read_experiment
from weft.reports.comparison_sentences import points

Place = tuple[int, int]  # phase and epoch


@dataclass(frozen=True)
class Curves:
    """The scores of every seed, which all went through the same phases."""

    metrics: Mapping[str, str]  # by task
    scores: Mapping[tuple[str, Place], Mapping[int, float]]  # by task and place, of every seed
    learns: Sequence[frozenset[str]]  # the tasks of each phase

    @property
    def places(self) -> list[Place]:
        return sorted({place for _, place in self.scores})

    @property
    def seeds(self) -> list[int]:
        return sorted({seed for found in self.scores.values() for seed in found})

    def ends(self) -> list[Place]:
        """The last epoch of each phase."""
        return [max(place for place in self.places if place[0] == phase + 1) for phase in range(len(self.learns))]

    def phase_name(self, phase: int) -> str:
        """What learns in a phase, counted from 1."""
        tasks = self.learns[phase - 1]
        return "all in turn" if tasks == {*self.metrics} else f"{', '.join(sorted(tasks))} alone"

    def change(self, task: str, phase: int) -> list[float]:
        """What a phase after the first brought a task, seed by seed."""
        before, after = (self.scores[task, self.ends()[which]] for which in (phase - 2, phase - 1))
        return [after[seed] - before[seed] for seed in self.seeds]


def read_curves(file: Path, learns: Sequence[frozenset[str]]) -> Curves:
    """The scores in a file, of seeds that went through phases in which these tasks learned."""
    scores: dict[tuple[str, Place], dict[int, float]] = {}
    metrics: dict[str, str] = {}
    with file.open(encoding="utf-8", newline="") as opened:
        for line in csv.DictReader(opened):
            metrics[line["task"]] = line["metric"]
            place = int(line["phase"]), int(line["epoch"])
            scores.setdefault((line["task"], place), {})[int(line["seed"])] = float(line["score"])
    return Curves(metrics, scores, learns)


def curves_files(recipe: Recipe, folder: Path) -> dict[str, str]:
    """The page of a recipe whose CSV is there, and its picture, by file name."""
    experiment = read_experiment(recipe.path)
    learns = [frozenset(phase.tasks or experiment.tasks) for phase in experiment.phases]
    curves = read_curves(folder / f"{recipe.name}.csv", learns)
    return {f"{recipe.name}.md": _page(recipe, curves), f"{recipe.name}.svg": _picture(curves)}


def _page(recipe: Recipe, curves: Curves) -> str:
    seeds = f"{len(curves.seeds)} seeds"
    drawn = f"![scores of each task after every epoch, the phases in which it learns shaded]({recipe.name}.svg)"
    legend = (
        f"Lines are means over {seeds}, bands reach from the lowest seed to the highest; a task learns where its panel "
        "is shaded."
    )
    every = f"Mean over {seeds} (lowest to highest), on rows that nothing was learned from."
    parts = [*head(recipe, seeds), drawn, legend, "## After every epoch", every, table([*_epochs(curves)])]
    changed = "From the end of the phase before to the end of this one, in points; then in how many seeds a task fell."
    return "\n\n".join([*parts, "## What a phase changes", changed, table([*_changes(curves)])]) + "\n"


def _epochs(curves: Curves) -> Iterator[list[str]]:
    yield ["phase", "epoch", *(f"{task} ({metric})" for task, metric in curves.metrics.items())]
    yield ["---", "---:", *["---:"] * len(curves.metrics)]
    for phase, epoch in curves.places:
        found = [[*curves.scores[task, (phase, epoch)].values()] for task in curves.metrics]
        cells = [f"{fmean(values):.3f} ({min(values):.3f} to {max(values):.3f})" for values in found]
        yield [curves.phase_name(phase), str(epoch), *cells]


def _changes(curves: Curves) -> Iterator[list[str]]:
    yield ["phase", *curves.metrics]
    yield ["---", *["---:"] * len(curves.metrics)]
    for phase in range(2, len(curves.learns) + 1):
        yield [curves.phase_name(phase), *(_change(curves.change(task, phase)) for task in curves.metrics)]


def _change(values: Sequence[float]) -> str:
    mean, low, high = map(points, (fmean(values), min(values), max(values)))
    return f"{mean} ({low} to {high}), {sum(value < 0 for value in values)} of {len(values)}"


def _picture(curves: Curves) -> str:
    numbers = {place: number for number, place in enumerate(curves.places, 1)}
    stretches = [
        Stretch(
            curves.phase_name(phase),
            sum(place[0] < phase for place in numbers) + 0.5,
            sum(place[0] <= phase for place in numbers) + 0.5,
        )
        for phase in range(1, len(curves.learns) + 1)
    ]
    drawn = [
        Panel(
            f"{task} ({metric})",
            [[*curves.scores[task, place].values()] for place in numbers],
            [task in learns for learns in curves.learns],
        )
        for task, metric in curves.metrics.items()
    ]
    return by_itself(panels(drawn, stretches, "Scores of each task after every epoch"))
