"""Everything that is shown of a grid, from the runs that are finished."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import fmean

from weft.comparison.grouping import choose_groups, pair_records
from weft.comparison.jobs import Job
from weft.comparison.plan import GridPlan
from weft.comparison.significance import seeds_needed, smallest_p
from weft.comparison.store import Store
from weft.comparison.table import ROUNDS, Runs, build_cells, gather_runs
from weft.reports.comparison_record import ComparisonRecord


def build_record(plan: GridPlan, jobs: Sequence[Job], store: Store, name: str) -> ComparisonRecord:
    """The record of a grid, finished or not."""
    runs, diverged = gather_runs(jobs, store)
    cells = build_cells(plan, runs, diverged)
    return ComparisonRecord(
        weft=version("weft"),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        name=name,
        quick=plan.quick,
        folds=plan.folds,
        equivalence=plan.equivalence,
        resamples=ROUNDS,
        seeds=plan.seeds,
        smallest_p=smallest_p(len(plan.seeds)) if len(plan.seeds) > 1 else None,
        seeds_needed=seeds_needed(plan.comparisons) if plan.comparisons else None,
        cells=cells,
        baselines=_baselines(plan, runs),
        matrix=tuple(pair_records(cells, _agreements(runs))) if plan.together else (),
        grouping=choose_groups(tuple(plan.metrics), cells) if plan.together else (),
        notes=plan.notes,
        unfinished=len({job.key for job in jobs if job.key not in store}),
    )


def _baselines(plan: GridPlan, runs: Runs) -> dict[str, dict[str, float]]:
    """What methods without an encoder reach, the mean over seeds, with all rows or the most there are."""
    found: dict[str, dict[str, float]] = {}
    for task, metric in plan.metrics.items():
        arm = next(column.arm for column in plan.columns if column.task == task)
        results = [result for run in runs[arm, plan.sizes[-1]].values() for result in run.results]
        names = list(results[0].baselines.get(task, {})) if results else []
        values = {name: [result.baselines[task][name].get(metric) for result in results] for name in names}
        found[task] = {name: fmean(known) for name in names if (known := [v for v in values[name] if v is not None])}
    return found


def _agreements(runs: Runs) -> dict[str, float]:
    """The mean cosine of two tasks' gradients, by `first~second`, where both were trained together."""
    values: dict[str, list[float]] = {}
    for of_arm in runs.values():
        for run in of_arm.values():
            for result in run.results:
                for pair, cosine in result.agreement.items():
                    values.setdefault(pair, []).extend([] if cosine is None else [cosine])
    return {pair: fmean(cosines) for pair, cosines in values.items() if cosines}
