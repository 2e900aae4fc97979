"""Spans of words, one in another if need be: each candidate is one of L labels, or none."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from weft.errors import ConfigError
from weft.lookup import lookup_spans
from weft.losses import Loss
from weft.losses import Target as Fit
from weft.records import Example, Gold, Prediction
from weft.targets import Measures, ScoresLoss, Target
from weft.targets.marked import as_spans, gold_spans, marked, measure_spans
from weft.tensors import Batch, Scores
from weft.text.candidates import candidates, count_candidates, place_of
from weft.text.disjoint import best_disjoint
from weft.text.readings import Reading
from weft.text.words import word_range

_LEAST = 10  # gold spans from which a threshold is tuned
_TRIED = 60  # thresholds


@dataclass(frozen=True)
class SpansTarget(Target):
    """The labels in order, their training counts, and from which probability a span is given.

    Score 0 is that of no label. A span is given where the probability of any label reaches `threshold`, with the
    likeliest label. With `flat`, of spans that overlap those are given that are together likeliest.
    """

    fits: ClassVar[Fit] = "label"
    without_encoder: ClassVar[str] = "lookup"
    metrics: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall", "f1_macro")

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    widest: int
    flat: bool = False
    negatives: float | None = None
    threshold: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))  # lists, when read from JSON
        object.__setattr__(self, "counts", tuple(self.counts))

    @classmethod
    def learn(cls, golds: Iterable[Any], labels: Sequence[str] | None, **options: Any) -> SpansTarget:
        """The labels that occur, by name, or those given."""
        counts = Counter(label for spans in golds for _, _, label in spans)
        names = tuple(labels) if labels else tuple(sorted(counts))
        return cls(names, tuple(counts[name] for name in names), **options)

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.labels) + 1, "label")

    def golds(self, examples: Sequence[Example], readings: Sequence[Reading]) -> list[Tensor]:
        places = {label: place for place, label in enumerate(self.labels, 1)}
        found = []
        for example, reading in zip(examples, readings, strict=True):
            words = len(reading.by_word)
            gold = torch.zeros(count_candidates(words, self.widest), dtype=torch.long)
            for start, end, label in gold_spans(example):
                held = word_range(reading.words, start, end)
                place = None if held is None else place_of(held[0], held[1] - 1, words, self.widest)
                if place is not None:
                    gold[place] = places[label]
            found.append(gold)
        return found

    def loss_of(self, loss: Loss) -> ScoresLoss:
        if getattr(loss, "class_weights", None) == "balanced":
            raise ConfigError("how many spans have no label is not known; use `negatives`, or a number for each label")
        compute = loss.build((1,) * (len(self.labels) + 1))

        def of_spans(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            values, gold = self._sample(scores.values, batch.gold)
            if not len(gold):
                return scores.values.sum()
            return compute(values, gold) * (len(gold) / len(batch.layout["firsts"]))  # per word, as other losses

        return of_spans

    def _sample(self, values: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
        """All spans with a label, and of the others as many as `negatives` asks for."""
        if self.negatives is None:
            return values, gold
        named = int((gold > 0).sum())
        share = self.negatives * max(named, 1) / max(len(gold) - named, 1)
        chosen = (gold > 0) | (torch.rand(len(gold), device=gold.device) < share)
        return values[chosen], gold[chosen]

    def predictions(self, scores: Scores, readings: Sequence[Reading]) -> list[Prediction]:
        found = _Found(scores, readings, self.widest)
        return [
            [
                marked(readings[row], *found.characters(row, place), self.labels[label - 1], score)
                for place, label, score in self._chosen(row, some)
            ]
            for row, some in enumerate(found.over(self.threshold))
        ]

    def _chosen(self, row: int, spans: list[_Likely]) -> list[tuple[int, int, float]]:
        """Place, label and probability of the spans to give, in order of the text."""
        if self.flat:
            least = math.log(self.threshold / (1 - self.threshold)) - 1e-6
            weights = [(one.first, one.last + 1, one.odds - least) for one in spans]
            spans = [spans[place] for place in best_disjoint(weights)]
        return [(one.place, one.label, one.score) for one in spans]

    def fitted(self, scores: Scores, examples: Sequence[Example], readings: Sequence[Reading], metric: str) -> Target:
        """The threshold with the best value of the metric on these rows; among equals the nearest to 0.5."""
        golds = [one.gold for one in examples]
        if sum(len(gold_spans(one)) for one in examples) < _LEAST:
            return self
        likely = torch.softmax(scores.values, 1)[:, 1:].sum(1)
        near = likely[likely > 0.01].numpy()
        tried = {0.5, *np.quantile(near, np.linspace(0.01, 0.99, _TRIED)).round(4).tolist()} if len(near) else {0.5}
        best: tuple[float, float, SpansTarget] | None = None
        for threshold in sorted(tried, key=lambda one: abs(one - 0.5)):
            if not 0.01 <= threshold <= 0.99:
                continue
            target = replace(self, threshold=threshold)
            value = target.measure(golds, target.predictions(scores, readings), intervals=False).scores[metric]
            if best is None or value > best[0]:
                best = (value, threshold, target)
        return self if best is None else best[2]

    def measure(self, golds: Sequence[Gold], predictions: Sequence[Prediction], intervals: bool = True) -> Measures:
        return measure_spans(golds, predictions, self.labels, self.metrics, intervals)

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [[] for _ in rows]  # most spans have no label

    def simple(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        known = [(one.texts[0], gold_spans(one)) for one in train]
        return [as_spans(spans) for spans in lookup_spans(known, [row.texts[0] for row in rows])]


@dataclass(frozen=True, slots=True)
class _Likely:
    """A candidate that may be given."""

    place: int  # among those of its text
    first: int
    last: int
    label: int
    score: float  # probability of the label
    odds: float  # log odds of any label


class _Found:
    """The candidates of several texts with how likely each is."""

    def __init__(self, scores: Scores, readings: Sequence[Reading], widest: int) -> None:
        self.readings, self.widest = readings, widest
        self.sizes = list(scores.sizes)
        self.likely = torch.softmax(scores.values.double(), 1)
        self.none = self.likely[:, 0]

    def over(self, threshold: float) -> list[list[_Likely]]:
        """For each text the candidates whose probability of any label reaches the threshold, in order."""
        rows: list[list[_Likely]] = [[] for _ in self.sizes]
        hits = (1 - self.none >= threshold).nonzero().squeeze(1)
        if not len(hits):
            return rows
        scores, labels = self.likely[hits, 1:].max(1)
        odds = torch.log((1 - self.none[hits]) / self.none[hits].clamp_min(1e-12))
        begins = np.cumsum([0, *self.sizes])
        owner = np.searchsorted(begins, hits.numpy(), side="right") - 1
        for hit, row, label, score, odd in zip(
            hits.tolist(), owner.tolist(), (labels + 1).tolist(), scores.tolist(), odds.tolist(), strict=True
        ):
            place = hit - int(begins[row])
            first, last = self._words(row, place)
            rows[row].append(_Likely(place, first, last, label, score, odd))
        return rows

    def characters(self, row: int, place: int) -> tuple[int, int]:
        """Where a candidate lies in its text."""
        first, last = self._words(row, place)
        words = self.readings[row].words
        return words.starts[first], words.ends[last]

    def _words(self, row: int, place: int) -> tuple[int, int]:
        first, last = candidates(len(self.readings[row].by_word), self.widest)
        return int(first[place]), int(last[place])
