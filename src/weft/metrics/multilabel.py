"""Scores of multi-label classification, where each row carries any number of labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from weft.metrics.classification import Ints, class_table, label_indices, precision_recall_f1

Marks = npt.NDArray[np.bool_]


def multilabel_per_class(
    gold: Sequence[Collection[str]], predicted: Sequence[Collection[str]], labels: Sequence[str]
) -> dict[str, dict[str, float]]:
    """For each of `labels`, in their order: precision, recall, f1 and support (gold rows); 0 where undefined."""
    return class_table(labels, *_counts(*_matrices(gold, predicted, labels)))


def label_matrix(rows: Sequence[Collection[str]], labels: Sequence[str]) -> Marks:
    """True where a row carries a label, (B, L); a label named twice in a row counts once."""
    indices = label_indices(labels)
    matrix = np.zeros((len(rows), len(labels)), dtype=np.bool_)
    for row, names in enumerate(rows):
        if isinstance(names, str):
            # A string is a collection of strings too: "joy" would be read as the labels "j", "o" and "y".
            raise ValueError(f"row {row} is one string, not a collection of labels")
        for name in names:
            if name not in indices:
                raise ValueError(f"a label in row {row} is not one of the {len(labels)} labels")
            matrix[row, indices[name]] = True
    return matrix


def matrix_scores(gold: Marks, predicted: Marks) -> dict[str, float]:
    """f1_micro, f1_macro, precision_micro, recall_micro and exact_match (the share of rows with exactly the gold set).

    From two label matrices, (B, L) each. The macro mean runs over the labels that occur in either. Where no row has any
    label the F1s are 0 and only exact_match tells. No rows at all is a ValueError.
    """
    if len(gold) == 0:
        raise ValueError("there are no rows to score")
    counts = _counts(gold, predicted)
    totals = [part.sum(keepdims=True) for part in counts]
    precision, recall, f1 = (float(part[0]) for part in precision_recall_f1(*totals))
    used = (counts[1] + counts[2]) > 0
    f1_of_each = precision_recall_f1(*(part[used] for part in counts))[2]
    return {
        "f1_micro": f1,
        "f1_macro": float(f1_of_each.mean()) if used.any() else 0.0,
        "precision_micro": precision,
        "recall_micro": recall,
        "exact_match": float((gold == predicted).all(axis=1).mean()),
    }


def _matrices(
    gold: Sequence[Collection[str]], predicted: Sequence[Collection[str]], labels: Sequence[str]
) -> tuple[Marks, Marks]:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold rows but {len(predicted)} predicted rows")
    return label_matrix(gold, labels), label_matrix(predicted, labels)


def _counts(gold: Marks, predicted: Marks) -> tuple[Ints, Ints, Ints]:
    """Hits, predicted and gold rows of each label, (L,) each."""
    hits = (gold & predicted).sum(axis=0, dtype=np.int64)
    return hits, predicted.sum(axis=0, dtype=np.int64), gold.sum(axis=0, dtype=np.int64)
