"""Strict scores of marked spans: a predicted span is right when its start, its end and its label are a gold span's.

Spans are counted row by row (`count_spans`); scores follow from the sums, see `outcomes/counts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from weft.data.records import Span
from weft.metrics.classification import Ints, label_indices

Bounds = tuple[int, int]

SPAN_ERRORS = ("right", "type", "boundary", "both", "missed", "spurious")  # see `span_errors`


def count_spans(
    gold: Sequence[Iterable[tuple[Any, ...]]], predicted: Sequence[Iterable[tuple[Any, ...]]], labels: Sequence[str]
) -> Ints:
    """How many spans are right, predicted and gold, for each row and label, (B, L, 3) in this order.

    A span that a row names twice counts once; one inside another counts like any other. The spans may be any hashable
    tuples that end with their label, so relations, (bounds, bounds, label), are counted in the same way.
    Every label has to be one of `labels`.
    """
    _same_length(gold, predicted)
    indices = label_indices(labels)
    counts = np.zeros((len(gold), len(labels), 3), dtype=np.int64)
    for row, (gold_spans, predicted_spans) in enumerate(zip(gold, predicted, strict=True)):
        wanted, given = set(gold_spans), set(predicted_spans)
        for column, spans in enumerate((wanted & given, given, wanted)):
            for span in spans:
                if span[-1] not in indices:
                    raise ValueError(f"a label in row {row} is not one of the {len(labels)} labels")
                counts[row, indices[span[-1]], column] += 1
    return counts


def nested_recall(gold: Sequence[Iterable[Span]], predicted: Sequence[Iterable[Span]]) -> dict[str, float]:
    """The share of gold spans found, by where they lie: inside another gold span, outside one, or flat.

    `inside` are the gold spans of a row that lie within another one, `outside` those that hold another one, `flat` the
    rest. The middle one of three nested spans is both inside and outside. Spans of equal bounds are not within each
    other, whatever their labels. `inside_support`, `outside_support` and `flat_support` count the gold spans; where
    there are none the recall is 0.
    """
    _same_length(gold, predicted)
    right = dict.fromkeys(("inside", "outside", "flat"), 0)
    support = dict.fromkeys(right, 0)
    for gold_spans, predicted_spans in zip(gold, predicted, strict=True):
        wanted, given = set(gold_spans), set(predicted_spans)
        inside, outside = _nesting({(start, end) for start, end, _ in wanted})
        for span in wanted:
            bounds = span[:2]
            nested = {"inside": bounds in inside, "outside": bounds in outside}
            nested["flat"] = not any(nested.values())
            for part, holds in nested.items():
                support[part] += holds
                right[part] += holds and span in given
    recalls = {part: right[part] / max(support[part], 1) for part in right}
    return recalls | {f"{part}_support": float(number) for part, number in support.items()}


def span_errors(
    gold: Sequence[Iterable[Span]], predicted: Sequence[Iterable[Span]], labels: Sequence[str]
) -> dict[str, dict[str, int]]:
    """For each of `labels`, what became of its gold spans, and its predicted spans that answer to none.

    `right` spans are predicted as they are. The others are held against the predicted spans of their row that are not
    right either: `type` meets one of the same bounds, `boundary` one that overlaps and has the same label, `both` one
    that overlaps, `missed` none; the first that holds counts. So these five add up to the gold spans of a label.
    `spurious` are the predicted spans of a label that overlap no gold span but right ones. A span that a row names
    twice counts once.
    """
    _same_length(gold, predicted)
    errors = {label: dict.fromkeys(SPAN_ERRORS, 0) for label in labels}
    for gold_spans, predicted_spans in zip(gold, predicted, strict=True):
        wanted, given = set(gold_spans), set(predicted_spans)
        for span in wanted & given:
            errors[span[2]]["right"] += 1
        lost, wrong = wanted - given, given - wanted
        for span in lost:
            errors[span[2]][_error(span, wrong)] += 1
        for span in wrong:
            errors[span[2]]["spurious"] += not any(_overlap(span, other) for other in lost)
    return errors


def _error(span: Span, wrong: Iterable[Span]) -> str:
    near = [other for other in wrong if _overlap(span, other)]
    if any(other[:2] == span[:2] for other in near):
        return "type"
    if any(other[2] == span[2] for other in near):
        return "boundary"
    return "both" if near else "missed"


def _overlap(span: Span, other: Span) -> bool:
    return span[0] < other[1] and other[0] < span[1]


def _nesting(bounds: set[Bounds]) -> tuple[set[Bounds], set[Bounds]]:
    """Which bounds lie within others, and which hold others."""
    # In this order whatever holds a span comes before it, so that one pass each way over the ends is enough.
    order = sorted(bounds, key=lambda pair: (pair[0], -pair[1]))
    ends = [end for _, end in order]
    furthest_before = list(accumulate(ends, max))[:-1]
    nearest_after = list(accumulate(reversed(ends), min))[:-1][::-1]
    inside = {pair for pair, furthest in zip(order[1:], furthest_before, strict=True) if furthest >= pair[1]}
    outside = {pair for pair, nearest in zip(order[:-1], nearest_after, strict=True) if nearest <= pair[1]}
    return inside, outside


def _same_length(gold: Sequence[object], predicted: Sequence[object]) -> None:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold rows but {len(predicted)} predicted rows")
