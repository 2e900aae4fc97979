"""Scores agree with scikit-learn and scipy, and stay defined where those warn."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as reference

from weft.metrics.bootstrap import intervals_of
from weft.metrics.calibration import (
    expected_calibration_error,
    fit_temperature,
    fit_temperature_binary,
    reliability,
)
from weft.metrics.classification import count, label_ids
from weft.metrics.multilabel import label_matrix
from weft.metrics.outcomes import Outcomes, unknown
from weft.metrics.outcomes.counts import LabelSetOutcomes
from weft.metrics.outcomes.label import LabelOutcomes
from weft.metrics.outcomes.means import MeanOutcomes
from weft.metrics.outcomes.numbers import NumberOutcomes
from weft.metrics.thresholds import candidate_thresholds, choose_threshold

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.resamples]

LABELS = ["a", "b", "c", "d"]
quick = settings(max_examples=60, deadline=None)
answers = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40)
label_sets = st.sets(st.sampled_from(LABELS))


# Classification


def label_outcomes(gold: list[str], predicted: list[str], labels: list[str]) -> LabelOutcomes:
    ids = [label_ids(names, labels) for names in (gold, predicted)]
    lines = np.arange(len(gold))
    return LabelOutcomes(lines=lines, scores=unknown(len(gold)), labels=tuple(labels), gold=ids[0], predicted=ids[1])


def set_outcomes(gold: Any, predicted: Any, labels: list[str]) -> LabelSetOutcomes:
    true, given = (label_matrix(sets, labels).astype(np.int64) for sets in (gold, predicted))
    counts = {"hits": true * given, "predicted": given, "gold": true}
    return LabelSetOutcomes(lines=np.arange(len(gold)), scores=unknown(len(gold)), labels=tuple(labels), **counts)


def scores(outcomes: Outcomes) -> dict[str, float]:
    return {metric: float(value) for metric, (value,) in outcomes.measure_all(outcomes.metrics).items()}


def classification_scores(gold: list[str], predicted: list[str], labels: list[str]) -> dict[str, float]:
    return scores(label_outcomes(gold, predicted, labels))


def multilabel_scores(gold: Any, predicted: Any, labels: list[str]) -> dict[str, float]:
    return scores(set_outcomes(gold, predicted, labels))


@quick
@given(answers)
def test_classification_scores_agree_with_scikit_learn(rows: list[tuple[str, str]]) -> None:
    gold, predicted = [row[0] for row in rows], [row[1] for row in rows]
    used = sorted({*gold, *predicted})
    precision, recall, f1, _ = reference.precision_recall_fscore_support(
        gold, predicted, labels=used, average="macro", zero_division=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns where only one label occurs
        matthews = reference.matthews_corrcoef(gold, predicted)
    assert classification_scores(gold, predicted, LABELS) == pytest.approx(
        {
            "accuracy": reference.accuracy_score(gold, predicted),
            "f1_macro": f1,
            "f1_micro": reference.f1_score(gold, predicted, labels=LABELS, average="micro"),
            "precision_macro": precision,
            "recall_macro": recall,
            "matthews_correlation": matthews,
        }
    )


@quick
@given(answers)
def test_per_class_and_confusion_agree_with_scikit_learn(rows: list[tuple[str, str]]) -> None:
    gold, predicted = [row[0] for row in rows], [row[1] for row in rows]
    expected = reference.precision_recall_fscore_support(gold, predicted, labels=LABELS, zero_division=0)
    table = label_outcomes(gold, predicted, LABELS).class_table()
    assert list(table) == LABELS
    for column, name in zip(expected, ("precision", "recall", "f1", "support"), strict=True):
        assert [table[label][name] for label in LABELS] == pytest.approx(list(column))
    matrix = count(label_ids(gold, LABELS), label_ids(predicted, LABELS), len(LABELS))
    assert matrix.tolist() == reference.confusion_matrix(gold, predicted, labels=LABELS).tolist()


def test_a_label_nobody_used_does_not_enter_macro_means() -> None:
    assert classification_scores(["a", "b"], ["a", "b"], LABELS)["f1_macro"] == 1.0
    assert label_outcomes(["a"], ["a"], LABELS).class_table()["d"] == {
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "support": 0.0,
    }


def test_a_label_only_predicted_does_enter_macro_means() -> None:
    scores = classification_scores(["a", "a"], ["a", "b"], LABELS)
    assert scores["recall_macro"] == 0.25
    assert scores["f1_macro"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("predicted", [["a", "a"], ["a", "b"]])
def test_matthews_correlation_is_zero_when_gold_has_one_class(predicted: list[str]) -> None:
    assert classification_scores(["a", "a"], predicted, LABELS)["matthews_correlation"] == 0.0


def test_matthews_correlation_survives_counts_beyond_64_bits() -> None:
    found = label_outcomes(["a", "b"], ["a", "b"], ["a", "b"]).measure("matthews_correlation", np.full((1, 2), 1e8))
    assert found == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("names", "labels", "message"),
    [(["x"], LABELS, "label in row 0 is not one of the 4 labels"), (["a"], ["a", "a"], "distinct")],
)
def test_impossible_labels_are_refused(names: list[str], labels: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        label_ids(names, labels)
    with pytest.raises(ValueError, match=message):
        label_matrix([[name] for name in names], labels)


# Multi-label


@quick
@given(st.lists(st.tuples(label_sets, label_sets), min_size=1, max_size=30))
def test_multilabel_scores_agree_with_scikit_learn(rows: list[tuple[set[str], set[str]]]) -> None:
    gold, predicted = [row[0] for row in rows], [row[1] for row in rows]
    truth, guess = label_matrix(gold, LABELS).astype(int), label_matrix(predicted, LABELS).astype(int)
    precision, recall, f1, _ = reference.precision_recall_fscore_support(truth, guess, average="micro", zero_division=0)
    used = [place for place in range(len(LABELS)) if truth[:, place].any() or guess[:, place].any()]
    macro = reference.f1_score(truth, guess, labels=used, average="macro", zero_division=0) if used else 0.0
    assert multilabel_scores(gold, predicted, LABELS) == pytest.approx(
        {
            "f1_micro": f1,
            "f1_macro": macro,
            "precision_micro": precision,
            "recall_micro": recall,
            "exact_match": reference.accuracy_score(truth, guess),
        }
    )
    expected = reference.precision_recall_fscore_support(truth, guess, zero_division=0)
    table = set_outcomes(gold, predicted, LABELS).class_table()
    for column, name in zip(expected, ("precision", "recall", "f1", "support"), strict=True):
        assert [table[label][name] for label in LABELS] == pytest.approx(list(column))


def test_label_matrix_marks_the_place_of_each_label() -> None:
    assert label_matrix([["c", "a", "a"], []], LABELS).tolist() == [[True, False, True, False], [False] * 4]


def test_rows_without_labels_have_zero_f1_and_an_exact_match() -> None:
    scores = multilabel_scores([[], []], [[], []], LABELS)
    assert (scores["f1_micro"], scores["f1_macro"], scores["exact_match"]) == (0.0, 0.0, 1.0)


def test_a_string_is_not_read_as_a_collection_of_labels() -> None:
    with pytest.raises(ValueError, match="row 1 is one string"):
        multilabel_scores([["a"], "ab"], [["a"], ["b"]], LABELS)


def test_one_label_per_row_gives_the_f1_of_single_label_classification() -> None:
    gold, predicted = ["a", "b", "b", "c"], ["a", "b", "c", "d"]
    many = multilabel_scores([[g] for g in gold], [[p] for p in predicted], LABELS)
    one = classification_scores(gold, predicted, LABELS)
    assert many["f1_micro"] == pytest.approx(one["f1_micro"])
    assert many["f1_macro"] == pytest.approx(one["f1_macro"])


# Regression


def regression_scores(gold: list[float], predicted: list[float]) -> dict[str, float]:
    lines, numbers = np.arange(len(gold)), [np.array(values) for values in (gold, predicted)]
    outcomes = NumberOutcomes(lines=lines, scores=unknown(len(gold)), gold=numbers[0], predicted=numbers[1])
    return {metric: float(value) for metric, (value,) in outcomes.measure_all(outcomes.metrics).items()}


@quick
@given(st.integers(2, 60), st.integers(0, 10_000), st.booleans())
def test_regression_scores_agree_with_scipy(size: int, seed: int, rounded: bool) -> None:
    draw = np.random.default_rng(seed)
    gold = draw.normal(size=size)
    predicted = gold + draw.normal(size=size)
    if rounded:  # many equal values, as human ratings have
        gold, predicted = gold.round(), predicted.round()
    assume(np.ptp(gold) > 0 and np.ptp(predicted) > 0)
    scores = regression_scores(gold.tolist(), predicted.tolist())
    assert scores == pytest.approx(
        {
            "pearson": np.corrcoef(gold, predicted)[0, 1],
            "spearman": stats.spearmanr(gold, predicted).statistic,
            "mse": reference.mean_squared_error(gold, predicted),
            "mae": reference.mean_absolute_error(gold, predicted),
        },
        abs=1e-9,
    )


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [([0.1] * 10, [float(i) for i in range(10)]), ([1.0, 2.0], [0.3, 0.3]), ([0.0] * 3, [0.0] * 3), ([2.0], [5.0])],
)
def test_constant_scores_have_zero_correlation(gold: list[float], predicted: list[float]) -> None:
    scores = regression_scores(gold, predicted)
    assert scores["pearson"] == scores["spearman"] == 0.0
    assert scores["mae"] == pytest.approx(reference.mean_absolute_error(gold, predicted))


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e150, 5e307])
def test_correlation_does_not_depend_on_scale(scale: float) -> None:
    gold, predicted = [1.0, 2.0, 4.0], [1.0, 3.0, 2.0]
    scaled = regression_scores(gold, [scale * value for value in predicted])
    plain = regression_scores(gold, predicted)
    assert (scaled["pearson"], scaled["spearman"]) == pytest.approx((plain["pearson"], plain["spearman"]))


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_show_as_nan_correlation(odd: float) -> None:
    scores = regression_scores([1.0, 2.0, 3.0], [1.0, odd, 3.0])
    assert np.isnan([scores["pearson"], scores["spearman"]]).all()


# Bootstrap


def mean_interval(values: np.ndarray, **options: float) -> tuple[float, float]:
    """The interval of the mean of some numbers."""
    numbers = values.astype(np.float64)
    outcomes = MeanOutcomes(lines=np.arange(len(values)), scores=unknown(len(values)), values={"mean": numbers})
    return intervals_of(outcomes, ["mean"], **options)["mean"]  # type: ignore[arg-type]


def test_the_interval_of_a_mean_is_that_of_the_normal_law() -> None:
    values = np.random.default_rng(1).normal(size=400)
    error = 1.96 * values.std() / 20
    expected = values.mean() - error, values.mean() + error
    assert mean_interval(values, rounds=2000) == pytest.approx(expected, abs=0.1 * error)


def test_the_interval_covers_the_truth_about_as_often_as_its_level_says() -> None:
    draw = np.random.default_rng(2)
    drawn = [mean_interval(draw.random(100) < 0.7, rounds=200, level=0.8) for _ in range(200)]
    covered = sum(low <= 0.7 <= high for low, high in drawn)
    # Four standard errors of a share of 0.8 in 200 trials are 0.11.
    assert 0.69 <= covered / 200 <= 0.91


def test_the_seed_decides_the_interval() -> None:
    values = np.arange(50.0)
    assert mean_interval(values, seed=3) == mean_interval(values, seed=3) != mean_interval(values, seed=4)


def test_many_resamples_are_measured_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal(size=50)
    whole = mean_interval(values, rounds=30)
    for most in (1, 120):
        monkeypatch.setattr("weft.metrics.bootstrap._MOST", most)
        assert mean_interval(values, rounds=30) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"level": 1.0}])
def test_the_bootstrap_refuses_what_it_cannot_draw(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        mean_interval(np.ones(5), **wrong)
    with pytest.raises(ValueError, match="0 rows"):
        mean_interval(np.ones(0))


# Calibration


def test_calibration_error_is_the_weighted_gap_of_each_bin() -> None:
    # Bins (0.5, 0.6] and (0.9, 1.0]: gaps of 0.55 and 0.05 over one and three rows.
    error = expected_calibration_error([0.55, 0.95, 0.95, 0.95], [False, True, True, True], bins=10)
    assert error == pytest.approx((0.55 + 3 * 0.05) / 4)


def test_calibrated_confidence_has_a_small_error_and_boasting_a_large_one() -> None:
    draw = np.random.default_rng(7)
    rng = draw.random(20_000)
    correct = draw.random(20_000) < rng
    assert expected_calibration_error(rng, correct) < 0.02
    assert expected_calibration_error(np.sqrt(rng), correct) > 0.1


def test_reliability_leaves_out_empty_bins_and_includes_upper_edges() -> None:
    table = reliability([0.0, 0.5, 0.51, 1.0], [0, 1, 1, 0], bins=2)
    assert table == [(pytest.approx(0.25), 0.5, 2), (pytest.approx(0.755), 0.5, 2)]
    assert reliability([0.95], [1]) == [(0.95, 1.0, 1)]
    assert reliability([], []) == []


@pytest.mark.parametrize("confidence", [[float("nan")], [1.5], [-0.2]])
def test_confidence_that_is_no_probability_is_refused(confidence: list[float]) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        expected_calibration_error(confidence, [1])


def _drawn_labels(logits: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    # Adding Gumbel noise and taking the highest draws from the softmax.
    return np.argmax(logits + draw.gumbel(size=logits.shape), axis=1)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_fitting_recovers_the_temperature_the_logits_were_spoiled_with(temperature: float) -> None:
    draw = np.random.default_rng(8)
    logits = 2 * draw.normal(size=(8000, 5))
    gold = _drawn_labels(logits, draw)
    assert fit_temperature(logits * temperature, gold) == pytest.approx(temperature, rel=0.07)
    marks = draw.random(logits.shape) < 1 / (1 + np.exp(-logits))
    assert fit_temperature_binary(logits * temperature, marks.astype(int)) == pytest.approx(temperature, rel=0.07)


def test_the_temperature_stays_within_its_bounds() -> None:
    logits = np.tile([[1.0, 0.0]], (20, 1))
    right, wrong = np.zeros(20, dtype=int), np.ones(20, dtype=int)
    assert fit_temperature(logits / 100, right) == pytest.approx(0.05, rel=1e-3)
    assert fit_temperature(logits, wrong) == pytest.approx(20, rel=1e-3)
    assert fit_temperature_binary(logits[:, :1], right[:, None]) == pytest.approx(20, rel=1e-3)


@pytest.mark.parametrize(("rows", "apart"), [(20, 2.0), (200, 2.0), (20, 9.0)])
def test_rows_without_a_mistake_do_not_make_a_model_certain(rows: int, apart: float) -> None:
    # The likeliest temperature would be 0: a cost of 20 would then weigh nothing on a row unlike these.
    logits, right = np.tile([[apart, 0.0]], (rows, 1)), np.zeros(rows, dtype=int)
    doubt = 1 / (1 + np.exp(apart / fit_temperature(logits, right)))
    assert doubt == pytest.approx(1 / (rows + 2), rel=1e-2)
    marks = np.array([[1.0], [-1.0]] * (rows // 2))
    doubt = 1 / (1 + np.exp(1 / fit_temperature_binary(marks, marks > 0)))
    assert doubt == pytest.approx(1 / (rows + 2), rel=1e-2)


def test_a_model_that_is_too_sure_is_mended_without_a_further_doubt() -> None:
    logits, gold = np.tile([[4.0, 0.0]], (20, 1)), np.array([0] * 15 + [1] * 5)
    assert 4 / fit_temperature(logits, gold) == pytest.approx(np.log(3), rel=1e-2)
    assert 4 / fit_temperature_binary(logits[:, :1], gold[:, None] == 0) == pytest.approx(np.log(3), rel=1e-2)


def test_doubt_is_shared_among_all_other_labels() -> None:
    logits, right = np.tile([[2.0, 1.0, 0.0]], (20, 1)), np.zeros(20, dtype=int)
    likely = np.exp(logits[0] / fit_temperature(logits, right))
    # The mean logit under the model is that under the smoothed answers: 21/22 right, the rest divided evenly.
    assert (likely / likely.sum()) @ logits[0] == pytest.approx(2 * 21 / 22 + 0.5 / 22, rel=1e-2)


def test_huge_logits_do_not_overflow() -> None:
    logits = np.tile([[1e4, 0.0], [0.0, 1e4]], (10, 1)).astype(np.float32)
    gold = np.tile([0, 0], 10)
    assert fit_temperature(logits, gold) == pytest.approx(20, rel=1e-3)
    assert fit_temperature_binary(logits, np.eye(2, dtype=int)[gold]) == pytest.approx(20, rel=1e-3)


def test_nothing_to_learn_leaves_the_temperature_at_one() -> None:
    few = np.array([[3.0, 0.0]] * 9)
    assert fit_temperature(few, np.ones(9, dtype=int)) == 1.0
    assert fit_temperature_binary(few, np.zeros((9, 2), dtype=int)) == 1.0
    equal = np.zeros((50, 3))
    assert fit_temperature(equal, np.zeros(50, dtype=int)) == 1.0
    assert fit_temperature(np.full((50, 3), np.nan), np.zeros(50, dtype=int)) == 1.0


@pytest.mark.parametrize("outside", [-1, 2])
def test_gold_outside_the_logits_is_refused(outside: int) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        fit_temperature(np.zeros((10, 2)), np.array([0] * 9 + [outside]))


# Thresholds


def _f1(scores: np.ndarray, gold: np.ndarray, threshold: float) -> float:
    return float(reference.f1_score(gold, scores >= threshold, zero_division=0))


@quick
@given(
    st.lists(st.tuples(st.integers(1, 11), st.integers(0, 1)), min_size=2, max_size=25),
    st.sampled_from([np.float64, np.float32]),
)
def test_a_threshold_is_the_nearest_to_one_half_of_those_within_an_error_of_the_best(
    rows: list[tuple[int, int]], kind: type
) -> None:
    scores = np.array([row[0] / 12 for row in rows], dtype=kind)
    gold = np.array([row[1] for row in rows])
    chosen = choose_threshold(scores, lambda threshold: _f1(scores, gold, threshold), 20)
    below = [0.01, *np.unique(scores).tolist()]
    tried = [0.5, *((low + high) / 2 for low, high in pairwise(below))]
    best = max(_f1(scores, gold, threshold) for threshold in tried)
    near = [one for one in tried if _f1(scores, gold, one) >= best - (best * (1 - best) / 20) ** 0.5 - 1e-9]
    assert abs(chosen - 0.5) == pytest.approx(min(abs(one - 0.5) for one in near), abs=1e-6)


def test_the_threshold_lies_midway_between_the_scores_it_parts() -> None:
    scores, gold = np.array([0.1, 0.2, 0.4, 0.45]), np.array([0, 0, 1, 1])
    assert choose_threshold(scores, lambda one: _f1(scores, gold, one), 10) == pytest.approx(0.3)


def test_a_threshold_is_chosen_from_ten_gold_answers_on() -> None:
    scores, gold = np.array([0.1, 0.4]), np.array([0, 1])
    assert choose_threshold(scores, lambda one: _f1(scores, gold, one), 9) == 0.5
    assert choose_threshold(scores, lambda one: _f1(scores, gold, one), 10) == pytest.approx(0.25)


def test_of_many_probabilities_at_most_sixty_thresholds_beside_one_half_are_tried() -> None:
    assert len(candidate_thresholds(np.linspace(0.02, 0.98, 5000))) == 61
    assert candidate_thresholds(np.array([0.001, 0.999])) == [0.5]  # nobody is given or refused so surely


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_neighbouring_floats_are_still_parted(kind: type) -> None:
    low = kind(0.7)
    for _ in range(4):  # even and odd last bits: halves are rounded both ways
        high = np.nextafter(low, kind(1))
        scores, gold = np.array([low, high], dtype=kind), np.array([0, 1])
        chosen = choose_threshold(scores, partial(_f1, scores, gold), 10)
        assert (scores >= chosen).tolist() == [False, True]
        low = high


def test_scores_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match="probabilities"):
        candidate_thresholds(np.array([-1.0, 2.0]))
