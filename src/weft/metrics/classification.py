"""Scores of single-label classification, all derived from one confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def per_class(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> dict[str, dict[str, float]]:
    """For each of `labels`, in their order: precision, recall, f1 and support (gold rows); 0 where undefined."""
    matrix = _count_names(gold, predicted, labels)
    return class_table(labels, matrix.diagonal(), matrix.sum(axis=0), matrix.sum(axis=1))


def confusion(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> list[list[int]]:
    """Rows counted by gold label (row) and predicted label (column), both in the order of `labels`."""
    return [[int(cell) for cell in row] for row in _count_names(gold, predicted, labels)]


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


def scores_of(matrix: Ints) -> dict[str, float]:
    """Accuracy, f1_macro, f1_micro, precision_macro, recall_macro and matthews_correlation, from a confusion matrix.

    Gold is by row, (L, L). Macro means run over the labels that occur in gold or predicted rows, as in scikit-learn: a
    label that nobody used neither helps nor harms. No rows at all is a ValueError.
    """
    rows = int(matrix.sum())
    if rows == 0:
        raise ValueError("there are no rows to score")
    hits, predicted, gold = matrix.diagonal(), matrix.sum(axis=0), matrix.sum(axis=1)
    used = (predicted + gold) > 0
    precision, recall, f1 = precision_recall_f1(hits[used], predicted[used], gold[used])
    accuracy = float(hits.sum() / rows)
    return {
        "accuracy": accuracy,
        "f1_macro": float(f1.mean()),
        # With exactly one label per row a false positive of one label is a false negative of another.
        "f1_micro": accuracy,
        "precision_macro": float(precision.mean()),
        "recall_macro": float(recall.mean()),
        "matthews_correlation": _matthews(hits, predicted, gold),
    }


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


def _count_names(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str]) -> Ints:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold rows but {len(predicted)} predicted rows")
    return count(label_ids(gold, labels), label_ids(predicted, labels), len(labels))


def _matthews(hits: Ints, predicted: Ints, gold: Ints) -> float:
    """Multi-class Matthews correlation; 0 when all gold or all predicted rows share one label."""
    # Python integers: the product of two squared row counts leaves 64 bits at some fifty thousand rows.
    rows = int(gold.sum())
    covariance = int(hits.sum()) * rows - int(predicted @ gold)
    spread = (rows**2 - int(predicted @ predicted)) * (rows**2 - int(gold @ gold))
    return covariance / spread**0.5 if spread else 0.0
