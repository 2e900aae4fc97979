"""What wrong answers cost: the cheapest answer to probabilities, and how urgent it is to look at a row.

A matrix of costs is (L, L): true labels by row, answers by column. What nobody named costs 1, the right answer 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.metrics.classification import Floats, Ints, label_indices

Costs = Mapping[str, Mapping[str, float]]  # by the true label and by the one that was answered


def uncalibrated_costs(task: str) -> str:
    """A sentence about a task that decides by costs, and of whose probabilities no row has shown how true they are."""
    return (
        f"{task} weighs its costs with probabilities that are calibrated on nothing, since there were no dev rows:"
        f" hold some out (tasks.{task}.dev = 0.2), and train again."
    )


def cost_matrix(costs: Costs, labels: Sequence[str]) -> Floats:
    """The cost of every answer to every true label, (L, L); names that are no labels are left out."""
    matrix, ids = 1.0 - np.eye(len(labels)), label_indices(labels)
    for true, answers in costs.items():
        for answer, cost in answers.items():
            if true in ids and answer in ids:
                matrix[ids[true], ids[answer]] = cost
    return matrix


def cheapest_answers(likely: npt.NDArray[np.floating], matrix: Floats) -> Ints:
    """The answer of least expected cost to each row, the first of equal ones, (B, L) → (B,)."""
    return np.asarray(np.argmin(likely.astype(np.float64) @ matrix, axis=1), dtype=np.int64)


def cheapest_constant(counts: Sequence[int], matrix: Floats) -> int:
    """The answer that costs least where it is given to all rows, of which there are so many of each label."""
    return int(cheapest_answers(np.array([counts]), matrix)[0])


@dataclass(frozen=True)
class Urgency:
    """What it is expected to cost to leave a row unread, as a weighted sum of the probabilities of its labels.

    What is looked for is the label that is costliest to miss, by the sum of its costs. A row that nobody reads counts
    as answered with the label that is least costly to miss; among equals with that for which it costs most where the
    row has the label that is looked for, and where these are equal too, with each of them as often.
    """

    label: int  # what is looked for, the first of equal ones
    unread: tuple[int, ...]  # what rows that nobody reads count as
    weights: Floats  # (L,) what each true label then costs

    @classmethod
    def of(cls, matrix: Floats) -> Urgency:
        missed = matrix.sum(1)
        label = int(missed.argmax())
        others = np.array([other for other in range(len(matrix)) if other != label], dtype=np.int64)
        least = others[np.isclose(missed[others], missed[others].min())]
        unread = least[np.isclose(matrix[label, least], matrix[label, least].max())]
        return cls(label, tuple(unread.tolist()), matrix[:, unread].mean(1))
