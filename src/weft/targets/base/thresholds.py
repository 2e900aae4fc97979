"""The probability from which a span or a pair is given a label, chosen on rows not trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch

from weft.data.records import Example
from weft.tensors import Scores
from weft.tokenization.examples import TokenizedExample

_LEAST = 10  # gold answers from which a threshold is tuned
_TRIED = 60

T = TypeVar("T", bound=Any)


def tune_threshold(
    target: T, scores: Scores, examples: Sequence[Example], tokenized: Sequence[TokenizedExample], metric: str
) -> T:
    """The target with the threshold nearest to 0.5 whose value of a metric is within a standard error of the best.

    The best of many thresholds on few rows is mostly luck; one moves only as far as the rows can tell.
    """
    golds: list[Any] = [one.gold for one in examples]
    size = sum(map(len, golds))
    if size < _LEAST:
        return target
    likely = torch.softmax(scores.values, 1)[:, 1:].sum(1)
    near = likely[(likely > 0.01) & (likely < 0.99)].numpy()
    tried = {0.5, *np.quantile(near, np.linspace(0, 1, _TRIED)).round(4).tolist()} if len(near) else {0.5}

    def value(threshold: float) -> float:
        moved = replace(target, threshold=threshold)
        found: float = moved.measure(golds, moved.decode(scores, tokenized), intervals=False).scores[metric]
        return found

    values = {threshold: value(threshold) for threshold in tried}
    best = max(values.values())
    error = math.sqrt(best * (1 - best) / size)  # as of a share of the gold answers
    near_best = [threshold for threshold, found in values.items() if found >= best - error]
    return replace(target, threshold=min(near_best, key=lambda one: abs(one - 0.5)))
