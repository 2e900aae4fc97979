"""Any number of labels per row, as a matrix."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from weft.metrics.classification import label_indices

Marks = npt.NDArray[np.bool_]


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
