"""Spans of words, one in another if need be: each candidate is one of L labels, or none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from weft.baselines.lookup import lookup_spans
from weft.data.overlaps import best_disjoint
from weft.data.records import Example, Gold, Prediction
from weft.layers.candidates import candidate_index, candidates, count_candidates
from weft.losses import Loss
from weft.targets import Measures, ScoresLoss
from weft.targets.base.annotations import (
    FittedAnnotations,
    SpanTarget,
    as_spans,
    gold_spans,
    loss_with_none,
    marked,
    measure_spans,
    words_of,
)
from weft.targets.base.thresholds import tune_threshold
from weft.tensors import Batch, Scores
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.words import word_range


@dataclass(frozen=True)
class SpansTarget(SpanTarget):
    """Spans of up to `max_width` words; `negatives` are those without a label to learn from, for each with one."""

    flat: bool = False
    max_width: int = 12
    negatives: float | None = None

    @property
    def fitted(self) -> type[FittedSpans]:
        return FittedSpans

    def too_wide(self, words: int) -> str:
        wide = words > self.max_width
        return f"have a span of more than max_width = {self.max_width} words: never found" if wide else ""

    def fit(self, golds: Iterable[Gold]) -> FittedSpans:
        return FittedSpans(self, *self.count_labels(golds))


@dataclass(frozen=True)
class FittedSpans(FittedAnnotations):
    """The labels in order, their training counts, and from which probability a span is given.

    Score 0 is that of no label. A span is given where the probability of any label reaches `threshold`, with the
    likeliest label. With `flat`, of spans that overlap those are given that are together likeliest.
    """

    target: SpansTarget
    threshold: float = 0.5

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.labels) + 1, "label")

    def gold_tensors(self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]) -> list[Tensor]:
        places = {label: place for place, label in enumerate(self.labels, 1)}
        found = []
        for example, tokenized_example in zip(examples, tokenized, strict=True):
            words = len(tokenized_example.by_word)
            gold = torch.zeros(count_candidates(words, self.target.max_width), dtype=torch.long)
            for start, end, label in gold_spans(example):
                held = word_range(tokenized_example.words, start, end)
                place = None if held is None else candidate_index(held[0], held[1] - 1, words, self.target.max_width)
                if place is not None:
                    gold[place] = places[label]
            found.append(gold)
        return found

    def build_loss(self, loss: Loss) -> ScoresLoss:
        compute = loss_with_none(loss, len(self.labels), "spans")

        def of_spans(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            values, gold = self._sample(scores.values, batch.gold)
            if not len(gold):  # nothing was drawn, and nothing is to be learned: zero, with a gradient of zero
                return values.sum()
            words = batch.indices.words
            assert words is not None
            return compute(values, gold) * (len(gold) / len(words.first_sub_words))  # per word, as other losses

        return of_spans

    def _sample(self, values: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
        """All spans with a label, and of the others as many as `negatives` asks for."""
        if self.target.negatives is None:
            return values, gold
        named = int((gold > 0).sum())
        share = self.target.negatives * max(named, 1) / max(len(gold) - named, 1)
        chosen = (gold > 0) | (torch.rand(len(gold), device=gold.device) < share)
        return values[chosen], gold[chosen]

    def decode(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        found = _over(self.threshold, scores, tokenized, self.target.max_width)
        return [
            [self._mark(tokenized_example, one) for one in (self._disjoint(some) if self.target.flat else some)]
            for tokenized_example, some in zip(tokenized, found, strict=True)
        ]

    def _mark(self, tokenized_example: TokenizedExample, one: _Likely) -> dict[str, Any]:
        start, end = tokenized_example.words.char_starts[one.first], tokenized_example.words.char_ends[one.last]
        return marked(tokenized_example, start, end, self.labels[one.label - 1], one.score)

    def _disjoint(self, spans: list[_Likely]) -> list[_Likely]:
        """Of spans that overlap, those that are likeliest together, in order of the text."""
        least = math.log(self.threshold / (1 - self.threshold)) - 1e-6
        return [spans[place] for place in best_disjoint([(s.first, s.last + 1, s.odds - least) for s in spans])]

    def calibrate(
        self, scores: Scores, examples: Sequence[Example], tokenized: Sequence[TokenizedExample], metric: str
    ) -> Self:
        return tune_threshold(self, scores, examples, tokenized, metric)

    def without_thresholds(self) -> Self:
        return replace(self, threshold=0.5)

    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        return measure_spans(golds, predictions, self.labels, self.metrics, intervals)

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [[] for _ in rows]  # most spans have no label

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        known = [(one.texts[0], gold_spans(one)) for one in train]
        return [as_spans(spans) for spans in lookup_spans(known, [row.texts[0] for row in rows])]

    def explain(
        self, scores: Scores, prediction: Prediction, tokenized_example: TokenizedExample
    ) -> tuple[tuple[str, ...], Tensor]:
        """The sum of the scores of the given spans' labels; where none was given, the highest that speaks for one."""
        words = len(tokenized_example.by_word)
        if not words:
            return (), scores.values.sum()
        if not prediction:
            highest = scores.values[:, 1:].max()
            column = int((scores.values[:, 1:] == highest).nonzero()[0, 1])
            return (self.labels[column],), highest
        held = words_of(prediction, tokenized_example)
        rows = [candidate_index(first, stop - 1, words, self.target.max_width) for first, stop in held]
        columns = [self.labels.index(span["label"]) + 1 for span in prediction]
        return tuple(dict.fromkeys(span["label"] for span in prediction)), scores.values[rows, columns].sum()


@dataclass(frozen=True, slots=True)
class _Likely:
    """A candidate that may be given."""

    first: int  # word
    last: int
    label: int
    score: float  # probability of the label
    odds: float  # log odds of any label


def _over(
    threshold: float, scores: Scores, tokenized: Sequence[TokenizedExample], max_width: int
) -> list[list[_Likely]]:
    """For each text the candidates whose probability of any label reaches the threshold, in order."""
    rows: list[list[_Likely]] = [[] for _ in tokenized]
    likely = torch.softmax(scores.values.double(), 1)
    none = likely[:, 0]
    hits = (1 - none >= threshold).nonzero().squeeze(1)
    if not len(hits):
        return rows
    best, labels = likely[hits, 1:].max(1)
    odds = torch.log((1 - none[hits]) / none[hits].clamp_min(1e-12))
    owner = np.searchsorted(np.cumsum(scores.sizes), hits.numpy(), side="right")
    spans = [candidates(len(tokenized_example.by_word), max_width) for tokenized_example in tokenized]
    first, last = (np.concatenate([one[end] for one in spans])[hits.numpy()].tolist() for end in (0, 1))
    columns = (first, last, (labels + 1).tolist(), best.tolist(), odds.tolist())
    for row, *parts in zip(owner.tolist(), *columns, strict=True):
        rows[row].append(_Likely(*parts))
    return rows
