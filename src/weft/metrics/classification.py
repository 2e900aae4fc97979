"""Labels as indices, their confusion matrix, and the table of their precision, recall and F1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def label_ids(names: Sequence[str], labels: Sequence[str]) -> Ints:
    """The index in `labels` of each name, (B,)."""
    indices = label_indices(labels)
    for row, name in enumerate(names):
        if name not in indices:
            raise ValueError(f"the label in row {row} is not one of the {len(labels)} labels")
    return np.fromiter((indices[name] for name in names), dtype=np.int64, count=len(names))


def label_indices(labels: Sequence[str]) -> dict[str, int]:
    """Label -> its index; a label named twice is a ValueError, since its counts would be split."""
    indices = {label: index for index, label in enumerate(labels)}
    if len(indices) != len(labels):
        raise ValueError("labels must be distinct")
    return indices


def count(gold: Ints, predicted: Ints, size: int) -> Ints:
    """The confusion matrix, (L, L) with L = `size`: gold by row, predicted by column; both arguments are (B,) ids."""
    return np.bincount(gold * size + predicted, minlength=size * size).reshape(size, size).astype(np.int64, copy=False)


def precision_recall_f1(hits: Ints, predicted: Ints, gold: Ints) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 of each label, all (L,); 0 where the denominator is 0."""
    return divide(hits, predicted), divide(hits, gold), divide(2 * hits, predicted + gold)


def divide(part: Ints, whole: Ints) -> Floats:
    """`part / whole`, and 0 where `whole` is 0, without a warning."""
    # Wherever `whole` is 0 the part is 0 too, because hits are counted among it.
    return np.asarray(part / np.maximum(whole, 1), dtype=np.float64)


def class_table(labels: Sequence[str], hits: Ints, predicted: Ints, gold: Ints) -> dict[str, dict[str, float]]:
    """Label -> precision, recall, f1, support, from (L,) counts."""
    columns = (*precision_recall_f1(hits, predicted, gold), gold)
    names = ("precision", "recall", "f1", "support")
    return {
        label: dict(zip(names, map(float, values), strict=True))
        for label, *values in zip(labels, *columns, strict=True)
    }
