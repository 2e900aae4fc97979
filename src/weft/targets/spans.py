"""Spans of words, one in another if need be: each candidate is one of L labels, or none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from weft.baselines.lookup import lookup_spans
from weft.data.overlaps import best_disjoint
from weft.data.predictions import PredictedSpan, Prediction, SpansPrediction
from weft.data.records import Example, Gold
from weft.layers.candidates import candidate_index, candidate_words, count_candidates
from weft.losses import Loss
from weft.metrics.outcomes import Outcomes
from weft.metrics.thresholds import LOWEST, choose_threshold
from weft.targets import ScoresLoss
from weft.targets.base.annotations import (
    FittedAnnotations,
    SpanTarget,
    as_prediction,
    gold_spans,
    loss_with_none,
    predicted_span,
    span_details,
    words_of,
)
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
        indices = {label: index for index, label in enumerate(self.labels, 1)}
        tensors = []
        for example, tokenized_example in zip(examples, tokenized, strict=True):
            words = len(tokenized_example.by_word)
            gold = torch.zeros(count_candidates(words, self.target.max_width), dtype=torch.long)
            for start, end, label in gold_spans(example):
                held = word_range(tokenized_example.words, start, end)
                index = None if held is None else candidate_index(held[0], held[1] - 1, words, self.target.max_width)
                if index is not None:
                    gold[index] = indices[label]
            tensors.append(gold)
        return tensors

    def build_loss(self, loss: Loss) -> ScoresLoss:
        compute = loss_with_none(loss, len(self.labels), "spans")

        def of_spans(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            values, gold = self._sample(scores.values, batch.gold)
            if not len(gold):  # nothing was drawn, and nothing is to be learned: zero, with a gradient of zero
                return values.sum()
            return compute(values, gold) * (len(gold) / _words(batch))

        return of_spans

    def disagreement(self, first: Scores, second: Scores, batch: Batch) -> Tensor:
        return super().disagreement(first, second, batch) * (len(first.values) / _words(batch))

    def _sample(self, values: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
        """All spans with a label, and of the others as many as `negatives` asks for."""
        if self.target.negatives is None:
            return values, gold
        named = int((gold > 0).sum())
        share = self.target.negatives * max(named, 1) / max(len(gold) - named, 1)
        chosen = (gold > 0) | (torch.rand(len(gold), device=gold.device) < share)
        return values[chosen], gold[chosen]

    def compact(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> Scores:
        """Only candidates that any threshold could give: (K, 5) of the (R, L + 1).

        Each has its index, the probability of any label, the likeliest label, its probability, and log odds.
        """
        likely = torch.softmax(scores.values.double(), 1)
        none = likely[:, 0]
        kept = (1 - none >= min(self.threshold, LOWEST)).nonzero().squeeze(1)
        ends = torch.tensor(scores.sizes).cumsum(0)
        owner = torch.searchsorted(ends, kept, right=True)
        sizes = torch.bincount(owner, minlength=len(scores.sizes))
        if not len(kept):
            return Scores(none.new_zeros(0, 5), tuple(sizes.tolist()))
        best, label = likely[kept, 1:].max(1)
        odds = torch.log((1 - none[kept]) / none[kept].clamp_min(1e-12))
        index = kept - (ends - torch.tensor(scores.sizes))[owner]
        return Scores(torch.stack([index, 1 - none[kept], label, best, odds], 1), tuple(sizes.tolist()))

    def decode(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        """From compact scores."""
        return [self._choose(candidates) for candidates in self._candidates(scores, tokenized, self.threshold)]

    def _candidates(
        self, scores: Scores, tokenized: Sequence[TokenizedExample], threshold: float
    ) -> list[list[_Candidate]]:
        """Of each text the candidates whose probability of any label reaches a threshold, in order."""
        rows = scores.values.split(list(scores.sizes))
        return [
            self._candidates_of(values[values[:, 1] >= threshold], tokenized_example)
            for values, tokenized_example in zip(rows, tokenized, strict=True)
        ]

    def _candidates_of(self, values: Tensor, tokenized_example: TokenizedExample) -> list[_Candidate]:
        if not len(values):
            return []
        words, indices = tokenized_example.words, values[:, 0].long().numpy()
        first, last = candidate_words(indices, len(tokenized_example.by_word), self.target.max_width)
        columns = zip(first.tolist(), last.tolist(), values[:, 1:].tolist(), strict=True)
        return [
            _Candidate(
                begin,
                end + 1,
                any_label,
                odds,
                predicted_span(
                    tokenized_example, words.char_starts[begin], words.char_ends[end], self.labels[int(label)], score
                ),
            )
            for begin, end, (any_label, label, score, odds) in columns
        ]

    def _choose(self, candidates: Sequence[_Candidate]) -> SpansPrediction:
        """The candidates that reach the threshold; with `flat`, of those that overlap the likeliest together."""
        given = [candidate for candidate in candidates if candidate.any_label >= self.threshold]
        if self.target.flat:
            least = math.log(max(self.threshold, 1e-12) / max(1 - self.threshold, 1e-12)) - 1e-6
            kept = best_disjoint([(one.first, one.stop, one.odds - least) for one in given])
            given = [given[index] for index in kept]
        return SpansPrediction(tuple(candidate.span for candidate in given))

    def calibrate(
        self, scores: Scores, examples: Sequence[Example], tokenized: Sequence[TokenizedExample], metric: str
    ) -> Self:
        golds = [example.gold for example in examples]
        candidates = self._candidates(scores, tokenized, LOWEST)

        def value(threshold: float) -> float:
            moved = replace(self, threshold=threshold)
            return moved.measure(golds, list(map(moved._choose, candidates)), intervals=False).scores[metric]

        spans = sum(len(gold_spans(example)) for example in examples)
        return replace(self, threshold=choose_threshold(scores.values[:, 1].numpy(), value, spans))

    def without_thresholds(self) -> Self:
        return replace(self, threshold=0.5)

    def details(self, golds: Sequence[Gold], predictions: Sequence[Prediction], outcomes: Outcomes) -> dict[str, Any]:
        return super().details(golds, predictions, outcomes) | span_details(golds, predictions, self.labels)

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [SpansPrediction() for _ in rows]  # most spans have no label

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        known = [(row.texts[0], gold_spans(row)) for row in train]
        return [as_prediction(spans) for spans in lookup_spans(known, [row.texts[0] for row in rows])]

    def explain(
        self, scores: Scores, prediction: Prediction, tokenized_example: TokenizedExample
    ) -> tuple[tuple[str, ...], Tensor]:
        """The sum of the scores of the given spans' labels; where none was given, the highest that speaks for one."""
        words = len(tokenized_example.by_word)
        if not words:
            return (), scores.values.sum()
        if not prediction.spans:
            highest = scores.values[:, 1:].max()
            column = int((scores.values[:, 1:] == highest).nonzero()[0, 1])
            return (self.labels[column],), highest
        held = words_of(prediction, tokenized_example)
        rows = [candidate_index(first, stop - 1, words, self.target.max_width) for first, stop in held]
        labels = [span.label for span in prediction.spans]
        columns = [self.labels.index(label) + 1 for label in labels]
        return tuple(dict.fromkeys(labels)), scores.values[rows, columns].sum()


class _Candidate(NamedTuple):
    """A span that may be given."""

    first: int  # word
    stop: int  # the word behind its last
    any_label: float  # the probability that it has a label
    odds: float  # log odds of that
    span: PredictedSpan  # with the likeliest label


def _words(batch: Batch) -> int:
    """How many words a batch has, by which losses of spans are counted, as others are."""
    assert batch.indices.words is not None
    return max(len(batch.indices.words.first_sub_words), 1)
