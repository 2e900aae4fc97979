"""Which runs of a grid would be kept."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from weft.comparison.arms import Column
from weft.comparison.jobs import Job
from weft.comparison.winners import winners

#        arm, seed: test score, dev score
RUNS = {("a", 1): (0.9, 0.1), ("a", 2): (0.7, 0.3), ("b", 1): (0.5, 0.9), ("b", 2): (0.6, 0.8)}


def chosen(lower_is_better: tuple[str, ...]) -> list[tuple[str, int]]:
    jobs = [Job(arm, None, seed, None, None, {}, Path(), f"{arm}{seed}") for arm, seed in RUNS]
    found = {
        f"{arm}{seed}": SimpleNamespace(scores={"t": {"m": score}}, dev=dev)
        for (arm, seed), (score, dev) in RUNS.items()
    }

    class Known(dict[str, Any]):
        def result(self, key: str) -> Any:
            return self[key]

        def has_scores(self, key: str) -> bool:
            return key in self

    plan = SimpleNamespace(metrics={"t": "m"}, columns=[Column("t", arm, arm) for arm in ("a", "b")], sizes=(None,))
    return [(job.arm, job.seed) for _, job in winners(cast(Any, plan), jobs, cast(Any, Known(found)), lower_is_better)]


def test_the_seed_is_chosen_by_the_dev_rows() -> None:
    assert chosen(()) == [("a", 2)]


def test_of_costs_the_smaller_is_kept() -> None:
    assert chosen(("t",)) == [("b", 1)]
