"""Targets: what a task's rows are answered with, one kind of answer per file.

    label    one of L labels per row
    labels   any of L labels per row
    score    a number per row

A target is learned from the training rows, is frozen, and knows all about its answers: how gold becomes a tensor, how
a head's scores become a prediction, how good predictions are, and what a model must beat. It is stored in a model
folder as plain JSON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from weft.losses import Loss, LossFunction
from weft.losses import Target as Fit
from weft.records import Example, Gold, Prediction


@dataclass(frozen=True)
class Measures:
    """How good predictions are: scores by metric, their 95 % bootstrap intervals, and what a report shows beside."""

    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target(ABC):
    """The root of all targets."""

    fits: ClassVar[Fit]
    metrics: ClassVar[tuple[str, ...]]  # what `measure` gives; higher is better for all a user may choose by

    @abstractmethod
    def outputs(self, loss: Loss) -> int:
        """The scores a head gives per row."""

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

    @abstractmethod
    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        """How good the predictions are."""

    @abstractmethod
    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        """The commonest answer of the training rows (for scores: their mean), for every row."""

    @abstractmethod
    def tfidf(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        """The answers of a linear model on TF-IDF, which knows words but has no encoder."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `type(self)(**data)` builds an equal target."""
        return asdict(self)


def as_logits(scores: Tensor) -> Tensor:
    """One score per row as two, (B, 1) → (B, 2), so that softmax over them is the sigmoid of the one."""
    return torch.cat([torch.zeros_like(scores), scores], 1) if scores.shape[1] == 1 else scores


def pairs_of(rows: Sequence[Example]) -> list[tuple[str, str]]:
    """The two texts of each row."""
    return [(row.texts[0], row.texts[1]) for row in rows]
