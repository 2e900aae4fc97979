"""How often the verdicts of a comparison are wrong, by simulation: false alarms, coverage of the intervals, power.

    python benchmarks/verdicts.py [--tables 1000] [--power | --alarms]

Every simulated table holds a base and five variants, ten seeds each, all answering the same rows. What a run answers to
a row depends on the row, on how the variant takes to the row, on the seed, on how the variant takes to the seed, and on
luck; a scenario says how much on each. Under the null all variants are equally good in the long run, though no two runs
answer alike. The functions of `weft.comparison` judge each table, cut down to 3, 5 and 10 seeds and to 1 and 5
variants, on 50 and on 500 rows. The truth is known in closed form, or by quadrature over seeds.

    mean                 intervals of a mean that hold its true value: 93 to 97 %
    difference           intervals of a difference that hold the true one, 0: 93 to 97 %
    any of 1, any of 5   tables of 10 seeds with 1 or 5 variants in which any is called better or worse: at most 5 %;
                         with 3 or 5 seeds there are none

With `--power` one variant is better in truth by some points, and the words it gets with 10 seeds are counted. With
`--alarms` only false alarms of one variant with 10 seeds on 50 rows are counted, where they are most frequent; it takes
a thousandth of a second a table, so that `--tables 20000` tells 4.7 % from 5 %.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from weft.comparison.crossed import PairedDifference, estimate, paired_difference
from weft.comparison.resampling import Resamples, RunScores
from weft.comparison.verdict import judge

Floats = NDArray[np.float64]
SEEDS, ROWS, VARIANTS = (3, 5, 10), (50, 500), 5
NODES, MASSES = np.polynomial.hermite_e.hermegauss(41)  # quadrature over a standard normal
MASSES = MASSES / MASSES.sum()


@dataclass(frozen=True)
class Scenario(ABC):
    """What answers depend on, as standard deviations; luck has what is left of a variance of 1."""

    name: str
    level: float  # the accuracy, or the correlation, of a middling seed
    seed: float = 0.03
    variant_by_seed: float = 0.04
    row: float = 0.75
    variant_by_row: float = 0.3

    @cached_property
    def of_seeds(self) -> float:
        return math.hypot(self.seed, self.variant_by_seed)

    @cached_property
    def of_rows(self) -> float:
        return math.sqrt(1 - self.of_seeds**2)

    def effects(self, arms: int, rows: int, draw: np.random.Generator) -> tuple[Floats, Floats]:
        """What seeds do, (arms, seeds, 1), and what rows and luck do, (arms, seeds, rows)."""
        seeds = max(SEEDS)
        luck = math.sqrt(self.of_rows**2 - self.row**2 - self.variant_by_row**2)
        of_seeds = self.seed * draw.standard_normal((1, seeds, 1))
        of_seeds = of_seeds + self.variant_by_seed * draw.standard_normal((arms, seeds, 1))
        of_rows = self.row * draw.standard_normal((1, 1, rows))
        of_rows = of_rows + self.variant_by_row * draw.standard_normal((arms, 1, rows))
        return of_seeds, of_rows + luck * draw.standard_normal((arms, seeds, rows))

    @abstractmethod
    def scores(self, gains: Floats, weights: Floats, draw: np.random.Generator) -> Floats:
        """The metric of new runs on new rows, weighted as in (B, rows): (arms, seeds, B)."""

    @abstractmethod
    def truth(self, gain: float) -> float:
        """The metric on all rows there could be, in the mean of all seeds there could be."""


@dataclass(frozen=True)
class Accuracy(Scenario):
    """Right or wrong; some seeds may fail, and do no better than a coin."""

    failing: float = 0.0

    def right(self, gains: Floats, rows: int, draw: np.random.Generator) -> NDArray[np.bool_]:
        of_seeds, of_rows = self.effects(len(gains), rows, draw)
        works = draw.random(of_seeds.shape) >= self.failing
        return np.asarray(works * ndtri(self.level + gains)[:, None, None] + of_seeds + of_rows > 0)

    def scores(self, gains: Floats, weights: Floats, draw: np.random.Generator) -> Floats:
        right = self.right(gains, weights.shape[1], draw)
        return np.asarray(right.astype(np.float64) @ weights.T / weights.sum(axis=1))

    def truth(self, gain: float) -> float:
        return (1 - self.failing) * (self.level + gain) + self.failing / 2


@dataclass(frozen=True)
class MacroF1(Accuracy):
    """One class of several; a wrong answer is another class, likelier the more frequent that is."""

    prior: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)

    @cached_property
    def confusions(self) -> Floats:
        """How often each class (column) is answered instead of each (row)."""
        others = np.where(np.eye(len(self.prior), dtype=bool), 0.0, np.array(self.prior))
        return np.asarray(others / others.sum(axis=1, keepdims=True))

    def scores(self, gains: Floats, weights: Floats, draw: np.random.Generator) -> Floats:
        right = self.right(gains, weights.shape[1], draw)
        gold = draw.choice(len(self.prior), size=weights.shape[1], p=self.prior)
        steps = self.confusions.cumsum(axis=1)[gold, :-1]
        wrong = (draw.random(right.shape)[..., None] > steps).sum(axis=-1)
        given = np.where(right, gold, wrong)
        total, used = np.zeros(()), np.zeros(())
        for label in range(len(self.prior)):
            hits = ((given == label) & (gold == label)).astype(np.float64) @ weights.T
            either = (given == label).astype(np.float64) @ weights.T + weights @ (gold == label)
            total, used = total + 2 * hits / np.maximum(either, 1), used + (either > 0)
        return np.asarray(total / used)

    def truth(self, gain: float) -> float:
        prior = np.array(self.prior)[:, None]
        right = ndtr((ndtri(self.level + gain) + self.of_seeds * NODES) / self.of_rows)
        given = prior * right + (1 - right) * (self.confusions.T @ prior)
        return float((2 * prior * right / (prior + given)).mean(axis=0) @ MASSES)


@dataclass(frozen=True)
class Pearson(Scenario):
    """A number and an error, which is larger for some seeds than for others."""

    def error(self, gains: Floats) -> Floats:
        return np.asarray(np.sqrt(1 / (self.level + gains) ** 2 - 1))

    def scores(self, gains: Floats, weights: Floats, draw: np.random.Generator) -> Floats:
        of_seeds, of_rows = self.effects(len(gains), weights.shape[1], draw)
        gold = draw.standard_normal(weights.shape[1])
        answers = gold + self.error(gains)[:, None, None] * np.exp(of_seeds) * of_rows / self.of_rows
        size = weights.sum(axis=1)
        means, middle = answers @ weights.T / size, weights @ gold / size
        covariance = (answers * gold) @ weights.T / size - means * middle
        spread = (answers**2 @ weights.T / size - means**2) * (weights @ gold**2 / size - middle**2)
        return np.asarray(covariance / np.sqrt(spread))

    def truth(self, gain: float) -> float:
        error = self.error(np.array(gain)) * np.exp(self.of_seeds * NODES)
        return float(1 / np.sqrt(1 + error**2) @ MASSES)


SCENARIOS: tuple[Scenario, ...] = (
    Accuracy("accuracy 0.80", 0.80),
    Accuracy("accuracy 0.80, seeds alike", 0.80, seed=0, variant_by_seed=0),
    Accuracy("accuracy 0.80, seeds far apart", 0.80, seed=0.1, variant_by_seed=0.2),
    Accuracy("accuracy 0.80, runs of a variant agree", 0.80, row=0.8, variant_by_row=0.58),
    Accuracy("accuracy 0.80, variants differ by luck alone", 0.80, variant_by_seed=0, variant_by_row=0),
    Accuracy("accuracy 0.95", 0.95),
    MacroF1("macro F1 of four classes", 0.75),
    MacroF1("macro F1, a rare class", 0.75, prior=(0.5, 0.3, 0.16, 0.04)),
    Pearson("Pearson 0.80", 0.80),
    Pearson("Pearson 0.80, seeds far apart", 0.80, seed=0.1, variant_by_seed=0.2),
)
STRESS: tuple[Scenario, ...] = (
    Accuracy("accuracy 0.99", 0.99),
    Accuracy("accuracy 0.80, one seed in ten fails", 0.80, failing=0.1),
)


@dataclass
class Tally:
    """What was counted over many tables of one size."""

    tables: int = 0
    means: list[bool] = field(default_factory=list)
    differences: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    words: Counter[str | None] = field(default_factory=Counter)  # of the first variant, judged alone
    any_of_all: int = 0

    def share(self, *words: str) -> float:
        return sum(self.words[word] for word in words) / self.tables


def simulate(
    scenario: Scenario, gains: Sequence[float], rows: int, tables: int, seeds: Sequence[int] = SEEDS
) -> dict[int, Tally]:
    """Seeds -> what was counted over so many tables; the first gain is that of the base."""
    draw = np.random.default_rng([rows, *scenario.name.encode()])
    found = {number: Tally() for number in seeds}
    resamples = Resamples.draw(rows)
    weights = np.concatenate([np.ones((1, rows)), resamples.rows])
    truths = [scenario.truth(gain) for gain in gains]
    for _ in range(tables):
        scores = scenario.scores(np.array(gains), weights, draw)
        for seeds, tally in found.items():
            arms = [RunScores(one[:seeds, 0], one[:seeds, 1:]) for one in scores]
            count(tally, arms, truths, resamples)
    return found


def count(tally: Tally, arms: Sequence[RunScores], truths: Sequence[float], resamples: Resamples) -> None:
    """Judge one table and add what came of it."""
    base, *variants = arms
    means = [estimate(arm, resamples) for arm in arms]
    tally.means += [one.low <= truth <= one.high for one, truth in zip(means, truths, strict=True)]
    differences = [paired_difference(arm, base, resamples) for arm in variants]
    tally.differences += [
        one.low <= truth - truths[0] <= one.high for one, truth in zip(differences, truths[1:], strict=True)
    ]
    tally.widths += [one.high - one.low for one in differences]
    tally.words[words(differences[:1], len(base.points))[0]] += 1
    tally.any_of_all += bool({"better", "worse"} & {*words(differences, len(base.points))})
    tally.tables += 1


def words(differences: Sequence[PairedDifference], seeds: int) -> list[str | None]:
    return [word for _, word in judge(differences, seeds)]


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def null_table(tables: int, scenarios: Sequence[Scenario]) -> Iterator[str]:
    """The lines of a Markdown table: no variant is better."""
    numbers = ", ".join(map(str, SEEDS))
    yield f"| scenario | rows | mean: {numbers} seeds | difference: {numbers} seeds | any of 1 | any of 5 |"
    yield "|---|--:|--:|--:|--:|--:|"
    for scenario in scenarios:
        for rows in ROWS:
            found = simulate(scenario, [0.0] * (VARIANTS + 1), rows, tables)
            means = [percent(float(np.mean(tally.means))) for tally in found.values()]
            differences = [percent(float(np.mean(tally.differences))) for tally in found.values()]
            most = found[max(SEEDS)]
            called = [percent(most.share("better", "worse")), percent(most.any_of_all / tables)]
            yield f"| {scenario.name} | {rows} | {', '.join(means)} | {', '.join(differences)} | {' | '.join(called)} |"


def alarm_table(tables: int, scenarios: Sequence[Scenario]) -> Iterator[str]:
    """The lines of a Markdown table: how often one variant that is no better is called better or worse."""
    yield "| scenario | any of 1, 50 rows, 10 seeds |"
    yield "|---|--:|"
    for scenario in scenarios:
        tally = simulate(scenario, [0.0, 0.0], min(ROWS), tables, (max(SEEDS),))[max(SEEDS)]
        yield f"| {scenario.name} | {100 * tally.share('better', 'worse'):.2f} |"


def power_table(tables: int, scenario: Scenario) -> Iterator[str]:
    """The lines of a Markdown table: one variant is better by so many points."""
    yield "| rows | better by | width of the interval | `better` | `worse` | `equivalent` | `cannot tell` |"
    yield "|--:|--:|--:|--:|--:|--:|--:|"
    for rows in (*ROWS, 5000):
        for gain in (0.0, 0.01, 0.02, 0.05):
            tally = simulate(scenario, [0.0, gain], rows, tables)[max(SEEDS)]
            shares = [tally.share(word) for word in ("better", "worse", "equivalent", "cannot tell")]
            yield f"| {rows} | {' | '.join(map(percent, [gain, float(np.mean(tally.widths)), *shares]))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000, help="simulated tables per scenario and number of rows")
    parser.add_argument("--power", action="store_true", help="one variant is better in truth; count the words")
    parser.add_argument("--alarms", action="store_true", help="only false alarms of one variant, on 50 rows")
    options = parser.parse_args()
    began = time.monotonic()
    lines = null_table(options.tables, SCENARIOS + STRESS)
    if options.power:
        lines = power_table(options.tables, SCENARIOS[0])
    elif options.alarms:
        lines = alarm_table(options.tables, SCENARIOS + STRESS)
    for line in lines:
        print(line, flush=True)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
