"""Targets: what a task's rows are answered with, one kind of answer per file.

    label      one of L labels per row
    labels     any of L labels per row
    score      a number per row
    tags       a tag for every word, or the spans that such tags mark
    spans      spans of words, one in another if need be
    relations  what pairs of spans have to do with each other
    masked     tokens that were masked

Each file holds two classes. A `Target` comes from a task's options alone: it reads gold out of cells and says what may
be said of gold before anything is learned. Its `fit` sees the training rows and gives a `FittedTarget`, which knows how
gold becomes a tensor, how a head's scores become predictions, how good predictions are, and what a model must beat.
What was fitted is stored in a model folder as plain JSON; the options are stored with the task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from weft.data.dataset import Dataset
from weft.data.predictions import Prediction
from weft.data.records import Example, Gold, Input
from weft.data.redact import hidden_labels, nearest_name
from weft.errors import ConfigError
from weft.losses import Loss, LossFunction, TargetType
from weft.metrics.bootstrap import intervals_of
from weft.metrics.decisions import workload_table
from weft.metrics.outcomes import Outcomes
from weft.metrics.sections import ClassTable, Section
from weft.metrics.wrong_rows import Mistake
from weft.targets.base.disagreement import between_labels
from weft.tensors import Batch, Scores
from weft.tokenization.examples import TokenizedExample

ScoresLoss = Callable[[Scores, Batch], Tensor]
Ranking = Callable[[Prediction], float]  # how far to the front a row belongs


@dataclass(frozen=True)
class Measures:
    """How good predictions are: scores by metric, their 95 % bootstrap intervals, and what a report shows beside."""

    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target(ABC):
    """The root of all targets, as the options of a task describe them: no row has been seen.

    `labels` are those that the options name; none where they are to be learned, or where there are none.
    """

    target_type: ClassVar[TargetType]  # which losses suit it
    metrics: ClassVar[tuple[str, ...]]  # what a user may choose by; higher is better for all of them
    multilabel: ClassVar[bool] = False  # whether a row may have any number of labels
    labels_rows: ClassVar[bool] = False  # whether labels are said of whole rows, and not of words, spans or pairs
    marks_text: ClassVar[bool] = False  # whether its answers are words or spans of the text

    labels: tuple[str, ...] = ()
    default_metric: str = ""

    @property
    @abstractmethod
    def fitted(self) -> type[FittedTarget]:
        """What `fit` makes of it."""

    @property
    @abstractmethod
    def default_loss(self) -> Loss:
        """The loss where a config names none."""

    @abstractmethod
    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        """The gold answer in a cell, None where it is blank; raises ValueError with what is wrong.

        What the cell means may depend on the rest of the row (`input`), and on which of the task's columns it is in. Of
        an input without texts, which could not be read, a target that needs it says None.
        """

    @abstractmethod
    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        """A cell, as plain JSON data, from which `read` gives this gold."""

    def tags(self, gold: Gold, input: Input) -> list[str]:
        """A tag for each of the input's words, for targets that mark text; a ValueError where tags cannot say it."""
        raise NotImplementedError

    @property
    def weighs_costs(self) -> bool:
        """Whether its answers are those of least expected cost, which needs probabilities that can be trusted."""
        return False

    def repair(self, cell: Any, input: Input, column: str) -> tuple[Any, Counter[str]]:
        """The cell with all mended that the options ask to mend, and what is to be said of how it is read."""
        return cell, Counter()

    def are_named(self, cell: Any, column: str) -> Collection[bool]:
        """Whether what a cell marks has labels of its own, as far as labels may be left out; both where some has."""
        return ()

    def answer(self, cell: Any, input: Input, column: str, line: int) -> Example | None:
        """An input with the gold answer of its cell, None where that is blank; raises ValueError with what is wrong."""
        cell, repairs = self.repair(cell, input, column)
        gold = self.read(cell, input, column)
        if gold is None:
            return None
        return Example(input.texts, gold, line, tuple(repairs.elements()), words=input.words, spans=input.spans)

    def stratum(self, gold: Gold) -> Hashable:
        """What a split of the rows should keep in proportion."""
        return gold

    def key(self, gold: Gold) -> Hashable:
        """Equal for gold answers that say the same."""
        return gold

    def same(self, golds: Iterable[Gold]) -> bool:
        """Whether all of some gold answers say the same."""
        return len({self.key(gold) for gold in golds}) < 2

    def summarise(self, golds: Sequence[Gold]) -> dict[str, str]:
        """What can be said of gold answers in a few words each, for kinds whose labels are not to be counted."""
        return {}

    def labels_in(self, gold: Gold) -> Iterable[str]:
        """The labels that a gold answer holds, as often as it does."""
        return ()

    def find_problems(
        self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]
    ) -> Iterator[tuple[str, int]]:
        """What is odd about rows whose gold can be read: a message, and the line of the row."""
        return iter(())

    def find_misnamed(self, counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        """Options that name a label which is none: the option, and what is wrong with it.

        `counts` are the labels that there are, and how many training rows have each.
        """
        return iter(())

    def gold_of(self, label: str) -> Gold:
        """The answer that says this label and nothing else, for targets that say labels of whole rows."""
        raise NotImplementedError

    @abstractmethod
    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        """A gold answer for each input, as varied as the kind allows; inputs know their words (`Input.words`)."""

    @abstractmethod
    def fit(self, golds: Iterable[Gold]) -> FittedTarget:
        """The target with what the golds of the training rows say."""

    def load(self, data: Mapping[str, Any]) -> FittedTarget:
        """The fitted target from what `to_dict` gave."""
        return self.fitted(self, **data)


@dataclass(frozen=True)
class FittedTarget(ABC):
    """The root of all fitted targets: the options, and what the training rows say."""

    calibratable: ClassVar[bool] = True  # whether rows not trained on can tell more about how to read its scores
    has_baseline: ClassVar[bool] = True  # whether there is a method without an encoder
    baseline_name: ClassVar[str] = "tfidf"

    target: Target
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))  # a list, when read from JSON

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.target.metrics

    @property
    def metrics_with_intervals(self) -> tuple[str, ...]:
        return self.metrics

    @property
    def weighs_uncalibrated(self) -> bool:
        """Whether it decides by costs, although no rows have shown how to read its scores."""
        return False

    @property
    def row_labels(self) -> tuple[str, ...]:
        """The labels where they are said of whole rows; none where they are said of words, spans or pairs."""
        return self.labels if self.target.labels_rows else ()

    @property
    def shown_labels(self) -> list[str]:
        """The labels of whole rows that a message may show: those that could not be texts."""
        hidden = hidden_labels(dict(zip(self.labels, self.label_counts, strict=False)), self.target.labels)
        return [label for label in self.row_labels if label not in hidden]

    @property
    def label_counts(self) -> tuple[int, ...]:
        """How often each label occurred in training."""
        return ()

    @abstractmethod
    def outputs(self, loss: Loss) -> int:
        """The scores a head gives per answer."""

    @abstractmethod
    def gold_tensors(self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]) -> list[Tensor]:
        """The gold answers of each example, as the loss takes them: one row for each of its answers."""

    @abstractmethod
    def build_loss(self, loss: Loss) -> ScoresLoss:
        """The loss over a head's scores and the gold of a batch."""

    def disagreement(self, first: Scores, second: Scores, batch: Batch) -> Tensor:
        """How far two scores of one batch say different things, a scalar that counts as its loss does; by default, of
        one label or none per answer."""
        return between_labels(first.values, second.values)

    def answer_loss(self, loss: Loss) -> LossFunction | None:
        """The loss over scores and gold tensors where each answer counts by itself; None where it does not.

        A head can be fitted at once by it; what labels weigh may then be another than in steps.
        """
        return None

    def build_transitions(self) -> nn.Module | None:
        """The module that gives `Scores.transitions`, for kinds that learn which tag follows which."""
        return None

    def perfect_scores(self, gold: Tensor, loss: Loss) -> Tensor:
        """A head's scores that say nothing but the gold of `gold_tensors`: what `decode` must give back."""
        return torch.nn.functional.one_hot(gold, self.outputs(loss)) * 20.0

    def compact(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> Scores:
        """The scores without what predictions do not need, where all of them would fill the memory."""
        return scores

    @abstractmethod
    def decode(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        """A prediction per example from a head's scores."""

    def calibrate(
        self, scores: Scores, examples: Sequence[Example], tokenized: Sequence[TokenizedExample], metric: str
    ) -> Self:
        """The same target with temperature and thresholds fitted on scores of rows not trained on."""
        return self

    @abstractmethod
    def outcomes(self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]) -> Outcomes:
        """What was answered on each row, in numbers, and where these rows stand in their file."""

    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        """How good the predictions are."""
        outcomes = self.outcomes(golds, predictions, range(len(golds)))
        scores = {metric: float(value) for metric, (value,) in outcomes.measure_all(outcomes.metrics).items()}
        ends = intervals_of(outcomes, self.metrics_with_intervals) if intervals else {}
        return Measures(scores, ends, self.details(golds, predictions, outcomes))

    def details(self, golds: Sequence[Gold], predictions: Sequence[Prediction], outcomes: Outcomes) -> dict[str, Any]:
        """What `report_sections` needs beside the scores."""
        return {"labels": list(self.labels), "per_class": outcomes.class_table()} if self.labels else {}

    @abstractmethod
    def majority(self, train: Dataset, rows: Sequence[Example]) -> list[Prediction]:
        """The commonest answer of the training rows (for scores: their mean), for every row."""

    @abstractmethod
    def baseline(self, train: Dataset, rows: Sequence[Example]) -> list[Prediction]:
        """The answers of a method without an encoder: a linear model on TF-IDF, or for words a memory of them."""

    def label_loss(self, scores: Tensor) -> Tensor:
        """The sum over labels of the loss of calling label i label i, from a head's scores of each label, (L, O).

        Asked only of targets with `row_labels`; nothing where a kind does not say.
        """
        return scores.new_zeros(())

    def explain(
        self, scores: Scores, prediction: Prediction, tokenized_example: TokenizedExample
    ) -> tuple[tuple[str, ...], Tensor]:
        """The labels of the prediction of one example and the score that stands for them, a scalar with its gradient.

        No labels where the prediction is a number. Raises ConfigError where it is not known which score that is.
        """
        raise ConfigError("the answers of this task cannot be inspected; labels, scores, tags and spans can")

    def without_thresholds(self) -> Self:
        """The same target with its temperature, deciding by the usual thresholds and not by those that were fitted.

        Rows that thresholds were fitted to can be measured with this one.
        """
        return self

    def find_mistake(self, gold: Gold, prediction: Prediction) -> Mistake | None:
        """What is wrong with a prediction; None where it is right, or where answers are not just right or wrong."""
        return None

    def support(self, prediction: Prediction, other: Prediction, kept: Sequence[int]) -> float | None:
        """How far another prediction says what this one says: the probability of it, or for numbers the number.

        `other` is about a shortened text; `kept` says for each of its characters where it stood before. None where the
        kind does not say.
        """
        return None

    def report_sections(self, measures: Measures) -> list[Section]:
        """What a report shows of its measures beside the scores, in order."""
        return [ClassTable(measures.details["per_class"])] if self.labels else []

    def ranking(self, label: str | None = None) -> Ranking:
        """How far to the front a row belongs by its prediction: by the probability of a label, where one is named.

        Without a label it is what the kind says. Raises ConfigError with what is allowed instead.
        """
        if label is not None and label in self.row_labels:
            return lambda prediction: prediction.label_scores().get(label, 0.0)
        if not self.row_labels:
            raise ConfigError("its answers are neither numbers nor labels of whole rows")
        if label is None:
            raise ConfigError("it has more than one label to rank by, and no costs; name a label")
        names = self.shown_labels
        known = f"; its labels are: {', '.join(names)}{nearest_name(label, names)}" if names else ""
        raise ConfigError(f"it has no label {label!r}{known}")

    def decision_sections(
        self, golds: Sequence[Gold], predictions: Sequence[Prediction], find: str | None = None
    ) -> list[Section]:
        """What a report shows of decisions: the recall of the label `find` by workload, where rows have such."""
        if find is None or find not in self.row_labels:
            return []
        return [self.workload(find, self.ranking(find), f"probability of {find}", golds, predictions)]

    def workload(
        self, label: str, rank: Ranking, ranked_by: str, golds: Sequence[Gold], predictions: Sequence[Prediction]
    ) -> Section:
        """How much of a label is seen by whoever reads the rows that rank highest; `ranked_by` says how, in words."""
        ranks = [rank(prediction) for prediction in predictions]
        return workload_table(label, ranks, [label in self.target.labels_in(gold) for gold in golds], ranked_by)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `Target.load` builds an equal target."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.init and part.name != "target"}


def refuse_merged_labels(loss: Loss, labels: int) -> None:
    """Raise for a loss that gives two labels one score, where each must have its own."""
    if loss.outputs(labels, "label") != labels:
        raise ConfigError(f"{loss.to_dict()['kind']!r} does not give each label a score of its own; use cross_entropy")


def as_logits(scores: Tensor) -> Tensor:
    """One score per row as two, (B, 1) → (B, 2), so that softmax over them is the sigmoid of the one."""
    return torch.cat([torch.zeros_like(scores), scores], 1) if scores.shape[1] == 1 else scores


def confidences(predictions: Sequence[Prediction]) -> npt.NDArray[np.float64]:
    """How sure each prediction is, (B,); nan where it does not say."""
    return np.array([prediction.confidence for prediction in predictions], dtype=np.float64)


def text_pairs(rows: Sequence[Example]) -> list[tuple[str, str]]:
    """The two texts of each row."""
    return [(row.texts[0], row.texts[1]) for row in rows]
