"""`weft.Estimator` is one of scikit-learn's: it learns, is cloned, searched, cross-validated and pickled as such."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

import weft
from weft.errors import ConfigError, DataError, InputError
from weft.training.run import train_one_of_many

SECRET = "patientword"
QUICK = {"phases": [{"fit": "logistic"}]}  # heads alone: nothing is learned step by step
FOXES = [f"the quick brown fox {n}" for n in range(8)]
DOGS = [f"over the lazy dog {n}" for n in range(8)]
TEXTS = [text for pair in zip(FOXES, DOGS, strict=True) for text in pair]
PAIRS = [(text, text if n % 4 < 2 else "naïve café") for n, text in enumerate(TEXTS)]
Make = Callable[..., weft.Estimator]


@pytest.fixture
def make(small_encoder: str) -> Make:
    """An estimator with a small encoder, whose fit takes a moment."""
    return lambda **options: weft.Estimator(small_encoder, **{"config": QUICK, "device": "cpu", **options})


# What it learns and answers


@pytest.mark.parametrize(
    "classes",
    [["dog", "fox"], [3, 7], [0.0, 1.0], [False, True], ["a", "a "], ["", "fox"], np.array(["dog", "fox"], object)],
    ids=str,
)
def test_classes_of_any_type_come_back_as_they_were_given(make: Make, classes: Any) -> None:
    y = np.array([classes[1], classes[0]] * 8)
    estimator = make()
    assert estimator.fit(TEXTS, y) is estimator
    assert estimator.classes_.tolist() == list(classes)
    found = estimator.predict(TEXTS)
    assert found.dtype == y.dtype
    assert found.tolist() == y.tolist()
    assert estimator.score(TEXTS, y[::-1]) == 0
    assert estimator.predict([]).tolist() == []


def test_probabilities_have_a_column_per_class_in_the_order_of_the_classes(make: Make) -> None:
    estimator = make().fit(TEXTS, ["z", "a"] * 8)
    found = estimator.predict_proba(TEXTS)
    assert found.shape == (16, 2)
    assert found.sum(1) == pytest.approx(1)
    assert estimator.classes_[found.argmax(1)].tolist() == ["z", "a"] * 8
    assert estimator.predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_matrix_of_zeros_and_ones_is_several_labels_per_text(make: Make, sparse: bool) -> None:
    y = np.array([[1, 1, 0], [0, 1, 0]] * 8)  # the last label is nobody's, as in a fold of few rows
    estimator = make().fit(TEXTS, csr_array(y) if sparse else y)
    assert estimator.classes_.tolist() == [0, 1, 2]
    assert estimator.predict(TEXTS).tolist() == y.tolist()
    assert estimator.score(TEXTS, y) == 1
    found = estimator.predict_proba(TEXTS)
    assert found.shape == y.shape
    assert ((found >= 0.5) == y).all()
    assert estimator.predict([]).shape == (0, 3)


class IndicatorFrame:
    """As much of a frame as names the labels."""

    columns = ("fox", "any")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([[1, 1], [0, 1]] * 8, dtype)


def test_the_columns_of_a_frame_name_the_labels(make: Make) -> None:
    estimator = make().fit(TEXTS, IndicatorFrame())
    assert estimator.classes_.tolist() == ["fox", "any"]
    assert set(estimator.model_.predict(TEXTS[:1], "label")[0]["labels"]) == {"fox", "any"}


@pytest.mark.parametrize(
    "form", [list, lambda pairs: [list(pair) for pair in pairs], np.array], ids=["tuples", "lists", "array"]
)
def test_pairs_are_classified_without_saying_so(make: Make, form: Callable[[Any], Any]) -> None:
    y = ["same", "same", "other", "other"] * 4
    estimator = make().fit(form(PAIRS), y)
    assert estimator.predict(form(PAIRS)).tolist() == y
    assert estimator.model_.network.tasks["label"].to_dict()["kind"] == "pair_classification"


def test_a_kind_that_answers_with_a_number_is_a_regressor(make: Make) -> None:
    y = [5.0, 5.0, 1.0, 1.0] * 4
    estimator = make(kind="similarity", config={"training": {"epochs": 1}, "phases": [{}]})
    assert is_regressor(estimator)
    assert not is_classifier(estimator)
    assert not hasattr(estimator, "predict_proba")
    found = estimator.fit(PAIRS, y).predict(PAIRS)
    assert found.shape == (16,)
    assert ((found >= 1) & (found <= 5)).all()
    assert not hasattr(estimator, "classes_")
    residual = ((y - found) ** 2).sum() / ((y - np.mean(y)) ** 2).sum()
    assert estimator.score(PAIRS, y) == pytest.approx(1 - residual)


def test_texts_come_as_scikit_learn_hands_them_on(make: Make) -> None:
    estimator = make().fit(np.array(TEXTS, object)[:, None], ["fox", "dog"] * 8)
    expected = estimator.predict_proba(TEXTS)
    for given in (np.array(TEXTS), tuple(TEXTS), iter(TEXTS), np.array(TEXTS, object)[:, None]):
        assert np.array_equal(estimator.predict_proba(given), expected)


# What it is told


def test_options_reach_the_run_and_stay_as_they_were(
    make: Make, small_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def train(document: Any, output: Path, **options: Any) -> weft.Model:
        seen.update(options, document=document, output=output)
        return train_one_of_many(document, output, **options)

    monkeypatch.setattr("weft.training.estimator.train_one_of_many", train)
    config, task = {**QUICK, "encoder": {"train_layers": 0}, "training": {"batch_size": 4}}, {"max_length": 9}
    estimator = make(config=config, task=task, random_state=5)
    estimator.fit(TEXTS, ["fox", "dog"] * 8)
    assert (estimator.config, estimator.task) == (config, task)
    assert (seen["seed"], seen["device"]) == (5, "cpu")
    assert seen["document"]["encoder"] == {"from": small_encoder, "train_layers": 0}
    assert seen["document"]["training"] == {"baselines": False, "batch_size": 4}
    assert seen["document"]["phases"] == QUICK["phases"]
    assert estimator.model_.network.max_length("label") == 9
    assert not seen["output"].parent.exists()
    clone(estimator).set_params(random_state=None).fit(TEXTS, ["fox", "dog"] * 8)
    assert seen["seed"] is None


def test_the_seed_decides_what_is_learned(make: Make) -> None:
    y, learn = ["fox", "dog"] * 8, {"training": {"epochs": 1}, "phases": [{}]}

    def probabilities(state: Any) -> Any:
        return make(config=learn, random_state=state).fit(TEXTS, y).predict_proba(TEXTS)

    assert np.array_equal(probabilities(1), probabilities(1))
    assert not np.array_equal(probabilities(1), probabilities(2))
    drawn = np.random.RandomState(1)
    assert not np.array_equal(probabilities(drawn), probabilities(drawn))
    assert np.array_equal(probabilities(np.random.RandomState(1)), probabilities(np.random.RandomState(1)))


def test_it_is_silent_unless_asked(make: Make, capfd: pytest.CaptureFixture[str]) -> None:
    make().fit(TEXTS, ["fox", "dog"] * 8)
    assert capfd.readouterr() == ("", "")
    make(verbose=True).fit(TEXTS, ["fox", "dog"] * 8)
    assert capfd.readouterr().err


# Inside scikit-learn


def test_it_is_cross_validated_searched_and_part_of_a_pipeline(make: Make) -> None:
    y = np.array(["fox", "dog"] * 8)
    assert is_classifier(make())
    texts = np.array(TEXTS)
    halves = StratifiedKFold(2).split(texts, y)
    expected = [make().fit(texts[learn], y[learn]).score(texts[asked], y[asked]) for learn, asked in halves]
    assert cross_val_score(make(), TEXTS, y, cv=2).tolist() == expected
    shorter = FunctionTransformer(lambda texts: [text[:12] for text in texts])
    pipeline = make_pipeline(shorter, make())
    grid = {"estimator__task": [{"max_length": 20}, {"max_length": 30}]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(TEXTS, y)
    assert search.score(TEXTS, y) == 1
    assert len(search.cv_results_["mean_test_score"]) == 2


def test_an_unfitted_estimator_goes_to_other_processes(make: Make) -> None:
    y = ["fox", "dog"] * 8
    sent = pickle.loads(pickle.dumps(make(random_state=3)))
    assert sent.get_params() == make(random_state=3).get_params()
    assert sent.fit(TEXTS, y).score(TEXTS, y) == 1


def test_a_fitted_estimator_is_copied_and_its_clone_is_not_fitted(make: Make) -> None:
    estimator = make().fit(TEXTS, ["fox", "dog"] * 8)
    expected = estimator.predict_proba(TEXTS)
    for other in (copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
        assert np.array_equal(other.predict_proba(TEXTS), expected)
    with pytest.raises(NotFittedError):
        clone(estimator).predict(TEXTS)


def test_the_model_can_be_saved_and_says_the_same(make: Make, tmp_path: Path) -> None:
    estimator = make().fit(TEXTS, ["fox", "dog"] * 8)
    estimator.model_.save(tmp_path / "kept")
    answers = weft.load(tmp_path / "kept", device="cpu").predict(TEXTS, "label")
    assert [answer["label"] for answer in answers] == estimator.predict(TEXTS).tolist()


# What it refuses


@pytest.mark.parametrize(
    ("texts", "y", "message"),
    [
        ([SECRET, None], ["a", "b"], "X: row 1 is missing"),
        ([SECRET, 3], ["a", "b"], "X: row 1 is not a text but int"),
        (SECRET, ["a"], "X: received one text"),
        ([SECRET, (SECRET, SECRET)], ["a", "b"], "mixed"),
        (np.array([[SECRET] * 3]), ["a"], "array of 1 × 3"),
        ([], [], "X holds no texts"),
        ([SECRET] * 4, None, "requires y to be passed"),
        ([SECRET] * 4, ["a", "b", "a"], "inconsistent numbers of samples"),
        ([SECRET] * 4, ["a", None, "b", np.nan], "y contains NaN or None in row 1, 3"),
        ([SECRET] * 4, [["a"], ["a", "b"], [], ["b"]], "y holds several labels per row as lists"),
        ([SECRET] * 4, ["a"] * 4, "y has 1 class in 4 rows"),
        ([SECRET] * 4, [0.1, 0.2, 0.3, 0.4], "Unknown label type"),
    ],
)
def test_what_cannot_be_learned_from_is_a_value_error_that_shows_no_text(
    make: Make, texts: Any, y: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make().fit(texts, y)
    assert SECRET not in str(caught.value)


def test_faults_of_texts_are_both_errors_of_weft_and_value_errors(make: Make) -> None:
    with pytest.raises(InputError) as caught:
        make().fit([None], ["a"])
    assert isinstance(caught.value, DataError)
    with pytest.raises(InputError, match="X: row 0 is missing"):
        make().fit(TEXTS, ["fox", "dog"] * 8).predict([None])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "spans"}, "kind 'spans' is not one of those with an answer per row: classification, pair"),
        ({"kind": "similarly"}, "did you mean 'similarity'"),
        ({"kind": 3}, "kind 3 is not one of"),
        ({"kind": "pair_classification"}, "reads two texts per row, but received one"),
        ({"config": {"tasks": {}}}, "config has the key tasks, which the estimator sets itself"),
        ({"task": {"kind": "spans"}}, "task has the key kind"),
        ({"task": 3}, "task is a dict of options, but received 3"),
        ({"task": {"max_lenght": 5}}, "max_lenght: unknown key; did you mean 'max_length'"),
        ({"config": {"trainings": {}}}, "trainings: unknown key"),
    ],
)
def test_options_that_are_not_possible_are_refused_when_it_learns(
    make: Make, options: dict[str, Any], message: str
) -> None:
    estimator = make(**options)
    with pytest.raises((ConfigError, InputError), match=message):
        estimator.fit(TEXTS, ["fox", "dog"] * 8)


# The checks of scikit-learn, which know numbers alone


class OnNumbers(weft.Estimator):
    """Takes rows of numbers, which it validates as scikit-learn does and reads as words, so that its checks can run."""

    WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog")

    def fit(self, X: Any, y: Any) -> OnNumbers:  # noqa: N803
        return super().fit(self._words(X, reset=True), y)

    def predict(self, X: Any) -> Any:  # noqa: N803
        check_is_fitted(self)
        return super().predict(self._words(X))

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        check_is_fitted(self)
        return super().predict_proba(self._words(X))

    def _words(self, X: Any, reset: bool = False) -> list[str]:  # noqa: N803
        numbers = validate_data(self, X, reset=reset, dtype=float)
        steps = np.clip(numbers * 2 + 4, 0, len(self.WORDS) - 1).astype(int)
        return [" ".join(self.WORDS[step] for step in row) for row in steps]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array, tags.input_tags.string = False, True, False
        tags.classifier_tags.poor_score = True
        return tags


def checks() -> list[tuple[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [check for _, check in estimator_checks_generator(OnNumbers())]
    return [(f"{check.func.__name__} {number}", check) for number, check in enumerate(found)]


CHECKS = dict(checks())


@pytest.mark.parametrize("name", CHECKS)
def test_it_passes_the_check(small_encoder: str, name: str) -> None:
    # Three skip themselves: the one of decision functions, and those of packages that need not be installed.
    CHECKS[name](OnNumbers(small_encoder, config=QUICK, device="cpu"))
