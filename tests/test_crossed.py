"""Intervals and paired differences over seeds and rows, against brute force, SciPy and the analysis of variance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats

from weft.comparison.crossed import estimate, paired_difference, spread
from weft.comparison.resampling import Resamples, RunScores
from weft.comparison.scale import Scale
from weft.metrics.classification import Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """A run whose metric is the mean of a number per row."""

    values: Floats  # (R,)

    def measure(self, metric: str, weights: Floats | None = None) -> Floats:
        assert metric == "mean"
        weights = np.ones((1, len(self.values))) if weights is None else weights
        return np.asarray(weights @ self.values / weights.sum(axis=1))

    def per_class(self, weights: Floats | None = None) -> Mapping[str, Floats]:
        return {"all": self.measure("mean", weights), "none": 0 * self.measure("mean", weights)}


def scored(values: Floats, resamples: Resamples) -> RunScores:
    return RunScores.of([Rows(row) for row in values], "mean", resamples)


def crossed_values(seeds: int, rows: int, *, of_seed: float, of_row: float, of_both: float, seed: int = 0) -> Floats:
    draw = np.random.default_rng(seed)
    effects = of_seed * draw.normal(size=(seeds, 1)) + of_row * draw.normal(size=(1, rows))
    return np.asarray(effects + of_both * draw.normal(size=(seeds, rows)))


# resamples


def test_a_resample_draws_as_many_rows_as_there_are_and_is_the_same_every_time() -> None:
    drawn, again = Resamples.draw(30, rounds=200), Resamples.draw(30, rounds=200)
    assert drawn.rows.shape == (200, 30)
    assert (drawn.rows.sum(axis=1) == 30).all()
    assert (drawn.rows == again.rows).all()
    assert drawn.rows.var() == pytest.approx(1, abs=0.1)  # with replacement
    assert drawn.rows.mean(axis=0) == pytest.approx(np.ones(30), abs=0.3)


def test_the_scores_of_a_class_are_kept_apart() -> None:
    resamples = Resamples.draw(10, rounds=20)
    runs = [Rows(np.arange(10.0)), Rows(np.arange(10.0) + 1)]
    found = RunScores.per_class(runs, resamples)
    assert list(found) == ["all", "none"]
    assert list(found["all"].points) == [4.5, 5.5]
    assert (found["all"].draws == RunScores.of(runs, "mean", resamples).draws).all()


# the spread


def test_the_spread_is_that_of_a_two_way_analysis_of_variance() -> None:
    seeds, rows = 6, 40
    resamples = Resamples.draw(rows, rounds=20_000)
    for seed in range(3):
        values = crossed_values(seeds, rows, of_seed=0.3, of_row=1, of_both=0.7, seed=seed)
        of_runs, of_rows = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
        between_runs = rows * of_runs.var(ddof=1)
        between_rows = seeds * of_rows.var(ddof=1)
        rest = ((values - of_runs - of_rows + values.mean()) ** 2).sum() / ((seeds - 1) * (rows - 1))
        variance = (between_runs + between_rows - rest) / (seeds * rows)
        found = spread(scored(values, resamples), resamples, Scale(-math.inf, math.inf))
        assert found.error**2 == pytest.approx(variance, rel=0.03)
        assert found.apart == pytest.approx(between_runs / (seeds * rows))


def test_where_rows_do_not_matter_it_is_the_paired_t_test_over_seeds() -> None:
    resamples = Resamples.draw(30)
    variant, base = (crossed_values(5, 30, of_seed=1, of_row=0, of_both=0, seed=seed) for seed in (1, 2))
    found = paired_difference(scored(variant + 1, resamples), scored(base, resamples), resamples)
    expected = scipy.stats.ttest_rel(variant.mean(axis=1) + 1, base.mean(axis=1))
    assert found.p_crossed == pytest.approx(expected.pvalue, rel=1e-6)
    reference = expected.confidence_interval(0.95)
    assert found.high - found.low == pytest.approx(reference.high - reference.low, rel=0.1)


def test_where_seeds_do_not_matter_it_is_the_paired_t_test_over_rows() -> None:
    resamples = Resamples.draw(80, rounds=5000)
    variant, base = (crossed_values(5, 80, of_seed=0, of_row=1, of_both=0, seed=seed) for seed in (1, 2))
    found = paired_difference(scored(variant + 0.3, resamples), scored(base, resamples), resamples)
    expected = scipy.stats.ttest_rel(variant[0] + 0.3, base[0])
    assert found.p_crossed == pytest.approx(expected.pvalue, rel=0.1)
    assert found.p_rows == pytest.approx(expected.pvalue, rel=0.3)
    assert (found.low, found.high) == pytest.approx(expected.confidence_interval(0.95), abs=0.03)


def test_seeds_that_disagree_widen_an_interval_that_rows_alone_would_call_narrow() -> None:
    resamples = Resamples.draw(100)
    values = crossed_values(5, 100, of_seed=1, of_row=0.5, of_both=0.5, seed=1)
    gain = scored(values, resamples)
    found = paired_difference(gain, scored(np.zeros((5, 100)), resamples), resamples)
    assert found.high - found.low > 8 * gain.draws.mean(axis=0).std()
    assert found.p_rows < 0.01 < 0.5 < found.p_crossed


# differences


def test_what_both_sides_share_cancels_row_by_row_and_seed_by_seed() -> None:
    resamples = Resamples.draw(60)
    shared = crossed_values(4, 60, of_seed=5, of_row=5, of_both=5)
    variant = shared + crossed_values(4, 60, of_seed=0, of_row=0.01, of_both=0.01, seed=1) + 1
    found = paired_difference(scored(variant, resamples), scored(shared, resamples), resamples)
    assert found.mean == pytest.approx(1, abs=0.01)
    assert found.high - found.low < 0.2  # either side alone is some 10 wide
    assert found.by_seed == pytest.approx((variant - shared).mean(axis=1))


def test_above_zero_is_better_where_lower_is_better_too() -> None:
    resamples = Resamples.draw(60)
    base = np.abs(crossed_values(4, 60, of_seed=0.1, of_row=1, of_both=1)) / 10 + 0.3  # a score could be like that
    variant = base * 0.9
    cost = paired_difference(scored(variant, resamples), scored(base, resamples), resamples, lower_is_better=True)
    score = paired_difference(scored(variant, resamples), scored(base, resamples), resamples)
    assert cost.mean == pytest.approx(base.mean() / 10)
    assert (cost.low, cost.high) == pytest.approx((-score.high, -score.low))
    assert (cost.p_seeds, cost.p_crossed) == (score.p_seeds, score.p_crossed)
    assert (cost.unit, score.unit) == (pytest.approx(base.mean()), 1)
    assert cost.finest == 0 < score.finest


def test_a_score_without_a_fixed_range_is_held_against_the_bases_mean() -> None:
    resamples = Resamples.draw(60)
    base = crossed_values(4, 60, of_seed=1, of_row=5, of_both=5) + 20
    found = paired_difference(scored(base + 1, resamples), scored(base, resamples), resamples)
    assert (found.mean, found.unit, found.finest) == (pytest.approx(1), pytest.approx(base.mean()), 0)


def test_a_constant_difference_is_as_sure_as_the_seeds_allow() -> None:
    resamples = Resamples.draw(2000)
    base = crossed_values(8, 2000, of_seed=0.1, of_row=1, of_both=1)
    found = paired_difference(scored(base + 0.02, resamples), scored(base, resamples), resamples)
    assert found.p_seeds == 2 / 2**8
    assert found.p_rows == 2 / 1001
    assert found.p_crossed < 1e-6


# edges


def test_rows_without_an_error_do_not_show_that_there_are_none() -> None:
    for rows in (50, 500):
        resamples = Resamples.draw(rows)
        found = estimate(scored(np.ones((5, rows)), resamples), resamples)
        assert found.mean == found.high == 1
        assert found.low == pytest.approx(1 - 2.77 / rows, abs=0.1 / rows)  # near the rule of three


def test_costs_that_never_differ_do_not_differ() -> None:
    resamples = Resamples.draw(50)
    same = scored(crossed_values(3, 50, of_seed=1, of_row=1, of_both=1), resamples)
    found = paired_difference(same, same, resamples, lower_is_better=True)
    assert (found.mean, found.low, found.high) == (0, 0, 0)
    assert found.p_seeds == found.p_crossed == found.p_rows == 1


@pytest.mark.parametrize(
    ("values", "lower_is_better", "scale"),
    [
        ([0.0, 0.5, 1.0], False, Scale(0, 1)),
        ([-0.1, 0.5, 0.9], False, Scale(-1, 1)),
        ([0.0, 0.5, 1.0], True, Scale(0, math.inf)),
        ([3.0, 7.0], False, Scale(0, math.inf)),
        ([-3.0, 0.5], False, Scale(-math.inf, math.inf)),
        ([0.2, math.nan], False, Scale(0, 1)),
    ],
)
def test_a_scale_is_seen_in_what_a_metric_gives(values: list[float], lower_is_better: bool, scale: Scale) -> None:
    assert Scale.of(RunScores(np.zeros(1), np.array([values])), lower_is_better) == scale


@pytest.mark.parametrize("scale", [Scale(0, 1), Scale(-1, 1), Scale(0, math.inf), Scale(-math.inf, math.inf)])
def test_an_interval_stays_where_its_metric_can_be_and_reaches_as_far_as_asked(scale: Scale) -> None:
    for mean in (0.02, 0.5, 0.97):
        low, high = scale.around(mean, 0.2)
        assert scale.least <= low < mean < high <= scale.most
        low, high = scale.around(mean, 1e-4)
        assert (low, high) == pytest.approx((mean - 1e-4, mean + 1e-4), abs=1e-6)


def test_an_interval_of_a_correlation_is_that_of_fisher() -> None:
    reach = 1.96 / math.sqrt(47) * (1 - 0.8**2)
    expected = np.tanh(np.arctanh(0.8) + 1.96 / math.sqrt(47) * np.array([-1, 1]))
    assert Scale(-1, 1).around(0.8, reach) == pytest.approx(tuple(expected))


def test_a_mean_at_an_end_of_its_scale_goes_inward_only() -> None:
    assert Scale(0, 1).around(1.0, 0.1) == (0.9, 1.0)
    assert Scale(0, 1).around(0.0, 0.1) == (0.0, 0.1)
    assert Scale(0, math.inf).around(0.0, 0.0) == (0.0, 0.0)


def test_one_run_has_the_interval_of_its_rows() -> None:
    resamples = Resamples.draw(80, rounds=5000)
    values = crossed_values(1, 80, of_seed=1, of_row=1, of_both=0) + 5
    found = spread(scored(values, resamples), resamples, Scale(0, math.inf))
    expected = scipy.stats.ttest_1samp(values[0], 0).confidence_interval(0.95)
    assert 2 * found.reach == pytest.approx(expected.high - expected.low, rel=0.05)


def test_resamples_in_which_a_metric_is_undefined_are_left_out() -> None:
    resamples = Resamples.draw(60)
    whole = scored(crossed_values(4, 60, of_seed=0.1, of_row=1, of_both=1), resamples)
    draws = whole.draws.copy()
    draws[1, :100] = np.nan
    found, expected = (
        paired_difference(one, scored(np.zeros((4, 60)), resamples), resamples)
        for one in (RunScores(whole.points, draws), whole)
    )
    assert (found.mean, found.p_seeds) == (expected.mean, expected.p_seeds)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0.1)
    assert found.p_rows == pytest.approx(expected.p_rows, abs=0.1)
