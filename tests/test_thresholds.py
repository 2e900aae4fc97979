"""What is fitted on dev rows, by small cases worked out by hand, and how far measures would move on other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from weft.data.predictions import (
    LabelPrediction,
    LabelsPrediction,
    MaskedCounts,
    MaskedPrediction,
    PredictedRelation,
    RelationsPrediction,
    ScorePrediction,
    SpansPrediction,
)
from weft.data.records import Example, Input
from weft.model.evaluate import TaskResult
from weft.targets import FittedTarget, Measures
from weft.targets.base.annotations import as_prediction
from weft.targets.label import FittedLabel, LabelTarget
from weft.targets.labels import FittedLabels, LabelsTarget
from weft.targets.masked import MaskedTarget
from weft.targets.relations import FittedRelations, RelationsTarget
from weft.targets.score import ScoreTarget
from weft.targets.spans import FittedSpans, SpansTarget
from weft.targets.tags import BioTarget, TagsTarget
from weft.tensors import Scores
from weft.tokenization.examples import read_words
from weft.tokenization.tokenizer import Tokenizer
from weft.training.selection import gain_of, overall, thin_out, with_floor

YES_NO = FittedLabel(LabelTarget(), ("no", "yes"), (1, 1))


def logits(likely: Sequence[float]) -> Tensor:
    """Scores of which the second has these probabilities, (B, 2)."""
    return torch.tensor([[0.0, math.log(p / (1 - p))] for p in likely])


def fit_two(groups: Sequence[tuple[str, float, int]], metric: str = "accuracy") -> tuple[FittedLabel, list[float]]:
    """The target fitted on so many rows of a label with a probability, and what became of the probabilities."""
    golds = [label for label, _, count in groups for _ in range(count)]
    scores = logits([p for _, p, count in groups for _ in range(count)])
    fitted = YES_NO.calibrate_rows(scores, golds, metric)
    likely = fitted.probabilities(logits([p for _, p, _ in groups]))[:, 1].tolist()
    return fitted, likely


# One of two labels


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.3), (0.05, 0.2)])
def test_a_threshold_below_one_half_is_midway_between_the_probabilities_it_parts(low: float, high: float) -> None:
    fitted, (no, yes) = fit_two([("no", low, 20), ("yes", high, 20)])
    assert fitted.threshold == pytest.approx(0.5 if no < 0.5 <= yes else (no + yes) / 2)


def test_a_threshold_above_one_half_is_midway_between_the_probabilities_it_parts() -> None:
    noise = [("no", 0.9, 4), ("yes", 0.9, 20), ("no", 0.7, 20), ("no", 0.6, 1)]
    fitted, (_, yes, no, _) = fit_two(noise)
    assert fitted.threshold == pytest.approx((no + yes) / 2)
    assert fitted.threshold > 0.5


def test_the_threshold_of_two_labels_moves_only_as_far_as_the_rows_can_tell() -> None:
    """Accuracy at 0.5 and below 0.4: 38 / 42 and 39 / 42, whose standard error is 0.040, or 0.009 of 840 rows."""
    few = [("no", 0.02, 20), ("yes", 0.4, 1), ("yes", 0.98, 18), ("no", 0.98, 3)]
    assert fit_two(few)[0].threshold == 0.5
    many = [(label, p, 20 * count) for label, p, count in few]
    assert fit_two(many)[0].threshold < 0.5


def test_a_threshold_that_gains_nothing_stays_where_it_is() -> None:
    assert fit_two([("no", 0.1, 20), ("yes", 0.8, 20)])[0].threshold == 0.5
    assert fit_two([("no", 0.3, 20), ("yes", 0.3, 5), ("no", 0.7, 5), ("yes", 0.7, 20)])[0].threshold == 0.5
    assert fit_two([("no", 0.1, 20), ("no", 0.8, 20), ("yes", 0.1, 20), ("yes", 0.8, 20)])[0].threshold == 0.5


@pytest.mark.parametrize("few", ["no", "yes"])
def test_a_threshold_is_tuned_from_ten_rows_of_each_label_on(few: str) -> None:
    def fitted(rows: int) -> float:
        counts = {"no": 20, "yes": 20, few: rows}
        return fit_two([("no", 0.1, counts["no"]), ("yes", 0.3, counts["yes"]), ("yes", 0.9, 0)])[0].threshold

    assert fitted(9) == 0.5
    assert fitted(10) != 0.5


def test_the_threshold_is_the_best_by_the_metric_asked_for() -> None:
    """Rows of three probabilities: two thresholds part them, and which is better depends on what counts."""
    groups = [("no", 0.1, 60), ("yes", 0.1, 2), ("no", 0.3, 20), ("yes", 0.3, 10), ("no", 0.45, 3), ("yes", 0.45, 10)]
    found = {metric: fit_two(groups, metric) for metric in ("accuracy", "recall_macro", "precision_macro")}
    for fitted, (low, _, middle, _, high, _) in found.values():
        assert low < middle < high < 0.5 or fitted.threshold <= high
    accuracy, (_, _, middle, _, high, _) = found["accuracy"]
    assert middle < accuracy.threshold <= high  # 80 + 3 rights against 60 + 20 + 10
    recall, (low, _, middle, _, _, _) = found["recall_macro"]
    assert low < recall.threshold <= middle  # (60 / 83 + 20 / 22) / 2 against (80 / 83 + 10 / 22) / 2


def test_three_labels_have_a_temperature_and_no_threshold() -> None:
    target = FittedLabel(LabelTarget(), ("a", "b", "c"), (1, 1, 1))
    golds = ["a", "b", "c", "b"] * 6
    scores = torch.tensor([[4.0, 0, 0], [0, 4.0, 0], [0, 0, 4.0], [4.0, 0, 0]] * 6)  # every fourth is sure and wrong
    fitted = target.calibrate_rows(scores, golds, "accuracy")
    # Three of four rows are right: the best confidence is 3 / 4, and exp(4 / T) = 2 · 3.
    wanted = 4 / math.log(6)
    assert (fitted.temperature, fitted.threshold) == (pytest.approx(wanted, rel=1e-3), 0.5)
    assert [one.gold for one in fitted.decode_rows(scores[:3])] == ["a", "b", "c"]
    assert [one.given()[0][1] for one in fitted.decode_rows(scores[:3])] == pytest.approx([0.75] * 3, rel=1e-3)


def test_fitting_anew_forgets_what_was_fitted_before() -> None:
    before = replace(YES_NO, temperature=3.0, threshold=0.9)
    again = before.calibrate_rows(logits([0.2, 0.7]), ["no", "yes"], "accuracy")
    assert (again.temperature, again.threshold) == (1.0, 0.5)
    pressed = FittedLabels(LabelsTarget(), ("x",), (1,), 2, temperature=3.0, thresholds=(0.9,))
    assert pressed.calibrate_rows(torch.tensor([[1.0], [-1.0]]), [("x",), ()], "f1_micro") == replace(
        pressed, temperature=1.0, thresholds=(0.5,)
    )


def test_a_probability_that_reaches_its_threshold_is_enough() -> None:
    assert [one.gold for one in YES_NO.decode_rows(torch.tensor([[0.0, 0.0], [0.001, 0.0]]))] == ["yes", "no"]
    three = FittedLabel(LabelTarget(), ("a", "b", "c"), (1, 1, 1), threshold=0.9)
    assert three.decode_rows(torch.tensor([[0.0, 1.0, 0.5]]))[0].gold == "b"
    sets = FittedLabels(LabelsTarget(), ("x", "y"), (1, 1), 2)
    assert [one.gold for one in sets.decode_rows(torch.tensor([[0.0, -0.001], [-0.001, 0.0]]))] == [("x",), ("y",)]


def test_answers_tell_the_probabilities_that_the_temperature_makes() -> None:
    answer = replace(YES_NO, temperature=2.0, threshold=0.9).decode_rows(torch.tensor([[0.0, 4.0]]))[0]
    likely = 1 / (1 + math.exp(-2))
    assert answer.given() == (("no", pytest.approx(1 - likely)),)
    assert answer.label_scores() == pytest.approx({"no": 1 - likely, "yes": likely})
    sets = FittedLabels(LabelsTarget(), ("x", "y"), (1, 1), 2, temperature=2.0, thresholds=(0.9, 0.1))
    given = sets.decode_rows(torch.tensor([[4.0, -4.0]]))[0]
    assert given.gold == ("y",)
    assert given.label_scores() == pytest.approx({"x": likely, "y": 1 - likely})


# Any of several labels


def fit_sets(
    columns: Sequence[Sequence[tuple[bool, float, int]]], metric: str = "f1_micro"
) -> tuple[FittedLabels, list[list[float]]]:
    """The target fitted on rows of which each label's column says: carried or not, with what score, and how many."""
    names = tuple("xyz"[: len(columns)])
    carried = [[there for there, _, count in column for _ in range(count)] for column in columns]
    scores = torch.tensor([[s for _, s, count in column for _ in range(count)] for column in columns]).T
    golds = [tuple(n for n, there in zip(names, row, strict=True) if there) for row in zip(*carried, strict=True)]
    fitted = FittedLabels(LabelsTarget(), names, (1,) * len(names), len(golds)).calibrate_rows(scores, golds, metric)
    likely = [[1 / (1 + math.exp(-s / fitted.temperature)) for _, s, _ in column] for column in columns]
    return fitted, likely


def test_each_label_has_the_threshold_midway_between_the_scores_it_parts() -> None:
    fitted, likely = fit_sets(
        [
            [(False, -3.0, 15), (True, -1.0, 15)],  # must move below one half
            [(False, 1.0, 15), (True, 3.0, 15)],  # and above
            [(False, -3.0, 15), (True, 1.0, 15)],  # another would be as good: stays
        ]
    )
    wanted = [sum(likely[0]) / 2, sum(likely[1]) / 2, 0.5]
    assert fitted.thresholds == pytest.approx(tuple(wanted), rel=1e-5)
    assert fitted.thresholds[2] == 0.5


def test_the_threshold_of_a_label_is_the_best_by_the_metric_asked_for() -> None:
    column = [(False, -3.0, 40), (True, -1.0, 40), (False, 1.0, 40), (True, 3.0, 40)]
    found = {metric: fit_sets([column], metric)[0].thresholds[0] for metric in ("precision_micro", "recall_micro")}
    _, ((never, low, wrong, sure),) = fit_sets([column])
    assert found["precision_micro"] == pytest.approx((wrong + sure) / 2, rel=1e-5)
    assert found["recall_micro"] == pytest.approx((never + low) / 2, rel=1e-5)


@pytest.mark.parametrize("carried", [True, False])
def test_a_label_is_tuned_from_ten_rows_with_it_and_ten_without_on(carried: bool) -> None:
    def fitted(rows: int) -> float:
        with_it, without = (rows, 30 - rows) if carried else (30 - rows, rows)
        return fit_sets([[(False, -3.0, without), (True, -1.0, with_it)]])[0].thresholds[0]

    assert fitted(9) == 0.5
    assert fitted(10) != 0.5


def test_one_temperature_serves_all_labels() -> None:
    """Sure by 4 and right in three of four marks: the best confidence is 3 / 4."""
    fitted, _ = fit_sets([[(True, 4.0, 20), (False, -4.0, 20)], [(True, -4.0, 20), (False, 4.0, 20)]])
    assert fitted.temperature == pytest.approx(20.0, rel=1e-3)  # right in half of them
    columns = [[(True, 4.0, 15), (False, 4.0, 5), (False, -4.0, 15), (True, -4.0, 5)]] * 2
    assert fit_sets(columns)[0].temperature == pytest.approx(4 / math.log(3), rel=1e-3)


# Spans and pairs


@pytest.fixture(scope="module")
def tokenizer(tiny_tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tiny_tokenizers["wordpiece"]


Groups = Sequence[tuple[bool, float, int]]


def fit_spans(tokenizer: Tokenizer, groups: Groups, metric: str = "f1") -> float:
    """The threshold fitted on texts of one word, so many of which are a span or not, with a probability."""
    rows = [(there, p) for there, p, count in groups for _ in range(count)]
    examples = [Example(("fox",), ((0, 3, "x"),) if there else (), 1) for there, _ in rows]
    target = FittedSpans(SpansTarget(max_width=1), ("x",), (1,))
    scores = Scores(logits([p for _, p in rows]), (1,) * len(rows))
    tokenized = read_words(examples, tokenizer, 32, 0)
    fitted = target.calibrate(target.compact(scores, tokenized), examples, tokenized, metric)
    assert isinstance(fitted, FittedSpans)
    return fitted.threshold


def fit_relations(tokenizer: Tokenizer, groups: Groups, metric: str = "f1") -> float:
    """The same of texts of two words, the second of whose pairs is never one."""
    rows = [(there, p) for there, p, count in groups for _ in range(count)]
    spans = ((0, 3, "w"), (4, 7, "w"))
    examples = [Example(("fox dog",), (((0, 3), (4, 7), "x"),) if there else (), 1, spans=spans) for there, _ in rows]
    scores = Scores(logits([p for _, likely in rows for p in (likely, 0.001)]), (2,) * len(rows))
    tokenized = read_words(examples, tokenizer, 32, 0)
    target = FittedRelations(RelationsTarget(), ("x",), (1,))
    fitted = target.calibrate(target.compact(scores, tokenized), examples, tokenized, metric)
    assert isinstance(fitted, FittedRelations)
    return fitted.threshold


SURE, HALF, LOW, FLOOR = 0.8, 0.4, 0.2, 0.1


@pytest.mark.parametrize("fit", [fit_spans, fit_relations])
def test_a_threshold_moves_only_as_far_as_the_rows_can_tell(tokenizer: Tokenizer, fit: Any) -> None:
    """F1 at 0.5, 0.4 and 0.2: 24 / 34, 38 / 41 and 40 / 42, whose standard error over 20 spans is 0.048."""
    groups = [(False, 0.9, 2), (True, SURE, 12), (True, HALF, 7), (True, LOW, 1), (False, FLOOR, 9)]
    assert fit(tokenizer, groups) == pytest.approx((HALF + LOW) / 2)
    assert fit(tokenizer, [(there, p, 5 * count) for there, p, count in groups]) == pytest.approx((LOW + FLOOR) / 2)


@pytest.mark.parametrize("fit", [fit_spans, fit_relations])
def test_a_threshold_stays_where_one_half_is_within_an_error_of_the_best(tokenizer: Tokenizer, fit: Any) -> None:
    """F1 at 0.5 and 0.4: 38 / 41 and 40 / 42, whose standard error over 20 spans is 0.048."""
    assert fit(tokenizer, [(False, SURE, 2), (True, SURE, 19), (True, HALF, 1), (False, FLOOR, 5)]) == 0.5


@pytest.mark.parametrize("fit", [fit_spans, fit_relations])
def test_the_threshold_of_marks_is_the_best_by_the_metric_asked_for(tokenizer: Tokenizer, fit: Any) -> None:
    groups = [(True, SURE, 20), (False, 0.6, 20), (True, LOW, 20), (False, LOW, 20)]
    assert 0.6 < fit(tokenizer, groups, "precision") <= 0.8
    assert fit(tokenizer, groups, "recall") < LOW


@pytest.mark.parametrize("fit", [fit_spans, fit_relations])
def test_a_threshold_of_marks_is_tuned_from_ten_gold_ones_on(tokenizer: Tokenizer, fit: Any) -> None:
    assert fit(tokenizer, [(True, HALF, 9), (False, FLOOR, 30)]) == 0.5
    assert fit(tokenizer, [(True, HALF, 10), (False, FLOOR, 30)]) == pytest.approx((HALF + FLOOR) / 2)


def test_a_span_is_given_where_any_label_reaches_the_threshold_with_the_likeliest(tokenizer: Tokenizer) -> None:
    content = Input(("fox",))
    tokenized = read_words([content], tokenizer, 32, 0)
    for threshold, given in ((0.59, [("y", 0.35)]), (0.61, [])):
        target = FittedSpans(SpansTarget(max_width=1), ("x", "y"), (1, 1), threshold=threshold)
        scores = Scores(torch.tensor([[0.4, 0.25, 0.35]]).log(), (1,))
        found = target.decode(target.compact(scores, tokenized), tokenized)[0]
        assert [(span.label, span.score) for span in found.spans or ()] == [
            (label, pytest.approx(p)) for label, p in given
        ]


# How far measures would move


def spans_at(row: int) -> tuple[tuple[int, int, str], ...]:
    """One to three spans, no two rows alike."""
    return tuple((row + 5 * place, row + 5 * place + 2, "xy"[(row + place) % 2]) for place in range(1 + row % 3))


def as_relations(spans: Sequence[tuple[int, int, str]]) -> RelationsPrediction:
    found = (PredictedRelation((start, start + 1, ""), (end, end + 1, ""), name) for start, end, name in spans)
    return RelationsPrediction("", tuple(found))


ROWS = range(48)
MARKS = [spans_at(row) for row in ROWS]
NAMES = ["abc"[row % 3] for row in ROWS]
SETS = [tuple(n for place, n in enumerate("xyz") if (row >> place) & 1) or ("x",) for row in ROWS]
NUMBERS = [float(row * 7 % 48) for row in ROWS]

# A target, gold answers of which no two neighbours are alike, and predictions that say the same.
PERFECT: dict[str, tuple[FittedTarget, Sequence[Any], Sequence[Any]]] = {
    "label": (LabelTarget().fit(NAMES), NAMES, [LabelPrediction(name) for name in NAMES]),
    "labels": (LabelsTarget().fit(SETS), SETS, [LabelsPrediction(names) for names in SETS]),
    "score": (ScoreTarget().fit(NUMBERS), NUMBERS, [ScorePrediction(number) for number in NUMBERS]),
    "spans": (SpansTarget(max_width=2).fit(MARKS), MARKS, [as_prediction(spans) for spans in MARKS]),
    "bio": (BioTarget().fit(MARKS), MARKS, [as_prediction(spans) for spans in MARKS]),
    "tags": (TagsTarget().fit(MARKS), MARKS, [as_prediction(spans) for spans in MARKS]),
    "relations": (
        RelationsTarget().fit(MARKS),
        [tuple(((s, s + 1), (e, e + 1), name) for s, e, name in spans) for spans in MARKS],
        [as_relations(spans) for spans in MARKS],
    ),
}


@pytest.mark.parametrize("kind", PERFECT)
def test_what_is_all_right_is_all_right_however_often_its_rows_are_drawn(kind: str) -> None:
    """Gold and answers drawn apart, or in another order, would not agree."""
    target, golds, answers = PERFECT[kind]
    found = target.measure(golds, answers)
    assert {metric: found.scores[metric] for metric in target.metrics} == pytest.approx(
        dict.fromkeys(target.metrics, 1.0)
    )
    assert found.intervals.keys() == set(target.metrics)
    for ends in found.intervals.values():
        assert ends == pytest.approx((1.0, 1.0))
    assert target.measure(golds, answers, intervals=False).intervals == {}


@pytest.mark.parametrize("kind", [kind for kind in PERFECT if kind != "score"])
def test_what_is_all_wrong_is_all_wrong_however_often_its_rows_are_drawn(kind: str) -> None:
    target, golds, answers = PERFECT[kind]
    turned = [*answers[1:], answers[0]]
    if kind == "labels":
        turned = [LabelsPrediction(tuple(name for name in "xyz" if name not in gold)) for gold in golds]
    found = target.measure(golds, turned)
    metrics = [metric for metric in target.metrics if metric != "matthews_correlation"]
    assert [found.intervals[metric] for metric in metrics] == [(0.0, 0.0)] * len(metrics)


@pytest.mark.resamples
@pytest.mark.parametrize("kind", ["label", "labels", "spans", "bio", "relations"])
def test_an_interval_holds_the_middle_95_percent_of_the_draws(kind: str) -> None:
    """400 rows, of which 100 are wrong: the standard error of the share of right ones is 0.0217."""
    target, golds, answers = PERFECT[kind]
    wrong: dict[str, Any] = {
        "label": LabelPrediction("b"),
        "labels": LabelsPrediction(("z",)),
        "relations": RelationsPrediction(""),
    }
    one, right = golds[9], answers[9]  # one label, one span
    names = {"label": "accuracy", "labels": "exact_match"}
    metric = names.get(kind, "recall")
    given = [right if row % 4 else wrong.get(kind, SpansPrediction()) for row in range(400)]
    low, high = target.measure([one] * 400, given).intervals[metric]
    assert (low, high) == pytest.approx((0.75 - 1.96 * 0.0217, 0.75 + 1.96 * 0.0217), abs=0.005)


@pytest.mark.resamples
def test_the_interval_of_a_correlation_is_that_of_pairs_drawn_together() -> None:
    rng = np.random.default_rng(5)
    gold = rng.normal(size=400)
    given = 0.8 * gold + 0.6 * rng.normal(size=400)
    target = ScoreTarget().fit(gold.tolist())
    found = target.measure(gold.tolist(), [ScorePrediction(float(one)) for one in given])
    middle = np.arctanh(found.scores["pearson"])
    wanted = np.tanh([middle - 1.96 / math.sqrt(397), middle + 1.96 / math.sqrt(397)])  # Fisher's
    assert found.intervals["pearson"] == pytest.approx(tuple(wanted), abs=0.015)


@pytest.mark.resamples
def test_words_are_drawn_by_whole_rows() -> None:
    """Of 40 rows of 30 words, half are all right and half all wrong: 40 draws, not 1200."""
    gold = [tuple((place, place + 1, "x" if (row + place) % 2 else "y") for place in range(30)) for row in range(40)]
    answers = [
        as_prediction([(start, end, name if row % 2 else "xy"[name == "x"]) for start, end, name in words])
        for row, words in enumerate(gold)
    ]
    low, high = TagsTarget().fit(gold).measure(gold, answers).intervals["accuracy"]
    assert (low, high) == pytest.approx((0.5 - 1.96 * 0.079, 0.5 + 1.96 * 0.079), abs=0.04)


@pytest.mark.resamples
def test_hidden_words_are_drawn_by_whole_rows_with_their_own_counts() -> None:
    sure = MaskedPrediction(counts=MaskedCounts((4, 4, 4 * math.log(0.5)), (4, 1, 4 * math.log(0.25))))
    lost, none = MaskedPrediction(counts=MaskedCounts((2, 0, 2 * math.log(0.125)))), MaskedPrediction()
    same = MaskedTarget().fit(()).measure([0.0] * 9, [sure] * 9)
    assert same.scores == pytest.approx({"accuracy": 1.0, "perplexity": 2.0, "likelihood": 0.5})
    assert same.intervals["perplexity"] == pytest.approx((2.0, 2.0))
    assert same.intervals.keys() == {"accuracy", "perplexity", "likelihood"}
    halves = [MaskedPrediction(counts=MaskedCounts((1, row % 2, math.log(0.5)))) for row in range(400)]
    found = MaskedTarget().fit(()).measure([0.0] * 400, halves).intervals["accuracy"]
    assert found == pytest.approx((0.5 - 1.96 * 0.025, 0.5 + 1.96 * 0.025), abs=0.01)
    few = MaskedTarget().fit(()).measure([0.0] * 4, [none, sure, none, none])  # in short rows nothing may be masked
    assert few.intervals["accuracy"] == (1.0, 1.0)
    mixed = MaskedTarget(boundary=True).fit(()).measure([0.0] * 3, [sure, lost, none], intervals=False)
    geometric = (0.5**4 * 0.125**2) ** (1 / 6)
    assert mixed.scores == pytest.approx(
        {
            "accuracy": 4 / 6,
            "perplexity": 1 / geometric,
            "likelihood": geometric,
            "boundary_accuracy": 1 / 4,
            "boundary_perplexity": 4.0,
        }
    )
    assert mixed.intervals == {}


def test_confidence_is_measured_where_answers_have_any() -> None:
    answers = [LabelPrediction("a", 0.9)] * 6 + [LabelPrediction("b", 0.6)] * 4
    found = LabelTarget().fit(["a", "b"]).measure(["a"] * 3 + ["b"] * 7, answers, intervals=False)
    assert found.scores["calibration_error"] == pytest.approx((6 * 0.4 + 4 * 0.4) / 10)
    assert [(pytest.approx(c), pytest.approx(a), n) for c, a, n in [(0.6, 1.0, 4), (0.9, 0.5, 6)]] == found.details[
        "reliability"
    ]
    bare = LabelTarget().fit(["a", "b"]).measure(["a", "b"], [LabelPrediction("a")] * 2, intervals=False)
    assert "calibration_error" not in bare.scores
    assert bare.details["confusion"] == [[1, 0], [1, 0]]


def test_a_word_without_an_answer_is_wrong() -> None:
    gold = [((0, 1, "x"), (2, 3, "y"))]
    found = TagsTarget().fit(gold).measure(gold, [as_prediction([(0, 1, "x")])])
    assert found.scores["accuracy"] == 0.5
    assert list(found.details["per_class"]) == ["x", "y"]
    assert found.details["per_class"]["y"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1.0}
    assert found.intervals["accuracy"] == (0.5, 0.5)


# By what weights are chosen


def result(value: float, majority: float | None) -> TaskResult:
    baselines = {} if majority is None else {"majority": {"f1": majority, "other": 0.9}, "tfidf": {"f1": 0.99}}
    return TaskResult("f1", 5, Measures({"other": 0.1, "f1": value}), baselines)


def test_a_gain_is_how_much_better_than_the_commonest_answer_by_the_chosen_metric() -> None:
    assert result(0.7, 0.3).value == 0.7
    assert result(0.7, 0.3).gain == pytest.approx(0.4)
    assert result(0.2, 0.3).gain == pytest.approx(-0.1)
    assert result(0.7, None).gain == 0.7
    assert overall({"a": result(0.7, 0.3), "b": result(0.9, 0.8), "c": result(0.1, 0.2)}) == pytest.approx(0.4 / 3)


def test_a_floor_is_the_commonest_answer_of_the_task_itself() -> None:
    floored = with_floor({"a": result(0.7, None), "b": result(0.9, None)}, {"a": 0.5, "b": 0.1})
    assert [one.gain for one in floored.values()] == pytest.approx([0.2, 0.8])
    assert [(one.metric, one.rows, one.value) for one in floored.values()] == [("f1", 5, 0.7), ("f1", 5, 0.9)]


def test_weights_are_chosen_by_the_overall_gain_or_by_one_tasks_value() -> None:
    entry = {"overall": 0.25, "dev": {"a": 0.5, "b": 0.75}}
    assert [gain_of(entry, name) for name in ("overall", "a", "b")] == [0.25, 0.5, 0.75]


@pytest.mark.parametrize(("size", "limit"), [(10, 3), (10, 9), (7, 1), (1000, 300)])
def test_rows_are_thinned_out_evenly(size: int, limit: int) -> None:
    rows: Any = list(range(size))
    thin: Any = thin_out(rows, limit)
    assert len(thin) == limit
    assert thin[0] == 0
    gaps = np.diff([*thin, size])
    assert set(gaps.tolist()) <= {size // limit, -(-size // limit)}


def test_few_rows_are_looked_at_as_they_are() -> None:
    rows: Any = [1, 2, 3]
    assert thin_out(rows, 3) == thin_out(rows, 4) == [1, 2, 3]
