"""Benchmarks that keep which test rows every run answered rightly: one CSV per method, and from these tables.

    set, per_class, seed, rows, seconds, right     `right` holds a bit per test row, four to a hexadecimal digit

The first method is held against every other, draw by draw and row by row, by the tests of `weft compare`; p is
corrected over the sets on which two methods meet with one number of labels.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from statistics import NormalDist, fmean

import numpy as np

from weft.comparison.crossed import PairedDifference, Spread, paired_difference, spread
from weft.comparison.resampling import Resamples, RunScores
from weft.comparison.scale import Scale
from weft.comparison.significance import sign_flip_p
from weft.comparison.verdict import judge
from weft.metrics.classification import Floats
from weft.reports.comparison_sentences import p_words, points

LEVEL = 0.05
MARKS = {"better": "\u00a0▲", "worse": "\u00a0▼", "equivalent": "\u00a0=", "cannot tell": "\u00a0·"}  # never apart


@dataclass(frozen=True)
class Draws:
    """The runs of one method on one set with one number of labels per class."""

    right: Mapping[int, Floats]  # by seed, (R,) of 0 and 1
    seconds: tuple[float, ...]  # of training, where they were measured on a quiet machine

    @property
    def mean(self) -> float:
        return fmean(float(one.mean()) for one in self.right.values())

    def scores(self, seeds: Sequence[int]) -> RunScores:
        """Accuracy, on the rows as they are and on resamples of them."""
        right = np.stack([self.right[seed] for seed in seeds])
        return RunScores(right.mean(axis=1), right @ resamples(right.shape[1]).rows.T / right.shape[1])


@lru_cache
def resamples(rows: int) -> Resamples:
    """The same for all methods."""
    return Resamples.draw(rows)


@dataclass(frozen=True)
class Against:
    """The first method held against another on one set, over the draws they share; above 0 the first is better."""

    first: Draws
    other: Draws

    @cached_property
    def seeds(self) -> list[int]:
        return [seed for seed in self.first.right if seed in self.other.right]

    @cached_property
    def difference(self) -> PairedDifference:
        return paired_difference(*self._scores, self._resamples)

    @cached_property
    def spread(self) -> Spread:
        """How the difference would move with other draws and rows."""
        first, other = self._scores
        return spread(first.minus(other), self._resamples, Scale.of(other, False))

    @property
    def _scores(self) -> tuple[RunScores, RunScores]:
        return self.first.scores(self.seeds), self.other.scores(self.seeds)

    @property
    def _resamples(self) -> Resamples:
        return resamples(len(self.first.right[self.seeds[0]]))


@dataclass(frozen=True)
class Size:
    """All runs with one number of labels per class."""

    runs: Mapping[str, Mapping[str, Draws]]  # by method and set
    sets: tuple[str, ...]
    names: Mapping[str, str]  # of methods, the first one first

    def overview(self) -> str:
        """Mean accuracies, a line per method; a mark says how the first method compares with it on a set."""
        lines = [["", *self.sets, "mean of sets"], ["---", *["---:"] * (len(self.sets) + 1)]]
        for method, runs in self.runs.items():
            words = {name: word for name, _, _, word in self._judged(method)}
            cells = [
                f"{runs[name].mean:.3f}{MARKS.get(words.get(name) or '', '')}{self._fewer(method, name)}"
                if name in runs
                else "–"
                for name in self.sets
            ]
            whole = f"{fmean(draws.mean for draws in runs.values()):.3f}" if len(runs) == len(self.sets) else "–"
            lines.append([self.names[method], *cells, whole])
        return table(lines)

    def differences(self) -> str:
        """Every comparison with the first method: difference, interval, p and verdict; nothing of single draws."""
        headings = ["against", "set", "draws", "difference (points)", "95 % interval", "p", "verdict"]
        lines = [headings, ["---", "---", "---:", "---:", "---:", "---:", "---"]]
        for method in self.runs:
            judged = self._judged(method)
            for name, one, p, word in judged:
                found = one.difference
                line = self._line(method, name, len(one.seeds), (found.mean, found.low, found.high), p, word)
                lines.append(line)
            if len(judged) > 1:
                lines.append(self._mean_of_sets(method, [one for _, one, _, _ in judged]))
        return table(lines) if len(lines) > 2 else ""

    def seconds(self) -> str:
        """Mean seconds of training, a line per method; nothing where none were measured."""
        lines = [["", *self.sets, "sum"], ["---", *["---:"] * (len(self.sets) + 1)]]
        for method, runs in self.runs.items():
            cells = [fmean(found) if name in runs and (found := runs[name].seconds) else None for name in self.sets]
            if measured := [cell for cell in cells if cell is not None]:
                whole = f"{sum(measured):,.0f}" if len(measured) == len(cells) else "–"
                lines.append([self.names[method], *("–" if cell is None else f"{cell:,.1f}" for cell in cells), whole])
        return table(lines) if len(lines) > 2 else ""

    def _judged(self, method: str) -> list[tuple[str, Against, float | None, str | None]]:
        """Set, comparison, p and verdict, wherever the first method and another have two draws in common."""
        first, other = self.runs.get(next(iter(self.names)), {}), self.runs[method]
        both = {name: Against(first[name], other[name]) for name in self.sets if name in first and name in other}
        met = {name: one for name, one in both.items() if first is not other and len(one.seeds) > 1}
        words = judge([one.difference for one in met.values()], 2)
        return [(name, one, *word) for (name, one), word in zip(met.items(), words, strict=True)]

    def _fewer(self, method: str, name: str) -> str:
        """How many draws there are, where another method has more."""
        draws = len(self.runs[method][name].right)
        most = max(len(runs[name].right) for runs in self.runs.values() if name in runs)
        return f" ({draws})" if draws < most else ""

    def _mean_of_sets(self, method: str, met: Sequence[Against]) -> list[str]:
        """Every set counts alike, however many draws it has."""
        mean, error = (
            fmean(one.difference.mean for one in met),
            math.hypot(*(one.spread.error for one in met)) / len(met),
        )
        reach = NormalDist().inv_cdf(1 - LEVEL / 2) * error
        low, high = mean - reach, mean + reach
        shares = [value / len(one.seeds) for one in met for value in one.difference.by_seed]
        p = max(sign_flip_p(shares), 2 * NormalDist().cdf(-abs(mean) / error) if error else 1.0)
        word = "cannot tell" if p > LEVEL or low <= 0 <= high else "better" if mean > 0 else "worse"
        draws = sum(len(one.seeds) for one in met)
        return self._line(method, f"**mean of {len(met)} sets**", draws, (mean, low, high), p, word)

    def _line(
        self, method: str, name: str, draws: int, found: Sequence[float], p: float | None, word: str | None
    ) -> list[str]:
        mean, low, high = map(points, found)
        return [self.names[method], name, str(draws), mean, f"{low} to {high}", p_words(p), word or "–"]


def read_sizes(folder: Path, sets: Sequence[str], names: Mapping[str, str]) -> dict[int, Size]:
    """All runs in a folder by labels per class, sets and methods in the order they are named in."""
    lines = {method: _lines(folder / f"{method.replace(' ', '_')}.csv") for method in names}
    sizes = sorted({int(line["per_class"]) for found in lines.values() for line in found})
    return {size: _size([*sets], names, {m: _at(found, size) for m, found in lines.items()}) for size in sizes}


def _lines(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as opened:
        return sorted(csv.DictReader(opened), key=lambda line: int(line["seed"]))


def _at(lines: Sequence[dict[str, str]], size: int) -> list[dict[str, str]]:
    return [line for line in lines if int(line["per_class"]) == size]


def _size(sets: Sequence[str], names: Mapping[str, str], lines: Mapping[str, Sequence[dict[str, str]]]) -> Size:
    runs = {
        method: {name: _draws(of_set) for name in sets if (of_set := [line for line in found if line["set"] == name])}
        for method, found in lines.items()
        if found
    }
    return Size(runs, tuple(name for name in sets if any(name in found for found in runs.values())), names)


def _draws(lines: Sequence[Mapping[str, str]]) -> Draws:
    right = {int(line["seed"]): _bits(line["right"], int(line["rows"])) for line in lines}
    return Draws(right, tuple(float(line["seconds"]) for line in lines if line["seconds"]))


def _bits(digits: str, rows: int) -> Floats:
    bits = "".join(f"{int(digit, 16):04b}" for digit in digits)[:rows]
    return np.array([float(bit) for bit in bits])


def table(lines: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
