"""What a model answered on each row, in numbers, from which every metric follows on any resample of the rows.

    label    the ids of the true and of the given label
    costed   the same, and what each answer cost
    counts   right, given and true answers by label: sets of labels, tags, spans, relations
    numbers  the true and the given number
    tokens   masked tokens: how many, how many right, and their log likelihood
    means    any numbers whose means are the metrics
    file     all tasks' outcomes as one file

No outcome holds a text: rows are known by their lines, and labels that could be texts get other names (`with_labels`).
R is the number of rows, B that of resamples, L that of labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.metrics.classification import Floats as Floats
from weft.metrics.classification import Ints as Ints

Array = npt.NDArray[Any]
Weights = npt.NDArray[np.float64]  # (B, R): how often each row counts in each resample


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes(ABC):
    """The root of all outcomes; `kind` names it in a file."""

    kind: ClassVar[str]
    lower_is_better: ClassVar[frozenset[str]] = frozenset()  # of its metrics

    lines: Ints  # (R,) where each row stands in its file
    scores: Floats  # (R,) the score of the answer, nan where there is none
    labels: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)

    @property
    @abstractmethod
    def metrics(self) -> tuple[str, ...]:
        """What can be measured."""

    @property
    def right(self) -> Floats:
        """1 where the answer is right, 0 where it is wrong, nan where answers are not just right or wrong, (R,)."""
        return unknown(len(self))

    def measure(self, metric: str, weights: Weights | None = None) -> Floats:
        """The metric on each resample, (B,); on every row once where no weights are given, (1,)."""
        return self.measure_all((metric,), weights)[metric]

    def measure_all(self, metrics: Sequence[str], weights: Weights | None = None) -> dict[str, Floats]:
        """Several metrics as `measure` gives them, at little more than the cost of one."""
        if lacking := [metric for metric in metrics if metric not in self.metrics]:
            raise ValueError(f"{', '.join(lacking)} cannot be measured here; there are: {', '.join(self.metrics)}")
        return self._measure(metrics, self._checked(weights))

    @abstractmethod
    def _measure(self, metrics: Sequence[str], weights: Weights) -> dict[str, Floats]:
        """As `measure_all`, of metrics that are known to be there."""

    def per_class(self, weights: Weights | None = None) -> dict[str, Floats]:
        """The F1 of each label on each resample, (B,); nothing where there are no labels."""
        return {}

    def class_table(self) -> dict[str, dict[str, float]]:
        """Label -> precision, recall, f1 and support (true answers); nothing where there are no labels."""
        return {}

    def _checked(self, weights: Weights | None) -> Weights:
        if weights is None:
            return np.ones((1, len(self)))
        if weights.ndim != 2 or weights.shape[1] != len(self):
            raise ValueError(f"weights of shape {weights.shape} do not fit {len(self)} rows; (B, {len(self)}) do")
        return weights

    def take(self, rows: Ints) -> Self:
        """The outcomes of these rows, in this order."""
        return self._with({name: array[rows] for name, array in self.arrays().items()})

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """All rows of several folds, by their lines; a label is the same where its name is."""
        labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
        aligned = [part.relabelled(labels) for part in parts]
        arrays = [part.arrays() for part in aligned]
        whole = {name: np.concatenate([some[name] for some in arrays]) for name in arrays[0]}
        return aligned[0]._with(whole).take(np.argsort(whole["lines"], kind="stable"))

    def relabelled(self, labels: tuple[str, ...]) -> Self:
        """The same outcomes, counted by these labels, among which are all of its own."""
        return replace(self, labels=labels)

    def with_labels(self, names: Mapping[str, str]) -> Self:
        """The same outcomes, with other names for some labels."""
        return replace(self, labels=tuple(names.get(label, label) for label in self.labels))

    def arrays(self) -> dict[str, Array]:
        """Everything but the labels, each (R,) or (R, ·)."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.name != "labels"}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], labels: Sequence[str] = ()) -> Self:
        """The outcomes that `arrays` was taken of."""
        return cls(labels=tuple(labels), **arrays)

    def _with(self, arrays: Mapping[str, Array]) -> Self:
        return self.from_arrays(arrays, self.labels)

    @classmethod
    def kinds(cls) -> Iterator[type[Outcomes]]:
        """Every class that has been derived, at any depth, and can be stored."""
        for derived in cls.__subclasses__():
            if "kind" in vars(derived):
                yield derived
            yield from derived.kinds()


def unknown(rows: int) -> Floats:
    """A nan for every row, (R,)."""
    return np.full(rows, np.nan)


def weighted_mean(values: Floats, weights: Weights) -> Floats:
    """The mean over rows on each resample, (R,) → (B,); rows that are not finite count only where they are drawn."""
    finite = np.isfinite(values)
    total = weights @ np.where(finite, values, 0.0)
    if not finite.all():
        drawn = weights[:, ~finite]
        with np.errstate(invalid="ignore"):
            total = total + np.where(drawn > 0, drawn * values[~finite], 0.0).sum(1)
    return divide(total, weights.sum(1))


def divide(part: Floats, whole: Floats) -> Floats:
    """`part / whole`, and 0 where `whole` is 0, without a warning."""
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole != 0)
