"""The table of a comparison, from what runs answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.comparison.arms import Column
from weft.comparison.checked import Checked
from weft.comparison.plan import GridPlan
from weft.comparison.store import RunResult
from weft.comparison.table import Runs, SeedRun, build_cells
from weft.metrics.outcomes.label import LabelOutcomes
from weft.metrics.outcomes.numbers import NumberOutcomes
from weft.reports.comparison_record import CellRecord

RESULT = RunResult(2.0, 10, 20, 0.5, {"t": "test"}, {}, {}, {})
GOLD = np.arange(200) % 2


def labels(right: float, seed: int, lines: Any = None) -> LabelOutcomes:
    """Answers of which about this share is right."""
    wrong = np.random.default_rng(seed).random(len(GOLD)) > right
    lines = np.arange(len(GOLD)) if lines is None else lines
    scores, given = np.ones(len(GOLD)), np.where(wrong, 1 - GOLD, GOLD)
    return LabelOutcomes(lines=lines, scores=scores, labels=("no", "yes"), gold=GOLD, predicted=given)


def table(metric: str = "accuracy", **arms: dict[int, Any]) -> dict[str, CellRecord]:
    runs: Runs = {
        (arm, None): {seed: SeedRun((RESULT,), {"t": outcomes}) for seed, outcomes in of_arm.items()}
        for arm, of_arm in arms.items()
    }
    plan = GridPlan(
        arms=(),
        columns=tuple(Column("t", arm, arm) for arm in arms),
        seeds=tuple(range(10)),
        sizes=(None,),
        folds=None,
        metrics={"t": metric},
        equivalence=0.005,
        base_folder=Path(),
        checked=Checked("", 0),
        quick=False,
        together=False,
    )
    return {cell.variant: cell for cell in build_cells(plan, runs, {})}


def test_a_label_that_some_seeds_have_not_learned_is_left_out_of_the_labels() -> None:
    rare = {seed: labels(0.7, seed) for seed in range(3)}
    rare[0] = replace(rare[0], labels=("no", "yes", "rare"))
    for arms in ({"plain": rare, "good": rare}, {"plain": rare, "good": dict(reversed(rare.items()))}):
        assert list(table(**arms)["good"].per_class) == ["no", "yes"]


def test_a_large_difference_in_every_seed_is_better_or_worse() -> None:
    base = {seed: labels(0.7, seed) for seed in range(10)}
    found = table(
        plain=base, good={s: labels(0.9, 50 + s) for s in range(10)}, bad={s: labels(0.5, s) for s in range(10)}
    )
    assert [cell.verdict for cell in found.values()] == ["", "better", "worse"]
    assert [cell.is_base for cell in found.values()] == [True, False, False]
    cell = found["good"]
    assert cell.difference == pytest.approx((cell.mean or 0) - (found["plain"].mean or 0))
    assert cell.difference_low is not None
    assert cell.difference_low > 0
    assert set(cell.per_class) == {"no", "yes"}
    assert cell.rows == 200
    assert (cell.seconds, cell.parameters, cell.trained_parameters) == (2.0, 10, 20)


def test_a_difference_is_over_the_seeds_that_both_have() -> None:
    plain = {seed: labels(0.7, seed) for seed in (0, 1, 2)}
    other = {seed: labels(0.7, seed) for seed in (1, 2, 3)}
    found = table(plain=plain, other=other)["other"]
    assert found.seeds == 3
    assert found.by_seed == (0.0, 0.0)


def test_variants_that_answered_other_rows_are_not_compared() -> None:
    plain = {seed: labels(0.7, seed) for seed in range(3)}
    other = {seed: labels(0.9, seed, np.arange(200) + 1) for seed in range(3)}
    found = table(plain=plain, other=other)["other"]
    assert found.mean is not None
    assert (found.difference, found.verdict) == (None, "")


def test_of_a_cost_less_is_better() -> None:
    draw = np.random.default_rng(0)
    gold = draw.random(200)

    def numbers(noise: float, seed: int) -> NumberOutcomes:
        given = gold + noise * np.random.default_rng(seed).normal(size=200)
        return NumberOutcomes(lines=np.arange(200), scores=given, gold=gold, predicted=given)

    plain, good = ({seed: numbers(noise, seed) for seed in range(10)} for noise in (0.5, 0.2))
    found = table("mse", plain=plain, good=good)["good"]
    assert found.lower_is_better
    assert found.verdict == "better"
    assert (found.difference or 0) > 0


def test_a_variant_without_a_finished_run_has_a_line_without_numbers() -> None:
    found = table(plain={0: labels(0.7, 0), 1: labels(0.7, 1)}, other={})["other"]
    assert (found.seeds, found.mean, found.verdict) == (0, None, "")
