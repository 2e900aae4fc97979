"""Hidden tokens: one of the vocabulary at every hidden place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from weft.corpus.rows import DrawnRows
from weft.data.records import Example, Gold, Prediction
from weft.errors import ConfigError, DataError
from weft.losses import Loss
from weft.losses import Target as Fit
from weft.metrics.bootstrap import intervals_of
from weft.targets import Measures, ScoresLoss, Target, refuse_merged_labels
from weft.tensors import Batch, Scores
from weft.tokenization.examples import Hidden, Reading

_TOP = 10  # fillers kept
_SOME = 9  # labels, where it only matters that there are more than two


class Told(NamedTuple):
    """What is measured of a row: its hidden places, how many are right, and the sum of their log likelihoods."""

    own: tuple[int, int, float] = (0, 0, 0.0)
    beside: tuple[int, int, float] = (0, 0, 0.0)  # the same, as told from beside


@dataclass(frozen=True)
class HiddenTarget(Target):
    """What stood at the hidden places; `beside` where each is also told from the tokens beside its span alone.

    Chosen by is the `likelihood`, one over the perplexity: the (geometric) mean probability of the hidden tokens. For
    long stretches of pretraining, accuracy stands still while the perplexity falls.
    """

    fits: ClassVar[Fit] = "label"
    metrics: ClassVar[tuple[str, ...]] = ("accuracy", "likelihood")

    beside: bool = False

    def outputs(self, loss: Loss) -> int:
        return 0  # the vocabulary's, which the head has from the encoder

    def golds(self, examples: Sequence[Example], readings: Sequence[Reading]) -> list[Tensor]:
        golds = (hidden_in(reading).gold for reading in readings)
        found = [torch.from_numpy(np.asarray(gold, dtype=np.int64)) for gold in golds]
        return [torch.cat([gold, gold]) for gold in found] if self.beside else found

    def loss_of(self, loss: Loss) -> ScoresLoss:
        refuse_merged_labels(loss, _SOME)
        if getattr(loss, "class_weights", None) is not None:
            raise ConfigError("class_weights cannot be given for hidden words, whose labels are the whole vocabulary")
        compute = loss.build((), None)

        def of_hidden(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            if not len(batch.gold):
                return scores.values.sum()
            return compute(scores.values, batch.gold) * (2 if self.beside else 1)  # the sum of both objectives

        return of_hidden

    def compact(self, scores: Scores, readings: Sequence[Reading]) -> Scores:
        """Of every answer's V scores only what is used: the gold token's log probability, and the likeliest tokens'.

        (R, V) → (R, 1 + 2 · 10); the log probability is nan where the gold is not known.
        """
        logs = torch.log_softmax(scores.values, 1)
        told = torch.full((len(logs), 1), math.nan)
        if all(hidden_in(reading).gold is not None for reading in readings):
            told = logs.gather(1, torch.cat(self.golds([], readings)).unsqueeze(1)) if len(logs) else told
        best, ids = logs.topk(min(_TOP, logs.shape[1]), 1)
        return Scores(torch.cat([told, best.exp(), ids.to(best)], 1), scores.sizes)

    def predictions(self, scores: Scores, readings: Sequence[Reading]) -> list[Prediction]:
        rows = scores.values.split(list(scores.sizes))
        return [self._answers(values, reading) for values, reading in zip(rows, readings, strict=True)]

    def _answers(self, values: Tensor, reading: Reading) -> Told | list[dict[str, Any]]:
        """Where the gold is known, what is measured; else the fillers of each place, the likeliest first."""
        hidden, top = hidden_in(reading), (values.shape[1] - 1) // 2
        count = len(hidden.places)
        if hidden.gold is not None:
            right = values[:, 1 + top].long() == torch.cat(self.golds([], [reading]))
            halves = zip(right.split(count), values[:, 0].double().split(count), strict=True) if count else ()
            sums = [(count, int(half.sum()), float(logs.sum())) for half, logs in halves]
            return Told(*sums) if sums else Told()
        found = []
        for _, *rest in values[:count].tolist():  # what is told from beside serves learning only
            fillers = [{"token": hidden.spell(int(i)), "score": p} for i, p in zip(rest[top:], rest[:top], strict=True)]
            found.append({"label": fillers[0]["token"], "score": rest[0], "fillers": fillers})
        return found

    def fitted(self, scores: Scores, examples: Sequence[Example], readings: Sequence[Reading], metric: str) -> Target:
        return self

    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        """Accuracy, perplexity and likelihood at the hidden places; what is told from beside by itself."""
        sums = np.array([one.own for one in predictions])
        sums = sums[sums[:, 0] > 0]  # in a short row, nothing may be hidden
        if not len(sums):
            raise DataError("nothing is hidden in these rows, which are too few and too short to measure on; give more")
        scores = _with_likelihood(sums)
        if self.beside:
            scores |= _scores(np.array([one.beside for one in predictions]), "boundary_")
        if not intervals:
            return Measures(scores)

        def resampled(rows: Any) -> dict[str, float]:
            return _with_likelihood(sums[rows])

        names = ("accuracy", "perplexity", "likelihood")
        return Measures(scores, intervals_of(resampled, len(sums), names, rounds=500))

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        """Tokens by their frequency: the commonest is guessed everywhere, and each has its share as probability."""
        if not isinstance(train, DrawnRows):
            return [Told() for _ in rows]
        logs = train.corpus.log_shares()
        commonest = int(logs.argmax())
        found = []
        for row in rows:
            assert row.tokens is not None
            ids = np.concatenate(row.tokens.ids)
            ids = ids[row.tokens.unigrams.knows(ids)]  # special ones are never hidden
            sums = len(ids), int((ids == commonest).sum()), float(logs[ids].sum())
            found.append(Told(sums, sums))
        return found

    def simple(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return self.majority(train, rows)


def hidden_in(reading: Reading) -> Hidden:
    """What is hidden in an example."""
    assert reading.hidden is not None
    return reading.hidden


def _with_likelihood(sums: Any) -> dict[str, float]:
    scores = _scores(sums, "")
    return {**scores, "likelihood": 1 / scores["perplexity"]}


def _scores(sums: Any, prefix: str) -> dict[str, float]:
    count, right, likelihood = sums.sum(0)
    return {f"{prefix}accuracy": float(right / count), f"{prefix}perplexity": float(np.exp(-likelihood / count))}
