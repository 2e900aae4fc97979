"""Splitting rows: nothing leaks, every stratum has its share, the seed decides the rest."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weft.data.splits import draw_folds, split_off, subsample
from weft.data.unicode import normalise

ROWS = st.lists(st.tuples(st.sampled_from("abcdefghij"), st.sampled_from("xyz")), max_size=16)
SHARES = st.floats(0, 0.999)
SEEDS = st.integers(0, 2**32)
STRATA = st.lists(st.sampled_from("vwxyz"), max_size=40)


def distance(strata: list[str], chosen: set[int], share: float) -> float:
    """The sum over strata of the squared distance, in rows, from the share."""
    wanted = {stratum: share * count for stratum, count in Counter(strata).items()}
    got = Counter(strata[row] for row in chosen)
    return sum((got[stratum] - wanted[stratum]) ** 2 for stratum in wanted)


def keeps_every_stratum(strata: list[str], chosen: set[int]) -> bool:
    return {stratum for row, stratum in enumerate(strata) if row not in chosen} == set(strata)


@given(ROWS, SHARES, SEEDS)
def test_every_row_lands_on_one_side_in_order_with_its_duplicates_and_every_stratum_is_kept(
    rows: list[tuple[str, str]], share: float, seed: int
) -> None:
    keys, strata = [key for key, _ in rows], [stratum for _, stratum in rows]
    kept, off = split_off(keys, strata, share, seed)
    assert sorted(kept + off) == list(range(len(rows)))
    assert kept == sorted(kept)
    assert off == sorted(off)
    assert not {keys[row] for row in kept} & {keys[row] for row in off}
    assert keeps_every_stratum(strata, set(off))


@settings(max_examples=150, deadline=None)
@given(ROWS, SHARES, SEEDS)
def test_no_group_that_changes_sides_and_no_exchange_of_two_comes_nearer_to_the_share(
    rows: list[tuple[str, str]], share: float, seed: int
) -> None:
    keys, strata = [key for key, _ in rows], [stratum for _, stratum in rows]
    chosen = set(split_off(keys, strata, share, seed)[1])
    groups = [{row for row, key in enumerate(keys) if key == wanted} for wanted in dict.fromkeys(keys)]
    inside = [group for group in groups if group <= chosen]
    outside = [group for group in groups if not group <= chosen]
    moved = [chosen - group for group in inside] + [chosen | group for group in outside]
    moved += [chosen - old | new for old, new in product(inside, outside)]
    allowed = [distance(strata, side, share) for side in moved if keeps_every_stratum(strata, side)]
    assert distance(strata, chosen, share) <= min(allowed, default=0.0) + 1e-5 or not allowed


@given(STRATA, SHARES, SEEDS)
def test_without_duplicates_every_stratum_gives_the_nearest_whole_number(
    strata: list[str], share: float, seed: int
) -> None:
    off = split_off([str(row) for row in range(len(strata))], strata, share, seed)[1]
    got = Counter(strata[row] for row in off)
    for stratum, count in Counter(strata).items():
        best = min(abs(n - share * count) for n in range(count))  # not all of them: one is kept
        assert abs(got[stratum] - share * count) <= best + 1e-5


def test_duplicates_of_different_labels_stay_together_and_both_labels_keep_their_share() -> None:
    keys = ["same", "same", *map(str, range(18))]
    strata = ["yes", "no", *["yes", "no"] * 9]
    for seed in range(20):
        off = split_off(keys, strata, 0.2, seed)[1]
        assert (0 in off) == (1 in off)
        assert Counter(strata[row] for row in off) == {"yes": 2, "no": 2}


def test_frequent_texts_do_not_all_end_up_on_one_side() -> None:
    keys = [f"single {i}" for i in range(100)] + [f"double {i // 2}" for i in range(100)]
    off = split_off(keys, ["x"] * 200, 0.2, 0)[1]
    assert Counter(keys[row].split()[0] for row in off) == {"single": 20, "double": 20}


def test_a_stratum_with_one_text_is_kept_whole_whatever_the_share() -> None:
    assert split_off(["a", "a", "b", "c"], ["x", "x", "y", "y"], 0.9, 0)[0][:2] == [0, 1]


def test_a_share_of_zero_splits_nothing_off() -> None:
    assert split_off(["a", "b"], [0, 0], 0.0, 3) == ([0, 1], [])
    assert split_off([], [], 0.5, 3) == ([], [])


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_that_would_leave_nothing_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="share"):
        split_off(["a"], [0], share, 0)


def test_keys_and_strata_must_be_of_the_same_rows() -> None:
    with pytest.raises(ValueError, match="2 keys, but 1 strata"):
        split_off(["a", "b"], [0], 0.5, 0)
    with pytest.raises(ValueError, match="strata"):
        draw_folds(["a", "b"], [(0,)], 2, 0)


def test_seeds_choose_different_rows() -> None:
    keys = [str(row) for row in range(40)]
    assert len({tuple(split_off(keys, [0] * 40, 0.5, seed)[1]) for seed in range(10)}) == 10
    assert len({tuple(subsample([0] * 40, 20, seed)) for seed in range(10)}) == 10


def test_splits_do_not_depend_on_hash_randomisation() -> None:
    code = (
        "from weft.data.splits import *\n"
        "keys, strata = [str(i % 60) for i in range(90)], ['xyz'[i % 7 % 3] for i in range(90)]\n"
        "print(split_off(keys, strata, 0.3, 5), subsample(strata, 31, 5))\n"
        "print(draw_folds(keys, [(stratum,) for stratum in strata], 3, 5))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_a_large_file_of_many_labels_and_noisy_duplicates_is_split_quickly() -> None:
    keys = [str(row * 7919 % 8000) for row in range(10_000)]
    strata = [row * 31 % 23 for row in range(10_000)]
    off = split_off(keys, strata, 0.1, 0)[1]
    got = Counter(strata[row] for row in off)
    assert all(abs(got[stratum] - 0.1 * count) <= 1 for stratum, count in Counter(strata).items())


@given(STRATA, st.integers(0, 50), SEEDS)
def test_a_subsample_has_the_size_asked_for_in_order_and_loses_no_stratum_it_has_room_for(
    strata: list[str], size: int, seed: int
) -> None:
    rows = subsample(strata, size, seed)
    assert len(rows) == len(set(rows)) == min(size, len(strata))
    assert rows == sorted(rows)
    assert len({strata[row] for row in rows}) == min(size, len(set(strata)))


@given(STRATA, st.integers(0, 50), SEEDS)
def test_every_stratum_of_a_subsample_gets_its_size_times_one_factor_rounded_but_at_least_one_row(
    strata: list[str], size: int, seed: int
) -> None:
    sizes, got = Counter(strata), Counter(strata[row] for row in subsample(strata, size, seed))
    for stratum, other in product(sizes, repeat=2):
        assert got[stratum] >= got[other] or sizes[stratum] <= sizes[other]
        if got[other] > 1:  # so no row should rather have gone to another stratum
            assert sizes[stratum] / (got[stratum] + 0.5) <= sizes[other] / (got[other] - 0.5)


@given(STRATA, st.integers(0, 50), st.integers(0, 50), SEEDS)
def test_a_smaller_subsample_is_part_of_a_larger_one_of_the_same_seed(
    strata: list[str], one: int, other: int, seed: int
) -> None:
    assert set(subsample(strata, min(one, other), seed)) <= set(subsample(strata, max(one, other), seed))


def test_no_stratum_gives_a_row_back_where_the_size_grows_by_one() -> None:
    strata = ["a"] * 6 + ["b"] * 6 + ["c"] * 2  # by largest remainders, c has 2 of 10 rows and 1 of 11
    samples = [set(subsample(strata, size, 4)) for size in range(15)]
    assert all(small < large for small, large in pairwise(samples))


def test_the_nearest_whole_numbers_share_what_does_not_divide_evenly() -> None:
    strata = ["a"] * 55 + ["b"] * 27 + ["c"] * 18
    assert Counter(strata[row] for row in subsample(strata, 10, 0)) == {"a": 5, "b": 3, "c": 2}  # of 5.5, 2.7, 1.8


def fold_of_each(keys: list[str], strata: Sequence[object], count: int, seed: int) -> list[int]:
    folds = draw_folds(keys, [(stratum,) for stratum in strata], count, seed)
    assert sorted(row for fold in folds for row in fold) == list(range(len(keys)))
    assert folds == [sorted(fold) for fold in folds]
    return [next(fold for fold in range(count) if row in folds[fold]) for row in range(len(keys))]


FOLDS = st.lists(st.tuples(st.sampled_from("abcdefghijklmnop"), st.sampled_from("xyz")), min_size=2, max_size=40)


@given(FOLDS, st.integers(2, 8), SEEDS)
def test_every_row_is_in_one_fold_with_its_duplicates_and_no_fold_is_empty(
    rows: list[tuple[str, str]], count: int, seed: int
) -> None:
    keys, strata = [key for key, _ in rows], [stratum for _, stratum in rows]
    if len(set(keys)) < count:
        with pytest.raises(ValueError, match="folds"):
            fold_of_each(keys, strata, count, seed)
        return
    folds = fold_of_each(keys, strata, count, seed)
    assert set(folds) == set(range(count))
    assert len(set(zip(keys, folds, strict=True))) == len(set(keys))
    assert folds == fold_of_each(keys, strata, count, seed)


@given(STRATA, st.integers(2, 8), SEEDS)
def test_without_duplicates_folds_differ_by_one_row_at_most_in_every_stratum_and_in_all(
    strata: list[str], count: int, seed: int
) -> None:
    strata = strata + ["v"] * count
    folds = fold_of_each([str(row) for row in range(len(strata))], strata, count, seed)
    for chosen in [*set(strata), None]:
        sizes = Counter(fold for fold, stratum in zip(folds, strata, strict=True) if chosen in (stratum, None))
        assert max(sizes.values()) - min(sizes[fold] for fold in range(count)) <= 1


def test_folds_of_rows_with_many_duplicates_have_nearly_the_same_shares() -> None:
    keys = [str(row * 7919 % 700) for row in range(1000)]
    strata = [row * 31 % 5 for row in range(1000)]
    folds = fold_of_each(keys, strata, 5, 0)
    counts = Counter(zip(folds, strata, strict=True))
    assert all(38 <= counts[fold, stratum] <= 42 for fold, stratum in product(range(5), repeat=2))


def test_a_large_group_in_one_fold_does_not_send_all_rows_of_another_stratum_to_the_others() -> None:
    folds = fold_of_each(["a", "a", "a", "b", "c", "d", "e"], ["y", "y", "y", "x", "x", "x", "x"], 2, 0)
    assert sorted(Counter(folds[3:]).values()) == [2, 2]


@pytest.mark.parametrize("seed", range(8))
def test_rare_answers_of_one_of_several_tasks_are_in_as_many_folds_as_they_can_be(seed: int) -> None:
    digits = random.Random(seed).sample([row % 8 for row in range(40)], 40)
    answers = [(digits[row], "rare" if row in (5, 17, 29, 38) else "ab"[row % 2], row % 5, row) for row in range(40)]
    folds = draw_folds([str(row) for row in range(40)], answers, 4, seed)
    assert [sum(answers[row][1] == "rare" for row in fold) for fold in folds] == [1] * 4
    assert all(8 <= len(fold) <= 12 for fold in folds)


def test_which_fold_a_row_is_in_and_which_fold_is_larger_are_drawn_by_the_seed() -> None:
    keys = [str(row) for row in range(41)]
    drawn = [fold_of_each(keys, [0] * 41, 4, seed) for seed in range(20)]
    assert len({tuple(folds) for folds in drawn}) == 20
    assert len({Counter(folds).most_common(1)[0][0] for folds in drawn}) > 1


@pytest.mark.parametrize("count", [-1, 0, 1, 4])
def test_fewer_than_two_folds_and_more_than_there_are_different_rows_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="2 to 3 are possible"):
        fold_of_each(["a", "b", "c", "c"], [0] * 4, count, 0)


def test_a_rare_stratum_gets_one_row_and_the_others_share_the_rest() -> None:
    strata = ["a"] * 60 + ["b"] * 38 + ["c"] * 2
    assert Counter(strata[row] for row in subsample(strata, 11, 0)) == {"a": 6, "b": 4, "c": 1}
    assert Counter(strata[row] for row in subsample(strata, 2, 0)) == {"a": 1, "b": 1}


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="size"):
        subsample([0], -1, 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hello,  World!", "hello world"),
        ("ﬁne…", "Fine"),
        ("Ｆｕｌｌ　width", "full width"),
        ("cafe\u0301", "CAFÉ"),
        ("soft\u00adhyphen\n", "softhyphen"),
        ("« oui »", "oui"),
        ("well-known", "well known"),
    ],
)
def test_texts_that_differ_in_case_form_punctuation_or_blanks_are_duplicates(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [(":)", ":("), ("ok 🙂", "ok 🙁"), ("$5", "5"), ("a b", "ab"), ("?", "")])
def test_texts_that_differ_in_more_are_not(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text())
@example("e\u200b\u0301")
@example("İ´Σ")
def test_a_normalised_text_stays_as_it_is(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFKC", once)
    assert once == " ".join(once.split())
