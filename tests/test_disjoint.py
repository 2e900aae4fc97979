"""The best disjoint spans are the best of all subsets."""

from __future__ import annotations

import random
from itertools import chain, combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import lines_run
from weft.data.overlaps import best_disjoint

Span = tuple[int, int, float]

spans = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(1, 9)).map(
        lambda one: (one[0], one[0] + one[1], float(one[2]))
    ),
    max_size=10,
)


def disjoint(chosen: list[Span]) -> bool:
    return all(before[1] <= after[0] for before, after in pairwise(sorted(chosen)))


def heaviest(spans: list[Span]) -> float:
    subsets = chain.from_iterable(combinations(spans, size) for size in range(len(spans) + 1))
    return max(sum(weight for *_, weight in subset) for subset in subsets if disjoint(list(subset)))


@settings(max_examples=150)
@given(spans)
def test_no_subset_without_overlap_weighs_more(spans: list[Span]) -> None:
    indices = best_disjoint(spans)
    chosen = [spans[index] for index in indices]
    assert len(set(indices)) == len(indices)
    assert chosen == sorted(chosen)
    assert disjoint(chosen)
    assert sum(weight for *_, weight in chosen) == heaviest(spans)


def test_two_light_spans_beat_a_heavy_one_that_a_greedy_choice_would_keep() -> None:
    assert best_disjoint([(0, 4, 3.0), (4, 8, 3.0), (2, 6, 5.0)]) == [0, 1]
    assert best_disjoint([(0, 4, 3.0), (4, 8, 1.0), (2, 6, 5.0)]) == [2]


def test_spans_that_touch_are_kept_in_the_order_of_the_text() -> None:
    assert best_disjoint([(5, 9, 1.0), (2, 5, 1.0), (0, 2, 1.0)]) == [2, 1, 0]


def test_of_equals_the_one_that_ends_first_stays_and_then_the_first_given() -> None:
    assert best_disjoint([(1, 4, 2.0), (0, 3, 2.0)]) == [1]
    assert best_disjoint([(0, 3, 2.0), (0, 3, 2.0), (1, 3, 2.0)]) == [0]


def test_no_spans_are_no_spans() -> None:
    assert best_disjoint([]) == []


def test_twice_as_many_spans_cost_about_twice_as_much() -> None:
    def cost(size: int) -> int:
        draw = random.Random(0)
        starts = [draw.randrange(5 * size) for _ in range(size)]
        spans = [(start, start + draw.randrange(1, 50), draw.random()) for start in starts]
        return lines_run(lambda: best_disjoint(spans))

    assert cost(4_000) < 2.2 * cost(2_000)
