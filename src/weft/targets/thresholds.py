"""The probability from which a span or a pair is given a label, chosen on rows not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch

from weft.records import Example
from weft.tensors import Scores
from weft.text.readings import Reading

_LEAST = 10  # gold answers from which a threshold is tuned
_TRIED = 60

T = TypeVar("T", bound=Any)


def tune_threshold(
    target: T, scores: Scores, examples: Sequence[Example], readings: Sequence[Reading], metric: str
) -> T:
    """The target with the threshold that has the best value of a metric; among equals the nearest to 0.5."""
    golds: list[Any] = [one.gold for one in examples]
    if sum(map(len, golds)) < _LEAST:
        return target
    likely = torch.softmax(scores.values, 1)[:, 1:].sum(1)
    near = likely[(likely > 0.01) & (likely < 0.99)].numpy()
    tried = {0.5, *np.quantile(near, np.linspace(0, 1, _TRIED)).round(4).tolist()} if len(near) else {0.5}

    def value(threshold: float) -> float:
        moved = replace(target, threshold=threshold)
        found: float = moved.measure(golds, moved.predictions(scores, readings), intervals=False).scores[metric]
        return found

    best = max(sorted(tried, key=lambda one: abs(one - 0.5)), key=value)  # the first of equals
    return replace(target, threshold=best)
