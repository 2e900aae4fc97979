"""Masked tokens: one of the vocabulary at every masked position."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor

from weft.corpus.masking import Unigrams
from weft.data.dataset import Dataset
from weft.data.predictions import MaskedCounts, MaskedPrediction, Prediction
from weft.data.records import Example, Gold, Input
from weft.errors import ConfigError, DataError
from weft.losses import Loss, TargetType
from weft.losses.cross_entropy import CrossEntropy
from weft.metrics.outcomes.tokens import BoundaryOutcomes, TokenOutcomes
from weft.targets import FittedTarget, Measures, ScoresLoss, Target, confidences, refuse_merged_labels
from weft.tensors import Batch, Scores
from weft.tokenization.examples import MaskedTokens, TokenizedExample

_TOP = 10  # fillers kept
_SOME = 9  # labels, where it only matters that there are more than two


@dataclass(frozen=True)
class MaskedTarget(Target):
    """What stood at the masked positions; `boundary` where each is also predicted from beside its span alone.

    Chosen by is the `likelihood`, one over the perplexity: the (geometric) mean probability of the masked tokens. For
    long stretches of pretraining, accuracy stands still while the perplexity falls.
    """

    target_type: ClassVar[TargetType] = "label"
    metrics: ClassVar[tuple[str, ...]] = ("accuracy", "likelihood")

    default_metric: str = "likelihood"
    boundary: bool = False

    @property
    def fitted(self) -> type[FittedMasked]:
        return FittedMasked

    @property
    def default_loss(self) -> Loss:
        return CrossEntropy()

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        return None  # nobody wrote the answers down

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        return None

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        return ["" for _ in inputs]

    def fit(self, golds: Iterable[Gold]) -> FittedMasked:
        return FittedMasked(self)


@dataclass(frozen=True)
class FittedMasked(FittedTarget):
    """Nothing is learned from the rows: the labels are the whole vocabulary, which the head has from the encoder."""

    calibratable: ClassVar[bool] = False
    has_baseline: ClassVar[bool] = False

    target: MaskedTarget
    labels: tuple[str, ...] = field(default=(), init=False)

    @property
    def metrics_with_intervals(self) -> tuple[str, ...]:
        return (*self.metrics, "perplexity")

    def outputs(self, loss: Loss) -> int:
        return 0  # the vocabulary's, which the head has from the encoder

    def gold_tensors(self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]) -> list[Tensor]:
        golds = (masked_tokens_of(tokenized_example).gold for tokenized_example in tokenized)
        tensors = [torch.from_numpy(np.asarray(gold, dtype=np.int64)) for gold in golds]
        return [torch.cat([gold, gold]) for gold in tensors] if self.target.boundary else tensors

    def build_loss(self, loss: Loss) -> ScoresLoss:
        refuse_merged_labels(loss, _SOME)
        if loss.weighting is not None:
            raise ConfigError("class_weights cannot be given for masked words, whose labels are the whole vocabulary")
        compute = loss.build((), None)

        def of_hidden(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            if not len(batch.gold):
                return scores.values.sum()
            return compute(scores.values, batch.gold) * (2 if self.target.boundary else 1)  # the sum of both objectives

        return of_hidden

    def compact(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> Scores:
        """Of every answer's V scores only what is used: the gold token's log probability, and the likeliest tokens'.

        (R, V) → (R, 1 + 2 · 10); the log probability is nan where the gold is not known.
        """
        logs = torch.log_softmax(scores.values, 1)
        of_gold = torch.full((len(logs), 1), math.nan)
        if all(masked_tokens_of(tokenized_example).gold is not None for tokenized_example in tokenized):
            gold = torch.cat(self.gold_tensors([], tokenized))
            of_gold = logs.gather(1, gold.unsqueeze(1)) if len(logs) else of_gold
        best, ids = logs.topk(min(_TOP, logs.shape[1]), 1)
        return Scores(torch.cat([of_gold, best.exp(), ids.to(best)], 1), scores.sizes)

    def decode(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        rows = scores.values.split(list(scores.sizes))
        return [
            self._answers(values, tokenized_example) for values, tokenized_example in zip(rows, tokenized, strict=True)
        ]

    def _answers(self, values: Tensor, tokenized_example: TokenizedExample) -> MaskedPrediction:
        """Where the gold is known, what is measured; else the fillers of each position, the likeliest first."""
        masked, top = masked_tokens_of(tokenized_example), (values.shape[1] - 1) // 2
        count = len(masked.positions)
        if masked.gold is not None:
            right = values[:, 1 + top].long() == torch.cat(self.gold_tensors([], [tokenized_example]))
            halves = zip(right.split(count), values[:, 0].double().split(count), strict=True) if count else ()
            sums = [(count, int(half.sum()), float(logs.sum())) for half, logs in halves]
            return MaskedPrediction(counts=MaskedCounts(*sums))
        known = len(masked.vocabulary)
        return MaskedPrediction(
            tuple(
                tuple(
                    (masked.vocabulary[int(token)] if token < known else None, p)
                    for token, p in zip(rest[top:], rest[:top], strict=True)
                )
                for _, *rest in values[:count].tolist()  # the boundary's serve learning only
            )
        )

    def outcomes(self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]) -> TokenOutcomes:
        counts = [cast(MaskedPrediction, prediction).counts for prediction in predictions]
        own, scores = np.array([row.own for row in counts]), confidences(predictions)
        if not self.target.boundary:
            return TokenOutcomes(lines=np.asarray(lines), scores=scores, sums=own)
        boundary = np.array([row.boundary for row in counts])
        return BoundaryOutcomes(lines=np.asarray(lines), scores=scores, sums=own, boundary_sums=boundary)

    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        """Accuracy, perplexity and likelihood at the masked positions; those from the boundary apart."""
        masked = [one for one in predictions if cast(MaskedPrediction, one).counts.own[0]]  # not all of a short row
        if not masked:
            raise DataError("nothing is masked in these rows, which are too few and too short to measure on; give more")
        return super().measure(golds[: len(masked)], masked, intervals)

    def majority(self, train: Dataset, rows: Sequence[Example]) -> list[Prediction]:
        """Tokens by their frequency: the commonest is guessed everywhere, and each has its share as probability."""
        logs = train.token_log_shares()
        assert logs is not None
        commonest = int(logs.argmax())
        predictions: list[Prediction] = []
        for row in rows:
            assert row.tokens is not None
            ids = np.concatenate(row.tokens.ids)
            ids = ids[Unigrams(row.tokens.tokens_below).knows(ids)]  # special ones are never masked
            sums = len(ids), int((ids == commonest).sum()), float(logs[ids].sum())
            predictions.append(MaskedPrediction(counts=MaskedCounts(sums, sums)))
        return predictions

    def baseline(self, train: Dataset, rows: Sequence[Example]) -> list[Prediction]:
        return self.majority(train, rows)


def masked_tokens_of(tokenized_example: TokenizedExample) -> MaskedTokens:
    """What is masked in an example."""
    assert tokenized_example.masked is not None
    return tokenized_example.masked
