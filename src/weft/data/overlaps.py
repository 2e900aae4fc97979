"""The best set of spans that do not overlap."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


def best_disjoint(spans: Sequence[tuple[int, int, float]]) -> list[int]:
    """The indices, ascending by start, of the spans [start, end) without overlap that weigh most together.

    Weights are above 0 and spans not empty. Spans that only touch do not overlap. The result is exact, in
    O(n log n): in order of their ends, the best of the spans so far either leaves the newest out, or joins it to the
    best of those that end before it starts. Where both weigh the same, the newest is left out, so that the span which
    ends first stays; of spans with the same end the one with the smaller index stays.
    """
    order = sorted(range(len(spans)), key=lambda index: spans[index][1])  # stable: equal ends keep their order
    ends = [spans[index][1] for index in order]
    totals = [0.0]  # the weight of the best choice among the first n
    before: list[int] = []  # how many of `order` end before the n-th starts
    for number, index in enumerate(order):
        start, _, weight = spans[index]
        before.append(bisect_right(ends, start, 0, number))
        totals.append(max(totals[-1], totals[before[-1]] + weight))
    chosen = []
    number = len(order)
    while number:
        if totals[number] > totals[number - 1]:
            chosen.append(order[number - 1])
            number = before[number - 1]
        else:
            number -= 1
    return chosen[::-1]
