"""Outcomes whose metrics follow from how many answers of each label are right, were given and are true."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from weft.metrics.classification import class_table
from weft.metrics.outcomes import Floats, Ints, Outcomes, Weights, divide, weighted_mean


@dataclass(frozen=True)
class Totals:
    """Of every resample, how many answers of each label are right, were given and are true, (B, L) each."""

    hits: Floats
    predicted: Floats
    gold: Floats
    exact: Floats  # (B,) the share of rows with nothing wrong

    @property
    def f1(self) -> Floats:
        """(B, L)."""
        return divide(2 * self.hits, self.predicted + self.gold)

    def macro(self, by_label: Floats) -> Floats:
        """The mean over the labels that occur in gold or among what was given; 0 where none does, (B, L) → (B,)."""
        used = (self.predicted + self.gold) > 0
        return divide(np.where(used, by_label, 0.0).sum(1), used.sum(1).astype(np.float64))


Formula = Callable[[Totals], Floats]


def f1_micro(totals: Totals) -> Floats:
    return divide(2 * totals.hits.sum(1), totals.predicted.sum(1) + totals.gold.sum(1))


def precision_micro(totals: Totals) -> Floats:
    return divide(totals.hits.sum(1), totals.predicted.sum(1))


def recall_micro(totals: Totals) -> Floats:
    return divide(totals.hits.sum(1), totals.gold.sum(1))


def f1_macro(totals: Totals) -> Floats:
    return totals.macro(totals.f1)


def precision_macro(totals: Totals) -> Floats:
    return totals.macro(divide(totals.hits, totals.predicted))


def recall_macro(totals: Totals) -> Floats:
    return totals.macro(divide(totals.hits, totals.gold))


def exact_match(totals: Totals) -> Floats:
    return totals.exact


def matthews_correlation(totals: Totals) -> Floats:
    """Of one label per row; 0 where all gold or all given labels are the same."""
    rows = totals.gold.sum(1)
    covariance = totals.hits.sum(1) * rows - (totals.predicted * totals.gold).sum(1)
    spread = [rows**2 - (part**2).sum(1) for part in (totals.predicted, totals.gold)]
    # Not exactly zero where weights are no whole numbers.
    spread = [np.where(part > 1e-9 * rows**2, part, 0.0) for part in spread]
    return divide(covariance, np.sqrt(spread[0]) * np.sqrt(spread[1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedOutcomes(Outcomes):
    """The root of outcomes with `totals`; `formulas` are the metrics."""

    formulas: ClassVar[Mapping[str, Formula]]

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.formulas)

    @abstractmethod
    def totals(self, weights: Weights) -> Totals:
        """The sums over rows."""

    def _measure(self, metrics: Sequence[str], weights: Weights) -> dict[str, Floats]:
        totals = self.totals(weights)
        return {metric: self.formulas[metric](totals) for metric in metrics}

    def per_class(self, weights: Weights | None = None) -> dict[str, Floats]:
        f1 = self.totals(self._checked(weights)).f1
        return {label: f1[:, index] for index, label in enumerate(self.labels)}

    def class_table(self) -> dict[str, dict[str, float]]:
        totals = self.totals(np.ones((1, len(self))))
        parts = (totals.hits, totals.predicted, totals.gold)
        return class_table(self.labels, *(part[0].astype(np.int64) for part in parts))


@dataclass(frozen=True, kw_only=True, eq=False)
class AnswerCounts(CountedOutcomes):
    """Any number of answers per row, counted by label."""

    hits: Ints  # (R, L)
    predicted: Ints  # (R, L)
    gold: Ints  # (R, L)

    @property
    def right(self) -> Floats:
        return np.asarray(((self.hits == self.predicted) & (self.hits == self.gold)).all(1), dtype=np.float64)

    def totals(self, weights: Weights) -> Totals:
        hits, predicted, gold = (weights @ part for part in (self.hits, self.predicted, self.gold))
        return Totals(hits, predicted, gold, weighted_mean(self.right, weights))

    def relabelled(self, labels: tuple[str, ...]) -> Self:
        columns = [labels.index(label) for label in self.labels]

        def spread(counts: Ints) -> Ints:
            wide = np.zeros((len(counts), len(labels)), dtype=np.int64)
            wide[:, columns] = counts
            return wide

        return replace(
            self, labels=labels, hits=spread(self.hits), predicted=spread(self.predicted), gold=spread(self.gold)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelSetOutcomes(AnswerCounts):
    """Any of the labels per row: a label is in a set once, or not."""

    kind: ClassVar[str] = "label_sets"
    formulas: ClassVar[Mapping[str, Formula]] = {
        "f1_micro": f1_micro,
        "f1_macro": f1_macro,
        "precision_micro": precision_micro,
        "recall_micro": recall_micro,
        "exact_match": exact_match,
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class AnnotationOutcomes(AnswerCounts):
    """Spans or relations; one is right where all of it is."""

    kind: ClassVar[str] = "annotations"
    formulas: ClassVar[Mapping[str, Formula]] = {
        "f1": f1_micro,
        "precision": precision_micro,
        "recall": recall_micro,
        "f1_macro": f1_macro,
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class TagOutcomes(AnswerCounts):
    """A tag for every word; the label "" is that of words that were given none."""

    kind: ClassVar[str] = "tags"
    formulas: ClassVar[Mapping[str, Formula]] = {"accuracy": recall_micro, "f1_macro": f1_macro}

    def per_class(self, weights: Weights | None = None) -> dict[str, Floats]:
        return {label: f1 for label, f1 in super().per_class(weights).items() if label}

    def class_table(self) -> dict[str, dict[str, float]]:
        return {label: row for label, row in super().class_table().items() if label}
