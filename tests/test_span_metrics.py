"""Span scores agree with seqeval where spans lie side by side, and with plain sets where they nest."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval import metrics as reference
from seqeval.scheme import IOB2

from conftest import lines_run
from weft.metrics.bootstrap import intervals_of
from weft.metrics.outcomes import unknown
from weft.metrics.outcomes.counts import AnnotationOutcomes
from weft.metrics.spans import SPAN_ERRORS, Span, count_spans, nested_recall, span_errors

pytestmark = pytest.mark.filterwarnings("error")

LABELS = ["LOC", "ORG", "PER", "MISC"]
quick = settings(max_examples=150, deadline=None)
spans = st.builds(
    lambda start, width, label: (start, start + width, label),
    st.integers(0, 6),
    st.integers(1, 5),
    st.sampled_from(LABELS),
)
span_rows = st.lists(st.tuples(st.lists(spans, max_size=8), st.lists(spans, max_size=8)), min_size=1, max_size=6)


def random_tags(source: random.Random, length: int) -> tuple[list[str], list[Span]]:
    """Tags of `length` words in the BIO scheme, and the spans that they were written from."""
    tags: list[str] = []
    written: list[Span] = []
    while len(tags) < length:
        if source.random() < 0.5:
            tags.append("O")
            continue
        width, label = min(source.randint(1, 3), length - len(tags)), source.choice(LABELS[: source.randint(1, 4)])
        written.append((len(tags), len(tags) + width, label))
        tags += [f"B-{label}"] + [f"I-{label}"] * (width - 1)
    return tags, written


def random_rows(seed: int) -> tuple[list[list[str]], list[list[str]], list[list[Span]], list[list[Span]]]:
    """Gold tags, found tags, gold spans, found spans; some of the rows are found exactly."""
    source = random.Random(seed)
    rows = []
    for _ in range(source.randint(1, 8)):
        length = source.randint(1, 9)
        gold = random_tags(source, length)
        rows.append((gold, gold if source.random() < 0.4 else random_tags(source, length)))
    return (
        [gold[0] for gold, _ in rows],
        [found[0] for _, found in rows],
        [gold[1] for gold, _ in rows],
        [found[1] for _, found in rows],
    )


def outcomes_of(counts: np.ndarray) -> AnnotationOutcomes:
    hits, predicted, gold = np.moveaxis(counts, 2, 0)
    labels, lines = tuple(LABELS[: counts.shape[1]]), np.arange(len(counts))
    return AnnotationOutcomes(
        lines=lines, scores=unknown(len(counts)), labels=labels, hits=hits, predicted=predicted, gold=gold
    )


def span_scores(counts: np.ndarray) -> dict[str, float]:
    outcomes = outcomes_of(counts)
    return {metric: float(value) for metric, (value,) in outcomes.measure_all(outcomes.metrics).items()}


# seqeval


@pytest.mark.parametrize("mode", [{}, {"mode": "strict", "scheme": IOB2}], ids=["default", "strict"])
def test_scores_agree_with_seqeval(mode: dict[str, object]) -> None:
    compared = 0
    for seed in range(300):
        gold_tags, found_tags, gold, found = random_rows(seed)
        if not any(gold) and not any(found):
            continue  # seqeval warns of a macro mean over nothing
        compared += 1
        scores = span_scores(count_spans(gold, found, LABELS))
        options = {"zero_division": 0, **mode}
        assert scores == pytest.approx(
            {
                "f1": reference.f1_score(gold_tags, found_tags, average="micro", **options),
                "precision": reference.precision_score(gold_tags, found_tags, average="micro", **options),
                "recall": reference.recall_score(gold_tags, found_tags, average="micro", **options),
                "f1_macro": reference.f1_score(gold_tags, found_tags, average="macro", **options),
            }
        ), seed
    assert compared > 250


def test_the_table_of_labels_agrees_with_seqeval() -> None:
    for seed in range(100):
        gold_tags, found_tags, gold, found = random_rows(seed)
        used = sorted({label for row in gold + found for _, _, label in row})
        if not used:
            continue
        columns = reference.sequence_labeling.precision_recall_fscore_support(
            gold_tags, found_tags, average=None, zero_division=0
        )
        table = outcomes_of(count_spans(gold, found, LABELS)).class_table()
        assert list(table) == LABELS
        for place, label in enumerate(used):
            names = ("precision", "recall", "f1", "support")
            assert table[label] == pytest.approx(
                {name: column[place] for name, column in zip(names, columns, strict=True)}
            )


# Counts


@quick
@given(span_rows)
def test_counts_of_nested_spans_agree_with_plain_sets(rows: list[tuple[list[Span], list[Span]]]) -> None:
    counts = count_spans([gold for gold, _ in rows], [found for _, found in rows], LABELS)
    assert counts.shape == (len(rows), len(LABELS), 3)
    assert counts.dtype == np.int64
    for row, (gold, found) in enumerate(rows):
        for place, label in enumerate(LABELS):
            wanted = {(start, end) for start, end, name in gold if name == label}
            given_ = {(start, end) for start, end, name in found if name == label}
            assert counts[row, place].tolist() == [len(wanted & given_), len(given_), len(wanted)]


def test_a_span_is_right_only_if_start_end_and_label_are() -> None:
    found = [(0, 5, "PER"), (1, 4, "PER"), (0, 3, "PER"), (0, 4, "ORG"), (0, 4, "PER"), (0, 4, "PER")]
    counts = count_spans([[(0, 4, "PER")]], [found], ["PER", "ORG"])
    assert counts.tolist() == [[[1, 4, 1], [0, 1, 0]]]


def test_equal_spans_of_different_rows_do_not_meet() -> None:
    counts = count_spans([[(0, 1, "PER")], []], [[], [(0, 1, "PER")]], ["PER"])
    assert counts.tolist() == [[[0, 0, 1]], [[0, 1, 0]]]


def test_relations_are_counted_like_spans_and_have_a_direction() -> None:
    gold = [[((0, 2), (3, 5), "owns"), ((3, 5), (0, 2), "owned")]]
    found = [[((0, 2), (3, 5), "owns"), ((0, 2), (3, 5), "owned")]]
    assert count_spans(gold, found, ["owns", "owned"]).tolist() == [[[1, 1, 1], [0, 1, 1]]]


def test_rows_may_be_read_only_once() -> None:
    gold, found = [iter([(0, 1, "PER")])], [iter([(0, 1, "PER")])]
    assert count_spans(gold, found, ["PER"]).tolist() == [[[1, 1, 1]]]


def test_unknown_labels_are_refused_in_gold_and_in_found() -> None:
    known, unknown = [[(0, 1, "PER")]], [[(0, 1, "per")]]
    for gold, found in ((known, unknown), (unknown, known)):
        with pytest.raises(ValueError, match="a label in row 0 is not one of the 1 labels"):
            count_spans(gold, found, ["PER"])


def test_unequal_numbers_of_rows_are_refused() -> None:
    for counted in (
        lambda: count_spans([[]], [], LABELS),
        lambda: nested_recall([[]], []),
        lambda: span_errors([[]], [], LABELS),
    ):
        with pytest.raises(ValueError, match="1 gold rows but 0 predicted rows"):
            counted()


# Scores


def test_scores_worked_out_by_hand() -> None:
    scores = span_scores(np.array([[[3, 4, 6], [1, 1, 1], [0, 0, 0], [0, 3, 0]]]))
    assert scores == pytest.approx(
        {"f1": 2 * 4 / (8 + 7), "precision": 4 / 8, "recall": 4 / 7, "f1_macro": (0.6 + 1 + 0) / 3}
    )


def test_nothing_to_count_scores_zero_without_a_warning() -> None:
    zero = {"f1": 0.0, "precision": 0.0, "recall": 0.0, "f1_macro": 0.0}
    assert span_scores(count_spans([[], []], [[], []], LABELS)) == zero
    assert span_scores(count_spans([], [], LABELS)) == zero
    assert span_scores(count_spans([[(0, 1, "PER")]], [[]], LABELS)) == zero


def test_the_table_has_a_row_of_figures_for_every_label() -> None:
    table = outcomes_of(count_spans([[(0, 1, "PER")]], [[(0, 1, "PER")]], LABELS)).class_table()
    assert table["PER"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1.0}
    assert table["ORG"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0.0}
    assert all(type(value) is float for row in table.values() for value in row.values())


def test_resampled_counts_score_as_the_resampled_rows_do() -> None:
    _, _, gold, found = random_rows(3)
    counts = count_spans(gold, found, LABELS)
    rows = np.random.default_rng(0).integers(len(gold), size=len(gold))
    again = count_spans([gold[row] for row in rows], [found[row] for row in rows], LABELS)
    assert span_scores(counts[rows]) == span_scores(again)


def test_resamples_go_through_no_row_in_python() -> None:
    counts = np.random.default_rng(0).integers(3, size=(3_000, 4, 3))
    outcomes = outcomes_of(counts)

    def cost(size: int) -> int:
        return lines_run(lambda: intervals_of(outcomes.take(np.arange(size)), ["f1"]))

    low, high = intervals_of(outcomes, ["f1"])["f1"]
    assert low < span_scores(counts)["f1"] < high
    assert cost(3_000) == cost(300)


# Nesting


def plain_nested_recall(rows: list[tuple[list[Span], list[Span]]]) -> dict[str, float]:
    """Every gold span compared with every other one."""
    hits: dict[str, list[bool]] = {"inside": [], "outside": [], "flat": []}
    for gold, found in rows:
        for span in set(gold):
            others = [other for other in gold if other[:2] != span[:2]]
            inside = any(other[0] <= span[0] and span[1] <= other[1] for other in others)
            outside = any(span[0] <= other[0] and other[1] <= span[1] for other in others)
            if inside:
                hits["inside"].append(span in found)
            if outside:
                hits["outside"].append(span in found)
            if not inside and not outside:
                hits["flat"].append(span in found)
    recalls = {place: sum(marks) / len(marks) if marks else 0.0 for place, marks in hits.items()}
    return recalls | {f"{place}_support": float(len(marks)) for place, marks in hits.items()}


@quick
@given(span_rows)
def test_nested_recall_agrees_with_comparing_all_pairs(rows: list[tuple[list[Span], list[Span]]]) -> None:
    assert nested_recall([gold for gold, _ in rows], [found for _, found in rows]) == plain_nested_recall(rows)


def test_nested_recall_worked_out_by_hand() -> None:
    gold = [[(0, 9, "ORG"), (0, 4, "LOC"), (10, 12, "PER"), (11, 14, "PER")], [(0, 4, "LOC")]]
    found = [[(0, 9, "ORG"), (0, 4, "ORG"), (10, 12, "PER")], [(0, 4, "LOC")]]
    assert nested_recall(gold, found) == {
        "inside": 0.0,
        "outside": 1.0,
        "flat": 2 / 3,
        "inside_support": 1.0,
        "outside_support": 1.0,
        "flat_support": 3.0,
    }


def test_equal_bounds_with_two_labels_are_flat() -> None:
    row = [[(0, 4, "LOC"), (0, 4, "ORG")]]
    scores = nested_recall(row, row)
    assert (scores["inside_support"], scores["outside_support"], scores["flat_support"]) == (0, 0, 2)


def test_the_middle_of_three_is_both_inside_and_outside() -> None:
    row = [[(0, 9, "LOC"), (2, 8, "LOC"), (3, 4, "LOC")]]
    scores = nested_recall(row, row)
    assert (scores["inside_support"], scores["outside_support"], scores["flat_support"]) == (2, 2, 0)


def test_span_metrics_need_no_torch() -> None:
    code = "import sys, weft.metrics.spans; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# errors of bounds and of labels


def error_counted_out(span: Span, gold: set[Span], predicted: set[Span]) -> str:
    """What became of a gold span, by the characters it shares with each wrong prediction."""
    if span in predicted:
        return "right"
    wrong = [one for one in predicted if one not in gold and set(range(*one[:2])) & set(range(*span[:2]))]
    kinds = [("type" if one[:2] == span[:2] else "boundary" if one[2] == span[2] else "both") for one in wrong]
    return next((kind for kind in SPAN_ERRORS if kind in kinds), "missed")


@quick
@given(span_rows)
def test_errors_of_bounds_and_labels_agree_with_counting_characters(rows: list[tuple[list[Span], list[Span]]]) -> None:
    errors = span_errors([gold for gold, _ in rows], [predicted for _, predicted in rows], LABELS)
    expected = {label: dict.fromkeys(SPAN_ERRORS, 0) for label in LABELS}
    for gold, predicted in ((set(gold), set(predicted)) for gold, predicted in rows):
        for span in gold:
            expected[span[2]][error_counted_out(span, gold, predicted)] += 1
        for span in predicted - gold:
            lost = {place for start, end, _ in gold - predicted for place in range(start, end)}
            expected[span[2]]["spurious"] += not lost & set(range(*span[:2]))
    assert errors == expected


def test_every_gold_span_has_one_fate() -> None:
    gold = [[(0, 4, "PER"), (5, 9, "LOC"), (10, 14, "ORG"), (20, 24, "PER"), (30, 34, "LOC")]]
    predicted = [[(0, 4, "PER"), (5, 9, "ORG"), (10, 13, "ORG"), (21, 26, "LOC"), (40, 44, "MISC"), (0, 2, "ORG")]]
    errors = span_errors(gold, predicted, LABELS)
    assert errors["PER"] == {"right": 1, "type": 0, "boundary": 0, "both": 1, "missed": 0, "spurious": 0}
    assert errors["LOC"] == {"right": 0, "type": 1, "boundary": 0, "both": 0, "missed": 1, "spurious": 0}
    assert errors["ORG"] == {"right": 0, "type": 0, "boundary": 1, "both": 0, "missed": 0, "spurious": 1}  # beside PER
    assert errors["MISC"] == {"right": 0, "type": 0, "boundary": 0, "both": 0, "missed": 0, "spurious": 1}
