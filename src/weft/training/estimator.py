"""Estimator: one task with the interface of scikit-learn, for its pipelines, searches and cross-validations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from weft.data.texts import list_texts
from weft.errors import ConfigError, DataError, InputError
from weft.model.devices import Device
from weft.model.model import Model
from weft.spec import describe, nearest, parse
from weft.tasks import Task
from weft.tokenization.tokenizer import check_texts
from weft.training.label_arrays import ClassArray, LabelArray, read_answers
from weft.training.progress import Callback, ProgressCallback
from weft.training.run import train_one_of_many

TextsOrPairs = list[str] | list[tuple[str, str]]


def _gives_classes(estimator: Estimator) -> bool:
    return not estimator._gives_numbers()


class Estimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """One task that learns from texts and answers: `fit(texts, y)`, `predict(texts)`, `predict_proba(texts)`.

    Texts are any iterable of them, such as a Series or an array; pairs are 2-tuples or an array or frame of two
    columns. `y` is a class per row, a matrix of zeros and ones with a column per label, or for a kind that answers with
    a number, as `similarity`, a number per row. Training is that of `weft.train`, in a folder that is removed
    afterwards. `model_` is the trained model, which can be saved: `estimator.model_.save(folder)`.
    """

    def __init__(
        self,
        encoder: str = "minilm",
        *,
        kind: str | None = None,
        task: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        random_state: Any = None,
        device: Device = "auto",
        verbose: bool = False,
    ) -> None:
        """Keep the options, which `fit` looks at.

        Args:
            encoder: `minilm`, a folder, or a Hub id.
            kind: the kind of task; if unset `classification`, or `pair_classification` where pairs are given.
            task: further options of the task, as `[tasks.NAME]` of a config has them: `max_length`, `loss`, `costs` …
            config: further tables of the config: `training`, `preset`, `phases`, `conditioning` …
            random_state: the seed, or what to draw it from; the config's where unset, so that a fit can be repeated.
            device: where to compute; `auto` is a GPU where there is one.
            verbose: show a live bar on standard error.
        """
        self.encoder = encoder
        self.kind = kind
        self.task = task
        self.config = config
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from texts, or pairs, and their answers."""
        texts = _read_texts(X)
        if not texts:
            raise InputError("X holds no texts; at least one of each class is needed")
        if y is None:
            raise InputError("fit requires y to be passed, but the target y is None; give an answer per text")
        arrays, answers = read_answers(y, self._gives_numbers())
        check_consistent_length(texts, answers)
        self.model_ = self._train(texts, arrays, answers)
        self._arrays = arrays
        if isinstance(arrays, ClassArray):
            self.classes_ = arrays.classes
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The answers, as the `y` that was learned from has them."""
        answers = self._answer(X)
        return self._arrays.values(answers)

    @available_if(_gives_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, (rows, classes), in the order of `classes_`."""
        answers, arrays = self._answer(X), self._arrays
        assert isinstance(arrays, ClassArray)
        return arrays.probabilities(answers)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The share of right answers, of rows with all labels right where there are several; of numbers, R²."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = r2_score if self._gives_numbers() else accuracy_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array, tags.input_tags.string = True, False, True
        tags.classifier_tags.multi_label = True
        if self._gives_numbers():
            tags.estimator_type, tags.classifier_tags, tags.regressor_tags = "regressor", None, RegressorTags()
        return tags

    def _gives_numbers(self) -> bool:
        """Whether its kind of task answers with a number; asked before `fit` looks at whether there is such a kind."""
        kind = _suited_kinds().get(self.kind) if isinstance(self.kind, str) else None
        return kind is not None and not kind().target().labels_rows

    def _answer(self, X: Any) -> list[Any]:  # noqa: N803
        """What the model says about each text, with all scores."""
        check_is_fitted(self, "model_")
        (name,) = self.model_.tasks
        return self.model_.predict(_read_texts(X), name, scores=True)

    def _train(self, texts: TextsOrPairs, arrays: LabelArray, answers: NDArray[Any]) -> Model:
        document = self._document(texts, arrays, answers)
        seen = ProgressCallback() if self.verbose else Callback()
        with TemporaryDirectory(prefix="weft-") as folder:
            return train_one_of_many(
                document, Path(folder) / "run", seed=self._seed(), device=self.device, callback=seen, resumable=False
            )

    def _document(self, texts: TextsOrPairs, arrays: LabelArray, answers: NDArray[Any]) -> dict[str, Any]:
        """The config of the training run, with the rows in it."""
        config = self._tables("config", "tasks")
        options = {"kind": self._kind(texts), **arrays.options, **self._tables("task", "kind", "train")}
        task = parse(Task, options)
        columns, gold = task.text_columns(), task.gold_column()
        rows = [
            {**dict(zip(columns, text if isinstance(text, tuple) else (text,), strict=False)), gold: cell}
            for text, cell in zip(texts, arrays.cells(answers), strict=True)
        ]
        return {
            **config,
            "encoder": {"from": self.encoder, **config.get("encoder", {})},
            "training": {"baselines": False, **config.get("training", {})},  # whose report nobody would see
            "tasks": {gold: {**options, "train": rows}},
        }

    def _kind(self, texts: TextsOrPairs) -> str:
        pairs, kinds = isinstance(texts[0], tuple), _suited_kinds()
        kind = self.kind or ("pair_classification" if pairs else "classification")
        if not isinstance(kind, str) or kind not in kinds:
            raise ConfigError(
                f"kind {describe(kind)} is not one of those with an answer per row: {', '.join(kinds)}"
                f"{nearest(kind, kinds)}"
            )
        if kinds[kind].text_count != 1 + pairs:
            needs, given = ("two texts", "one") if not pairs else ("one text", "two")
            raise InputError(f"the kind {kind!r} reads {needs} per row, but received {given}")
        return kind

    def _tables(self, name: str, *own: str) -> dict[str, Any]:
        """An option that is a table, without the keys that are the estimator's own affair."""
        table = getattr(self, name) or {}
        if not isinstance(table, Mapping):
            raise ConfigError(f"{name} is a dict of options, but received {describe(table)}")
        if given := [key for key in own if key in table]:
            raise ConfigError(f"{name} has the key {', '.join(given)}, which the estimator sets itself; leave it out")
        return dict(table)

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, int | np.integer):
            return None if self.random_state is None else int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))


def _suited_kinds() -> dict[str, type[Task]]:
    """The kinds of task that have one answer per row, which is a class, some classes or a number."""
    built = {name: (kind, kind()) for name, kind in Task.kinds().items()}
    return {
        name: kind
        for name, (kind, task) in built.items()
        if task.format is None and (task.target().labels_rows or task.target().target_type == "score")
    }


def _read_texts(X: Any) -> TextsOrPairs:  # noqa: N803
    """Texts, or pairs, from whatever scikit-learn hands on; raises InputError."""
    try:
        found = list_texts(X.to_numpy() if hasattr(X, "columns") and hasattr(X, "to_numpy") else X)
        texts = [tuple(text) if isinstance(text, list) and len(text) == 2 else text for text in found]
        check_texts(texts)
    except DataError as error:
        raise InputError(f"X: {error}") from None
    if len({isinstance(text, tuple) for text in texts}) > 1:
        raise InputError("X: received texts and pairs mixed")
    return texts
