"""Answers as scikit-learn's arrays have them, and as the cells of a task do.

OneClass   a class per row, of any type that sorts; its name is the label
Indicator  a row of zeros and ones, a column per class; those with a one are the labels
Numbers    a number per row
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.data.tables import is_missing
from weft.errors import InputError

Answers = Sequence[Mapping[str, Any]]  # what `Model.predict` gives, with scores


class LabelArray(ABC):
    """The root: how arrays become cells, and answers arrays."""

    options: Mapping[str, Any] = {}  # of the task that gives such answers

    @abstractmethod
    def cells(self, y: NDArray[Any]) -> list[Any]:
        """What a task reads, row by row."""

    @abstractmethod
    def values(self, answers: Answers) -> NDArray[Any]:
        """The answers as `y` has them."""


@dataclass(frozen=True)
class ClassArray(LabelArray):
    """Arrays of classes, and what each is called: its label."""

    classes: NDArray[Any]
    names: tuple[str, ...]

    def probabilities(self, answers: Answers) -> NDArray[np.float64]:
        """The probability of each class, (rows, classes); 0 for a class that no row was given."""
        return np.array([[answer["scores"].get(name, 0.0) for name in self.names] for answer in answers]).reshape(
            len(answers), len(self.names)
        )


class OneClass(ClassArray):
    """A class per row."""

    def cells(self, y: NDArray[Any]) -> list[Any]:
        return [self.names[number] for number in np.searchsorted(self.classes, y)]

    def values(self, answers: Answers) -> NDArray[Any]:
        number = {name: number for number, name in enumerate(self.names)}
        return self.classes[[number[answer["label"]] for answer in answers]]


class Indicator(ClassArray):
    """A column of zeros and ones per class."""

    options: Mapping[str, Any] = {"multilabel": True}

    def cells(self, y: NDArray[Any]) -> list[Any]:
        return [[self.names[number] for number in np.flatnonzero(row)] for row in y]

    def values(self, answers: Answers) -> NDArray[Any]:
        given = [[name in answer["labels"] for name in self.names] for answer in answers]
        return np.array(given, int).reshape(len(answers), len(self.names))


class Numbers(LabelArray):
    """A number per row."""

    def cells(self, y: NDArray[Any]) -> list[Any]:
        cells: list[float] = y.astype(float).tolist()
        return cells

    def values(self, answers: Answers) -> NDArray[Any]:
        return np.array([answer["score"] for answer in answers], float)


def read_answers(y: Any, numbers: bool) -> tuple[LabelArray, NDArray[Any]]:
    """Which kind of array `y` is, and `y` as that; `numbers` where a number is asked for.

    Raises ValueError, as scikit-learn does, for what is none of the three.
    """
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import assert_all_finite, column_or_1d

    columns = getattr(y, "columns", None)  # of a frame, which name the classes of an indicator
    dense = _dense(y)
    _check_complete(dense)
    assert_all_finite(dense, input_name="y")
    if numbers:
        return Numbers(), column_or_1d(dense, warn=True)
    check_classification_targets(dense)
    if type_of_target(dense) == "multilabel-indicator":
        classes = np.arange(dense.shape[1]) if columns is None else np.asarray(columns)
        return Indicator(classes, _names(classes)), dense
    flat = column_or_1d(dense, warn=True)
    classes = np.unique(flat)
    if len(classes) < 2:
        raise InputError(f"y has {len(classes)} class in {len(flat):,} rows; at least 2 are needed to tell apart")
    return OneClass(classes, _names(classes)), flat


def _dense(y: Any) -> NDArray[Any]:
    try:
        dense: NDArray[Any] = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
    except ValueError:  # rows of several lengths
        dense = np.array([[]], object)
    if dense.dtype == object and (not dense.size or any(isinstance(one, list | tuple | set) for one in dense.ravel())):
        raise InputError(
            "y holds several labels per row as lists; make them a matrix of zeros and ones with "
            "sklearn.preprocessing.MultiLabelBinarizer"
        )
    return dense


def _check_complete(y: NDArray[Any]) -> None:
    missing = [row for row, cells in enumerate(y.reshape(len(y), -1) if y.ndim else ()) if any(map(is_missing, cells))]
    if missing:
        shown = ", ".join(map(str, missing[:10])) + (" …" if len(missing) > 10 else "")
        raise InputError(f"y contains NaN or None in row {shown} (counted from 0); leave out rows without an answer")


def _names(classes: NDArray[Any]) -> tuple[str, ...]:
    """What the classes are called; by their numbers where what they are called would not tell them apart."""
    names = [str(one).strip() for one in classes.tolist()]
    if all(names) and len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"class {number}" for number in range(len(names)))
