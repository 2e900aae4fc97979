"""Splitting rows: nothing leaks, every stratum has its share, the seed decides the rest."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from collections import Counter
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weft.data.splits import split_off, subsample
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


def test_seeds_choose_different_rows() -> None:
    keys = [str(row) for row in range(40)]
    assert len({tuple(split_off(keys, [0] * 40, 0.5, seed)[1]) for seed in range(10)}) == 10
    assert len({tuple(subsample([0] * 40, 20, seed)) for seed in range(10)}) == 10


def test_splits_do_not_depend_on_hash_randomisation() -> None:
    code = (
        "from weft.data.splits import *\n"
        "keys, strata = [str(i % 60) for i in range(90)], ['xyz'[i % 7 % 3] for i in range(90)]\n"
        "print(split_off(keys, strata, 0.3, 5), subsample(strata, 31, 5))"
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
def test_a_subsample_takes_from_the_larger_strata_no_less_and_stays_within_one_of_the_share(
    strata: list[str], size: int, seed: int
) -> None:
    sizes, got = Counter(strata), Counter(strata[row] for row in subsample(strata, size, seed))
    lifted = sum(count * size < len(strata) for count in sizes.values())
    for stratum, count in sizes.items():
        assert all(got[stratum] >= got[other] for other in sizes if count > sizes[other])
        if not lifted and size < len(strata):
            assert abs(got[stratum] - size * count / len(strata)) < 1


def test_the_largest_remainders_get_what_does_not_divide_evenly() -> None:
    strata = ["a"] * 55 + ["b"] * 27 + ["c"] * 18
    assert Counter(strata[row] for row in subsample(strata, 10, 0)) == {"a": 5, "b": 3, "c": 2}  # of 5.5, 2.7, 1.8


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
