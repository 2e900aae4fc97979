"""Targets: what a task's rows are answered with, one kind of answer per file.

    label      one of L labels per row
    labels     any of L labels per row
    score      a number per row
    tags       a tag for every word, or the spans that such tags mark
    spans      spans of words, one in another if need be
    relations  what pairs of spans have to do with each other
    masked     tokens that were masked

A target is learned from the training rows, is frozen, and knows all about its answers: how gold becomes a tensor, how
a head's scores become a prediction, how good predictions are, and what a model must beat. It is stored in a model
folder as plain JSON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from weft.data.dataset import Dataset
from weft.data.records import Example, Gold, Prediction
from weft.errors import ConfigError
from weft.losses import Loss, LossFunction, TargetType
from weft.tensors import Batch, Scores
from weft.tokenization.examples import TokenizedExample

ScoresLoss = Callable[[Scores, Batch], Tensor]


@dataclass(frozen=True)
class Measures:
    """How good predictions are: scores by metric, their 95 % bootstrap intervals, and what a report shows beside."""

    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target(ABC):
    """The root of all targets."""

    target_type: ClassVar[TargetType]
    without_encoder: ClassVar[str] = "tfidf"  # what `simple` is called
    metrics: ClassVar[tuple[str, ...]]  # what `measure` gives; higher is better for all a user may choose by

    @abstractmethod
    def outputs(self, loss: Loss) -> int:
        """The scores a head gives per answer."""

    @abstractmethod
    def golds(self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]) -> list[Tensor]:
        """The gold answers of each example, as the loss takes them: one row for each of its answers."""

    @abstractmethod
    def loss_of(self, loss: Loss) -> ScoresLoss:
        """The loss over a head's scores and the gold of a batch."""

    def compact(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> Scores:
        """The scores without what predictions do not need, where all of them would fill the memory."""
        return scores

    @abstractmethod
    def predictions(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        """A prediction per example from a head's scores."""

    @abstractmethod
    def fitted(
        self, scores: Scores, examples: Sequence[Example], tokenized: Sequence[TokenizedExample], metric: str
    ) -> Target:
        """The same target with temperature and thresholds fitted on scores of rows not trained on."""

    @abstractmethod
    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        """How good the predictions are."""

    @abstractmethod
    def majority(self, train: Dataset, rows: Sequence[Example]) -> list[Prediction]:
        """The commonest answer of the training rows (for scores: their mean), for every row."""

    @abstractmethod
    def simple(self, train: Dataset, rows: Sequence[Example]) -> list[Prediction]:
        """The answers of a method without an encoder: a linear model on TF-IDF, or for words a memory of them."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `type(self)(**data)` builds an equal target."""
        return asdict(self)


@dataclass(frozen=True)
class RowTarget(Target):
    """A target with one answer per example, B in all, so that scores and gold are plain tensors."""

    @abstractmethod
    def tensor(self, golds: Sequence[Gold]) -> Tensor:
        """Gold answers as a loss takes them, (B,) or (B, L)."""

    @abstractmethod
    def build_loss(self, loss: Loss) -> LossFunction:
        """The loss over a head's scores, (B, O), and `tensor`."""

    @abstractmethod
    def decode(self, scores: Tensor) -> list[Prediction]:
        """A prediction per row from a head's scores, (B, O)."""

    @abstractmethod
    def calibrated(self, scores: Tensor, golds: Sequence[Gold], metric: str) -> Target:
        """The same target with temperature and thresholds fitted on scores (B, O) of rows not trained on."""

    def golds(self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]) -> list[Tensor]:
        return list(self.tensor([one.gold for one in examples]).split(1))

    def loss_of(self, loss: Loss) -> ScoresLoss:
        compute = self.build_loss(loss)

        def over_scores(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            return compute(scores.values, batch.gold)

        return over_scores

    def predictions(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        return self.decode(scores.values)

    def fitted(
        self, scores: Scores, examples: Sequence[Example], tokenized: Sequence[TokenizedExample], metric: str
    ) -> Target:
        return self.calibrated(scores.values, [one.gold for one in examples], metric)


def refuse_merged_labels(loss: Loss, labels: int) -> None:
    """Raise for a loss that gives two labels one score, where each must have its own."""
    if loss.outputs(labels, "label") != labels:
        raise ConfigError(f"{loss.to_dict()['kind']!r} does not give each label a score of its own; use cross_entropy")


def as_logits(scores: Tensor) -> Tensor:
    """One score per row as two, (B, 1) → (B, 2), so that softmax over them is the sigmoid of the one."""
    return torch.cat([torch.zeros_like(scores), scores], 1) if scores.shape[1] == 1 else scores


def pairs_of(rows: Sequence[Example]) -> list[tuple[str, str]]:
    """The two texts of each row."""
    return [(row.texts[0], row.texts[1]) for row in rows]
