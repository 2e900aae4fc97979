"""Sign flips against SciPy, Holm against its definition, and what a number of seeds can decide."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats

from weft.comparison.significance import holm, seeds_needed, sign_flip_p, smallest_p


@pytest.mark.parametrize("seeds", [2, 3, 5, 8, 10])
def test_sign_flips_give_the_p_of_scipys_permutation_test(seeds: int) -> None:
    for seed in range(5):
        differences = np.random.default_rng(seed).normal(0.5, 1, seeds)
        reference = scipy.stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True, axis=0
        )
        assert sign_flip_p(differences) == pytest.approx(reference.pvalue)


def test_equal_differences_count_as_often_as_they_occur_whatever_rounding_does_to_their_sums() -> None:
    # Of the 8 patterns of 3 signs, all but +++ and --- have a smaller sum; with a zero among them, two more have not.
    assert sign_flip_p([0.1, 0.2, 0.3]) == 2 / 8
    assert sign_flip_p([0.1, 0.2, 0.0]) == 4 / 8
    assert sign_flip_p([0.1, 0.2, -0.3]) == 1.0
    assert sign_flip_p([0.0, 0.0, 0.0]) == 1.0


def test_many_seeds_are_tried_with_random_signs_always_the_same() -> None:
    differences = np.random.default_rng(1).normal(0.3, 1, 40)
    p = sign_flip_p(differences)
    assert p == sign_flip_p(differences)
    assert p == pytest.approx(scipy.stats.ttest_1samp(differences, 0).pvalue, rel=0.1)
    assert sign_flip_p(np.ones(40)) == smallest_p(40) > 0


def test_a_difference_that_is_not_a_number_is_no_evidence() -> None:
    assert sign_flip_p([0.1] * 9 + [float("nan")]) == 1.0


@pytest.mark.parametrize("seeds", range(1, 13))
def test_no_differences_are_surer_than_all_of_one_sign(seeds: int) -> None:
    assert sign_flip_p(np.arange(1, seeds + 1)) == smallest_p(seeds)


def test_five_seeds_never_reach_five_percent_and_more_comparisons_need_more_seeds() -> None:
    assert smallest_p(5) == 0.0625
    assert [seeds_needed(comparisons) for comparisons in (1, 5, 17)] == [6, 8, 10]
    for comparisons in range(1, 60):
        seeds = seeds_needed(comparisons)
        assert comparisons * smallest_p(seeds) <= 0.05 < comparisons * smallest_p(seeds - 1)


def test_holm_is_the_closed_form_of_testing_every_subset_by_bonferroni() -> None:
    for seed in range(20):
        p = list(np.random.default_rng(seed).uniform(0, 0.4, 5))
        subsets = [subset for size in range(1, 6) for subset in combinations(range(5), size)]
        closed = [
            max(min(1.0, len(subset) * min(p[one] for one in subset)) for subset in subsets if index in subset)
            for index in range(5)
        ]
        assert holm(p) == pytest.approx(closed)


def test_holm_of_one_comparison_is_its_p_and_of_none_nothing() -> None:
    assert holm([0.03]) == [0.03]
    assert holm([]) == []
