"""The table of a grid: every variant of every task with its interval, its difference to the base, and the verdict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import fmean

import numpy as np

from weft.comparison.crossed import PairedDifference, estimate, paired_difference
from weft.comparison.jobs import Job
from weft.comparison.plan import GridPlan
from weft.comparison.resampling import Resamples, RunScores
from weft.comparison.store import RunResult, Store
from weft.comparison.verdict import Decision, judge
from weft.metrics.outcomes import Outcomes
from weft.reports.comparison_record import CellRecord, ClassDifference

ROUNDS = 1000  # resamples of seeds and rows


@dataclass(frozen=True)
class SeedRun:
    """What an arm gave with one seed, its folds joined."""

    results: tuple[RunResult, ...]
    outcomes: Mapping[str, Outcomes]


ArmSize = tuple[str, int | None]
Runs = dict[ArmSize, dict[int, SeedRun]]  # by arm and size, then by seed
Diverged = Mapping[ArmSize, int]  # with how many seeds


def gather_runs(jobs: Sequence[Job], store: Store) -> tuple[Runs, Diverged]:
    """The runs of which every fold is finished, and how many have a fold that diverged."""
    folds: dict[tuple[str, int | None, int], list[Job]] = defaultdict(list)
    for job in jobs:
        folds[job.arm, job.size, job.seed].append(job)
    runs: Runs = defaultdict(dict)
    diverged: Counter[ArmSize] = Counter()
    for (arm, size, seed), parts in folds.items():
        if any(job.key in store and not store.has_scores(job.key) for job in parts):
            diverged[arm, size] += 1
        elif all(job.key in store for job in parts):
            outcomes = [store.outcomes(job.key) for job in parts]
            joined = {task: type(first).join([part[task] for part in outcomes]) for task, first in outcomes[0].items()}
            runs[arm, size][seed] = SeedRun(tuple(store.result(job.key) for job in parts), joined)
    return runs, diverged


def build_cells(plan: GridPlan, runs: Runs, diverged: Diverged) -> tuple[CellRecord, ...]:
    """The whole table, task by task, the base of each first."""
    cells = list(_cells(plan, runs, diverged))
    differences = [cell.difference for cell in cells if cell.difference is not None and cell.judged]
    words = iter(judge(differences, len(plan.seeds), plan.equivalence))
    return tuple(cell.record(plan, next(words) if cell.judged else (None, None)) for cell in cells)


@lru_cache(maxsize=4)
def _draw(rows: int) -> Resamples:
    """The same for every variant."""
    return Resamples.draw(rows, ROUNDS)


def _cells(plan: GridPlan, runs: Runs, diverged: Diverged) -> Iterator[_VariantRuns]:
    for task, metric in plan.metrics.items():
        first, *others = [column for column in plan.columns if column.task == task]
        bases = {}
        for size in plan.sizes:
            of = first.arm, size
            bases[size] = _VariantRuns(task, first.variant, size, metric, runs[of], diverged.get(of, 0))
        yield from bases.values()
        for column in others:
            for size in plan.sizes:
                of = column.arm, size
                yield _VariantRuns(task, column.variant, size, metric, runs[of], diverged.get(of, 0), bases[size])


@dataclass(frozen=True)
class _VariantRuns:
    """One variant of a task at one size, and what it is held against."""

    task: str
    variant: str
    size: int | None
    metric: str
    runs: Mapping[int, SeedRun]
    diverged: int = 0  # seeds that have no run here, for that
    base: _VariantRuns | None = None

    def outcomes(self, seeds: Sequence[int]) -> list[Outcomes]:
        return [self.runs[seed].outcomes[self.task] for seed in seeds]

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.runs)

    @cached_property
    def rows(self) -> int:
        return len(self.outcomes(self.seeds[:1])[0]) if self.seeds else 0

    @cached_property
    def lower_is_better(self) -> bool:
        return bool(self.seeds) and self.metric in self.outcomes(self.seeds[:1])[0].lower_is_better

    @cached_property
    def resamples(self) -> Resamples:
        return _draw(self.rows)

    @cached_property
    def scores(self) -> RunScores:
        return RunScores.of(self.outcomes(self.seeds), self.metric, self.resamples)

    @cached_property
    def class_scores(self) -> dict[str, RunScores]:
        return RunScores.per_class(self.outcomes(self.seeds), self.resamples)

    @cached_property
    def common(self) -> tuple[int, ...]:
        """The seeds with which both it and its base have been run, where they answered the same rows."""
        if self.base is None:
            return ()
        both = [seed for seed in self.seeds if seed in self.base.runs]
        return tuple(both) if self._same_rows(both) else ()

    @cached_property
    def pair(self) -> tuple[_VariantRuns, _VariantRuns]:
        """It and its base with the seeds they have in common."""
        assert self.base is not None
        both: list[_VariantRuns] = []
        for cell in (self, self.base):
            shared = {seed: cell.runs[seed] for seed in self.common}
            both.append(cell if cell.seeds == self.common else _VariantRuns(*cell.key, shared))
        return both[0], both[1]

    @property
    def key(self) -> tuple[str, str, int | None, str]:
        return self.task, self.variant, self.size, self.metric

    @cached_property
    def difference(self) -> PairedDifference | None:
        if not self.common:
            return None
        own, base = self.pair
        return paired_difference(own.scores, base.scores, own.resamples, lower_is_better=self.lower_is_better)

    @property
    def judged(self) -> bool:
        """Whether there can be a verdict: not of the seeds alone with which nothing diverged, which were not drawn."""
        whole = self.base is not None and not self.diverged and not self.base.diverged
        return whole and self.difference is not None and len(self.common) > 1

    def record(self, plan: GridPlan, judged: tuple[float | None, Decision | None]) -> CellRecord:
        """The line of the table."""
        cell = CellRecord(
            task=self.task, variant=self.variant, size=self.size, metric=self.metric, diverged=self.diverged
        )
        if not self.seeds:
            return cell.model_copy(update={"is_base": self.base is None})
        interval = estimate(self.scores, self.resamples, lower_is_better=self.lower_is_better)
        results = [result for run in self.runs.values() for result in run.results]
        update = {
            "seeds": len(self.seeds),
            **{"mean": interval.mean, "low": interval.low, "high": interval.high},
            "seconds": fmean(result.seconds for result in results),
            "parameters": results[0].parameters,
            "trained_parameters": results[0].trained_parameters,
            "rows": self.rows,
            "lower_is_better": self.lower_is_better,
            "equivalence": plan.equivalence * (self.difference.unit if self.difference else 1.0),
            "is_base": self.base is None,
            **self._difference_fields(*judged),
        }
        return CellRecord.model_validate({**cell.model_dump(), **update})

    def _difference_fields(self, p: float | None, verdict: Decision | None) -> dict[str, object]:
        found = self.difference
        if found is None:
            return {}
        return {
            **{"difference": found.mean, "difference_low": found.low, "difference_high": found.high},
            **{"p": p, "verdict": verdict or "", "by_seed": found.by_seed},
            **{"p_seeds": found.p_seeds, "p_crossed": found.p_crossed, "p_rows": found.p_rows},
            "per_class": dict(self._classes()),
        }

    def _classes(self) -> Iterator[tuple[str, ClassDifference]]:
        """How each label fares, for looking at: no verdicts, which so many of them would not bear."""
        own, base = self.pair
        # Not kept, as the base's are: those of every cell of a large table, label by label, would fill the memory.
        for label, scores in RunScores.per_class(own.outcomes(own.seeds), own.resamples).items():
            if label in base.class_scores:
                found = paired_difference(scores, base.class_scores[label], own.resamples)
                mean = float(np.mean(scores.points))
                yield label, ClassDifference(mean=mean, difference=found.mean, low=found.low, high=found.high)

    def _same_rows(self, seeds: Sequence[int]) -> bool:
        assert self.base is not None
        all_lines = [outcomes.lines for cell in (self, self.base) for outcomes in cell.outcomes(seeds)]
        return all(np.array_equal(lines, all_lines[0]) for lines in all_lines)
