"""Which runs a grid would keep: for each task the best variant's run that did best on its dev rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from statistics import fmean

from weft.comparison.jobs import Job
from weft.comparison.plan import GridPlan
from weft.comparison.store import Store


def winners(
    plan: GridPlan, jobs: Sequence[Job], store: Store, lower_is_better: Collection[str]
) -> Iterator[tuple[str, Job]]:
    """Each task with one run, at the largest size; `lower_is_better` names tasks whose metric is a cost.

    The variant is chosen by its mean on the rows that are compared, the seed by the dev rows, which no verdict is on.
    """
    for task, metric in plan.metrics.items():
        arms = {column.arm for column in plan.columns if column.task == task}
        runs = [job for job in jobs if job.arm in arms and job.size == plan.sizes[-1] and store.has_scores(job.key)]
        sign = -1.0 if task in lower_is_better else 1.0
        values: dict[str, list[float]] = {}
        for job in runs:
            score = store.result(job.key).scores[task].get(metric)
            values.setdefault(job.arm, []).extend([] if score is None else [sign * score])
        means = {arm: fmean(scores) for arm, scores in values.items() if scores}
        if means:
            best = max(means, key=means.__getitem__)
            yield task, max((job for job in runs if job.arm == best), key=lambda job: store.result(job.key).dev)
