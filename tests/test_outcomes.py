"""Outcomes give the metrics of any resample of their rows, survive a file, and hold no text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as reference

from weft.errors import CheckpointError
from weft.metrics.calibration import expected_calibration_error
from weft.metrics.outcomes import Outcomes, unknown
from weft.metrics.outcomes.costed import CostedOutcomes
from weft.metrics.outcomes.counts import AnnotationOutcomes, LabelSetOutcomes, TagOutcomes
from weft.metrics.outcomes.file import read_outcomes, write_outcomes
from weft.metrics.outcomes.label import LabelOutcomes
from weft.metrics.outcomes.means import MeanOutcomes
from weft.metrics.outcomes.numbers import NumberOutcomes
from weft.metrics.outcomes.tokens import BoundaryOutcomes, TokenOutcomes
from weft.metrics.regression import pearson, spearman

ROWS, NAMES = 40, ("a", "b", "c", "d")
Scores = dict[str, float]


def label_scores(gold: np.ndarray, predicted: np.ndarray) -> Scores:
    macro = {"average": "macro", "zero_division": 0}
    return {
        "accuracy": reference.accuracy_score(gold, predicted),
        "f1_macro": reference.f1_score(gold, predicted, **macro),
        "f1_micro": reference.f1_score(gold, predicted, average="micro"),
        "precision_macro": reference.precision_score(gold, predicted, **macro),
        "recall_macro": reference.recall_score(gold, predicted, **macro),
        "matthews_correlation": reference.matthews_corrcoef(gold, predicted),
    }


def set_scores(gold: np.ndarray, predicted: np.ndarray) -> Scores:
    return {
        "f1_micro": reference.f1_score(gold, predicted, average="micro"),
        "f1_macro": reference.f1_score(gold, predicted, average="macro"),
        "precision_micro": reference.precision_score(gold, predicted, average="micro"),
        "recall_micro": reference.recall_score(gold, predicted, average="micro"),
        "exact_match": reference.accuracy_score(gold, predicted),
    }


def label(draw: np.random.Generator) -> tuple[Outcomes, Callable[[np.ndarray], Scores]]:
    gold, predicted = draw.integers(2, size=ROWS), draw.integers(3, size=ROWS)  # nobody says d
    sure = draw.random(ROWS)
    outcomes = LabelOutcomes(lines=np.arange(ROWS), scores=sure, labels=NAMES, gold=gold, predicted=predicted)

    def plain(rows: np.ndarray) -> Scores:
        error = expected_calibration_error(sure[rows], (gold == predicted)[rows])
        return {**label_scores(gold[rows], predicted[rows]), "calibration_error": error}

    return outcomes, plain


def costed(draw: np.random.Generator) -> tuple[Outcomes, Callable[[np.ndarray], Scores]]:
    same, plain = label(draw)
    costs = draw.choice([0.0, 1.0, 5.0, 20.0], size=ROWS)
    outcomes = CostedOutcomes.from_arrays({**same.arrays(), "costs": costs}, NAMES)
    return outcomes, lambda rows: {**plain(rows), "cost": costs[rows].mean()}


def label_sets(draw: np.random.Generator) -> tuple[Outcomes, Callable[[np.ndarray], Scores]]:
    gold, predicted = draw.random((ROWS, 4)) < 0.4, draw.random((ROWS, 4)) < 0.4
    counts = {"hits": gold & predicted, "predicted": predicted, "gold": gold}
    whole = {name: part.astype(np.int64) for name, part in counts.items()}
    outcomes = LabelSetOutcomes(lines=np.arange(ROWS), scores=unknown(ROWS), labels=NAMES, **whole)
    return outcomes, lambda rows: set_scores(gold[rows], predicted[rows])


def annotations(draw: np.random.Generator) -> tuple[Outcomes, Callable[[np.ndarray], Scores]]:
    hits = draw.integers(3, size=(ROWS, 4))
    predicted, gold = hits + draw.integers(3, size=(ROWS, 4)), hits + draw.integers(2, size=(ROWS, 4))
    counts = np.stack([hits, predicted, gold], axis=2)
    counts[:, 3] = 0  # nobody says d
    hits, predicted, gold = np.moveaxis(counts, 2, 0)
    outcomes = AnnotationOutcomes(
        lines=np.arange(ROWS), scores=unknown(ROWS), labels=NAMES, hits=hits, predicted=predicted, gold=gold
    )

    def plain(rows: np.ndarray) -> Scores:
        right, given, true = counts[rows].sum((0, 1))
        used = [row for row in counts[rows].sum(0) if row[1] + row[2]]
        macro = float(np.mean([2 * right / (given + true) for right, given, true in used]))
        f1 = 2 * right / (given + true)
        return {"f1": f1, "precision": right / given, "recall": right / true, "f1_macro": macro}

    return outcomes, plain


def tags(draw: np.random.Generator) -> tuple[Outcomes, Callable[[np.ndarray], Scores]]:
    words = [(draw.integers(3, size=n), draw.integers(4, size=n)) for n in draw.integers(1, 9, size=ROWS)]

    def by_row(which: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        return np.stack([np.bincount(which(gold, given), minlength=4) for gold, given in words])

    def plain(rows: np.ndarray) -> Scores:
        return label_scores(*(np.concatenate([words[row][side] for row in rows]) for side in (0, 1)))

    outcomes = TagOutcomes(
        lines=np.arange(ROWS),
        scores=unknown(ROWS),
        labels=("a", "b", "c", ""),
        hits=by_row(lambda gold, given: gold[gold == given]),
        predicted=by_row(lambda _, given: given),
        gold=by_row(lambda gold, _: gold),
    )
    return outcomes, plain


def plain_scores(gold: np.ndarray, predicted: np.ndarray) -> Scores:
    with np.errstate(over="ignore", invalid="ignore"):
        error = predicted - gold
        means = {"mse": float(np.mean(error * error)), "mae": float(np.mean(np.abs(error)))}
    return {"pearson": pearson(gold, predicted), "spearman": spearman(gold, predicted), **means}


def numbers(draw: np.random.Generator) -> tuple[Outcomes, Callable[[np.ndarray], Scores]]:
    gold = draw.integers(6, size=ROWS).astype(np.float64)
    predicted = np.round(gold + draw.normal(size=ROWS), 1)
    outcomes = NumberOutcomes(lines=np.arange(ROWS), scores=unknown(ROWS), gold=gold, predicted=predicted)
    return outcomes, lambda rows: plain_scores(gold[rows], predicted[rows])


def tokens(draw: np.random.Generator) -> tuple[Outcomes, Callable[[np.ndarray], Scores]]:
    masked = draw.integers(1, 9, size=ROWS)
    own, boundary = (
        np.stack([masked, draw.integers(masked + 1), -draw.random(ROWS) * masked], axis=1) for _ in range(2)
    )
    outcomes = BoundaryOutcomes(lines=np.arange(ROWS), scores=unknown(ROWS), sums=own, boundary_sums=boundary)

    def plain(rows: np.ndarray) -> Scores:
        number, right, log = own[rows].sum(0)
        _, beside, beside_log = boundary[rows].sum(0)
        return {
            "accuracy": right / number,
            "perplexity": np.exp(-log / number),
            "likelihood": np.exp(log / number),
            "boundary_accuracy": beside / number,
            "boundary_perplexity": np.exp(-beside_log / number),
        }

    return outcomes, plain


def means(draw: np.random.Generator) -> tuple[Outcomes, Callable[[np.ndarray], Scores]]:
    cost, right = draw.random(ROWS), draw.integers(2, size=ROWS).astype(np.float64)
    outcomes = MeanOutcomes(lines=np.arange(ROWS), scores=unknown(ROWS), values={"cost": cost, "right": right})
    return outcomes, lambda rows: {"cost": cost[rows].mean(), "right": right[rows].mean()}


KINDS = [label, costed, label_sets, annotations, tags, numbers, tokens, means]


@pytest.mark.parametrize("make", KINDS)
def test_weights_measure_as_the_repeated_rows_do(make: Callable[..., tuple[Outcomes, Callable[..., Scores]]]) -> None:
    draw = np.random.default_rng(0)
    outcomes, plain = make(draw)
    resamples = draw.integers(ROWS, size=(30, ROWS))
    weights = np.stack([np.bincount(rows, minlength=ROWS) for rows in resamples]).astype(np.float64)
    expected = [plain(rows) for rows in resamples]
    assert outcomes.metrics
    for metric in outcomes.metrics:
        np.testing.assert_allclose(outcomes.measure(metric, weights), [one[metric] for one in expected], atol=1e-12)
        assert outcomes.measure(metric) == pytest.approx([plain(np.arange(ROWS))[metric]], abs=1e-12)
        taken = [outcomes.take(rows).measure(metric)[0] for rows in resamples]
        np.testing.assert_allclose(taken, [one[metric] for one in expected], atol=1e-12)
    assert outcomes.lower_is_better <= set(outcomes.metrics)


@pytest.mark.parametrize("make", KINDS)
def test_folds_join_to_the_whole_and_a_file_gives_back_what_it_was_given(
    make: Callable[..., tuple[Outcomes, Callable[..., Scores]]], tmp_path: Path
) -> None:
    outcomes, _ = make(np.random.default_rng(1))
    order = np.random.default_rng(2).permutation(ROWS)
    joined = outcomes.join([outcomes.take(order[:7]), outcomes.take(order[7:30]), outcomes.take(order[30:])])
    write_outcomes(tmp_path / "x.safetensors", {"first": outcomes, "a/b.c": joined})
    write_outcomes(tmp_path / "y.safetensors", {"first": outcomes, "a/b.c": joined})
    assert (tmp_path / "x.safetensors").read_bytes() == (tmp_path / "y.safetensors").read_bytes()
    read = read_outcomes(tmp_path / "x.safetensors")
    assert list(read) == ["first", "a/b.c"]
    for other in (joined, *read.values()):
        assert type(other) is type(outcomes)
        assert other.labels == outcomes.labels
        for name, array in outcomes.arrays().items():
            assert other.arrays()[name].dtype == array.dtype
            np.testing.assert_array_equal(other.arrays()[name], array)


@pytest.mark.parametrize("make", [label, costed, annotations])
def test_folds_that_know_other_labels_join_by_the_names_of_these(
    make: Callable[..., tuple[Outcomes, Callable[..., Scores]]],
) -> None:
    outcomes, _ = make(np.random.default_rng(3))
    turned = outcomes.relabelled(("new", "d", "b", "a", "c"))
    joined = outcomes.join([turned.take(np.arange(20, ROWS)), outcomes.take(np.arange(20))])
    assert joined.labels == turned.labels
    for metric in outcomes.metrics:
        np.testing.assert_allclose(joined.measure(metric), outcomes.measure(metric), atol=1e-12)
    for name, f1 in outcomes.per_class().items():
        np.testing.assert_array_equal(joined.per_class()[name], f1)


def test_the_f1_of_each_label_is_that_of_the_table() -> None:
    outcomes, _ = label(np.random.default_rng(4))
    assert isinstance(outcomes, LabelOutcomes)
    f1 = reference.f1_score(outcomes.gold, outcomes.predicted, labels=range(4), average=None, zero_division=0)
    expected = {name: [pytest.approx(value)] for name, value in zip(NAMES, f1, strict=True)}
    assert {name: values.tolist() for name, values in outcomes.per_class().items()} == expected
    assert list(tags(np.random.default_rng(4))[0].per_class()) == ["a", "b", "c"]  # words without a tag are no class
    assert numbers(np.random.default_rng(4))[0].per_class() == {}


def test_rows_are_right_wrong_or_neither() -> None:
    draw = np.random.default_rng(5)
    for make, metric in ((label, "accuracy"), (label_sets, "exact_match")):
        outcomes, _ = make(draw)
        assert set(outcomes.right) == {0.0, 1.0}
        assert outcomes.right.mean() == pytest.approx(outcomes.measure(metric)[0])
    assert np.isnan(numbers(draw)[0].right).all()
    assert np.isnan(tokens(draw)[0].right).all()


def test_without_a_score_for_every_answer_there_is_no_calibration_error() -> None:
    outcomes, _ = label(np.random.default_rng(6))
    assert "calibration_error" in outcomes.metrics
    arrays = {**outcomes.arrays(), "scores": np.where(np.arange(ROWS) == 3, np.nan, outcomes.scores)}
    unsure = LabelOutcomes.from_arrays(arrays, NAMES)
    assert "calibration_error" not in unsure.metrics
    with pytest.raises(ValueError, match="calibration_error cannot be measured here; there are: accuracy"):
        unsure.measure("calibration_error")


def of_numbers(gold: list[float], predicted: list[float]) -> NumberOutcomes:
    return NumberOutcomes(
        lines=np.arange(len(gold)), scores=unknown(len(gold)), gold=np.array(gold), predicted=np.array(predicted)
    )


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ([1.0, 2, 3, 4], [0.1, 0.1, 0.1, 0.1]),
        ([0.1, 0.1, 0.1, 7], [1.0, 2, 3, 4]),
        ([1.0, 2, 3, 4], [1.0, np.nan, 3, 4]),
        ([1.0, 2, 3, 4], [1.0, np.inf, 2, 4]),
        ([1.0, 2, 3, 4], [np.nan, np.nan, np.nan, np.nan]),
        ([1.0, 2, 3, 4], [1e200, 2e200, 1e-200, 3e-200]),
        ([1.0, 2, 3, 4], [1e300, -1e300, 1e-300, 1]),
        ([1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9], [5.0, 6, 7, 1]),
    ],
)
def test_odd_numbers_are_measured_as_the_repeated_rows_are(gold: list[float], predicted: list[float]) -> None:
    outcomes = of_numbers(gold, predicted)
    resamples = np.array([np.unravel_index(n, (4, 4, 4, 4)) for n in range(256)])
    weights = np.stack([np.bincount(rows, minlength=4) for rows in resamples]).astype(np.float64)
    for metric in outcomes.metrics:
        expected = [plain_scores(np.array(gold)[rows], np.array(predicted)[rows])[metric] for rows in resamples]
        np.testing.assert_allclose(outcomes.measure(metric, weights), expected, rtol=1e-6, atol=1e-9)


def test_many_resamples_of_many_rows_are_measured_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes, _ = numbers(np.random.default_rng(7))
    weights = np.random.default_rng(8).integers(3, size=(9, ROWS)).astype(np.float64)
    whole = outcomes.measure_all(outcomes.metrics, weights)
    monkeypatch.setattr("weft.metrics.outcomes.numbers._MOST", 2 * ROWS + 1)
    for metric, values in outcomes.measure_all(outcomes.metrics, weights).items():
        np.testing.assert_allclose(values, whole[metric], rtol=1e-14)


def test_where_nothing_is_masked_nothing_is_measured() -> None:
    sums = np.array([[0.0, 0, 0], [2, 1, -2]])
    outcomes = TokenOutcomes(lines=np.arange(2), scores=unknown(2), sums=sums)
    measured = outcomes.measure("perplexity", np.array([[1.0, 1], [2, 0], [0, 2]]))
    np.testing.assert_allclose(measured, [np.e, np.nan, np.e])


def test_weights_that_do_not_fit_and_metrics_that_are_not_there_are_refused() -> None:
    outcomes, _ = numbers(np.random.default_rng(9))
    with pytest.raises(ValueError, match=r"weights of shape \(2, 3\) do not fit 40 rows"):
        outcomes.measure("mse", np.ones((2, 3)))
    with pytest.raises(ValueError, match="f1 cannot be measured here; there are: pearson, spearman, mse, mae"):
        outcomes.measure("f1")


def test_a_file_that_is_missing_damaged_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.safetensors"
    with pytest.raises(CheckpointError, match="is missing"):
        read_outcomes(path)
    write_outcomes(path, {"t": numbers(np.random.default_rng(9))[0]})
    whole = path.read_bytes()
    for wrong in (whole[:-9], b"", whole.replace(b"numbers", b"lumbers")):
        path.write_bytes(wrong)
        with pytest.raises(CheckpointError, match="is damaged or incomplete"):
            read_outcomes(path)
