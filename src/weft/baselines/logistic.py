"""How likely each label is by a penalised logistic regression in which a label weighs as much as any other."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

Chances = dict[str, float]  # the probability of every label that occurs in training, by name

PARTS = 5  # of the training rows, each of which is answered by what was learned from the others
_NEVER = -30.0  # the log probability of a label that the other parts do not have


def classify(
    train_features: Any, train_labels: Sequence[str], features: Any, seed: int = 0, calibrated: bool = False
) -> list[Chances]:
    """The chances of each row, or the shares of the labels where there is only one.

    Weights that a penalty keeps small, and labels that all count alike, make chances far too flat. The likeliest label
    stays the same, but what is expected of an answer does not: `calibrated` sharpens them as far as training rows tell
    that are answered by what was learned from others.

    Args:
        train_features: of R rows, sparse (R, F).
        features: of the rows to answer, sparse (B, F).
    """
    from scipy.special import log_softmax

    if len(set(train_labels)) == 1:  # scikit-learn refuses to fit a single class
        return shares(train_labels, features.shape[0])
    model = _fit(train_features, train_labels, seed)
    likely = model.predict_log_proba(features)
    if calibrated:
        likely = log_softmax(likely / _temperature(train_features, train_labels, seed), axis=1)
    names = [str(label) for label in model.classes_]
    return [dict(zip(names, row, strict=True)) for row in _exponentials(likely)]


def shares(train_labels: Sequence[str], rows: int) -> list[Chances]:
    """The share of each training label, `rows` times: all that is known without a word."""
    counts = Counter(train_labels)
    return [{label: counts[label] / len(train_labels) for label in sorted(counts)} for _ in range(rows)]


def _fit(features: Any, labels: Sequence[str], seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000, random_state=seed, class_weight="balanced")
    with warnings.catch_warnings():  # names of labels are no numbers to regress on, however few rows each has
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%", UserWarning)
        return model.fit(features, list(labels))


def _exponentials(likely: Any) -> list[list[float]]:
    import numpy as np

    return list(np.exp(likely).tolist())


def _temperature(features: Any, labels: Sequence[str], seed: int) -> float:
    """The temperature that suits rows answered by what was learned from the other parts."""
    import numpy as np

    from weft.metrics.calibration import fit_temperature

    columns = {label: index for index, label in enumerate(sorted(set(labels)))}
    likely = np.full((len(labels), len(columns)), _NEVER)
    answered: list[int] = []
    for learned, asked in _parts(labels):
        model = _fit(features[learned], [labels[row] for row in learned], seed)
        known = [columns[str(label)] for label in model.classes_]
        likely[np.ix_(asked, known)] = model.predict_log_proba(features[asked])
        answered += [row for row in asked if columns[labels[row]] in known]
    gold = np.array([columns[labels[row]] for row in answered], dtype=np.int64)
    return fit_temperature(likely[answered], gold)


def _parts(labels: Sequence[str]) -> Iterator[tuple[list[int], list[int]]]:
    """Rows to learn from and rows to ask, `PARTS` times; those of a label are dealt in turn."""
    dealt: Counter[str] = Counter()
    parts: list[list[int]] = [[] for _ in range(PARTS)]
    for row, label in enumerate(labels):
        parts[dealt[label] % PARTS].append(row)
        dealt[label] += 1
    for asked in filter(None, parts):
        learned = sorted({*range(len(labels))}.difference(asked))
        if len({labels[row] for row in learned}) > 1:
            yield learned, asked
