"""What a model has to beat: the most frequent answer of the training rows, whatever the text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain


def majority_labels(train: Sequence[str], rows: int) -> list[str]:
    """The most frequent training label, `rows` times; of equally frequent ones the first by name."""
    need_rows(train)
    counts = Counter(train)
    return [min(counts, key=lambda label: (-counts[label], label))] * rows


def mean_scores(train: Sequence[float], rows: int) -> list[float]:
    """The mean of the training scores, `rows` times."""
    need_rows(train)
    return [math.fsum(train) / len(train)] * rows


def majority_label_sets(train: Sequence[Collection[str]], rows: int) -> list[list[str]]:
    """The labels that more than half of the training rows carry, by name, `rows` times; possibly none."""
    need_rows(train)
    counts = Counter(chain.from_iterable(set(labels) for labels in train))
    frequent = sorted(label for label, count in counts.items() if 2 * count > len(train))
    return [list(frequent) for _ in range(rows)]


def need_rows(train: Sequence[object]) -> None:
    """Raise where there is nothing to learn from."""
    if len(train) == 0:
        raise ValueError("a baseline needs at least one training row")
