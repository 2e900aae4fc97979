"""Which word a difference gets, alone and in a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from weft.comparison.crossed import PairedDifference, paired_difference
from weft.comparison.resampling import Resamples, RunScores
from weft.comparison.verdict import judge, rows_needed

SURE = PairedDifference(0.03, 0.01, 0.05, p_seeds=0.004, p_crossed=0.001, p_rows=0.001, by_seed=(0.03,) * 9, unit=1.0)
UNSURE = replace(SURE, low=-0.01, high=0.07, p_seeds=0.2, p_crossed=0.3)
SMALL = replace(SURE, mean=0.002, low=0.001, high=0.004)


def words(*differences: PairedDifference, seeds: int = 9, equivalence: float = 0.005) -> list[str | None]:
    return [word for _, word in judge(differences, seeds, equivalence)]


def test_each_difference_gets_one_of_four_words() -> None:
    loss = replace(SURE, mean=-0.03, low=-0.05, high=-0.01)
    assert words(SURE, loss, SMALL, UNSURE) == ["better", "worse", "equivalent", "cannot tell"]


def test_with_one_seed_there_is_no_word() -> None:
    assert judge([SURE], 1) == [(None, None)]


@pytest.mark.parametrize(
    "doubt", [{"p_seeds": 0.06}, {"p_crossed": 0.06}, {"low": -0.001}, {"p_crossed": float("nan")}]
)
def test_every_doubt_is_enough_to_say_nothing(doubt: dict[str, float]) -> None:
    assert words(replace(SURE, **doubt)) == ["cannot tell"]


def test_what_rows_alone_say_decides_nothing() -> None:
    assert words(replace(SURE, p_rows=1.0)) == ["better"]
    assert words(replace(UNSURE, p_rows=0.0)) == ["cannot tell"]


def test_a_word_gets_harder_to_earn_the_more_the_table_holds() -> None:
    single = replace(SURE, p_seeds=0.02, p_crossed=0.02)
    assert judge([single], 9) == [(0.02, "better")]
    assert judge([single, UNSURE, UNSURE], 9)[0] == (pytest.approx(0.06), "cannot tell")


def test_the_region_of_equivalence_is_the_readers_and_closed() -> None:
    assert words(SMALL, equivalence=0.003) == ["better"]
    assert words(replace(SMALL, high=0.005)) == ["equivalent"]
    assert words(replace(SURE, low=-0.002, high=0.004, p_seeds=1.0)) == ["equivalent"]
    assert words(replace(UNSURE, low=-0.004, high=0.03)) == ["cannot tell"]
    assert words(replace(UNSURE, low=-0.03, high=0.004)) == ["cannot tell"]


def test_equivalence_of_costs_is_a_share_of_the_base() -> None:
    perplexity = replace(SURE, mean=0.2, low=0.1, high=0.4, unit=100.0)
    assert words(perplexity) == ["equivalent"]
    assert words(replace(perplexity, unit=1.0)) == ["better"]


def test_methods_that_never_differ_are_equivalent_only_on_enough_rows_to_show_it() -> None:
    enough = rows_needed(0.005)
    assert enough == 556
    for rows, word in ((enough - 1, "cannot tell"), (enough, "equivalent")):
        resamples = Resamples.draw(rows)
        right = resamples.rows[:3] * 0 + 1.0
        scores = RunScores(right.mean(axis=1), right @ resamples.rows.T / rows)
        assert words(paired_difference(scores, scores, resamples), seeds=3) == [word]


def test_few_rows_never_show_equivalence_however_narrow_the_interval() -> None:
    assert words(replace(SMALL, finest=0.005)) == ["equivalent"]
    assert words(replace(SMALL, finest=0.006, p_seeds=1.0)) == ["cannot tell"]
