"""What pairs of spans have to do with each other: each pair has one of L labels, or none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Self, cast

import torch
from torch import Tensor

from weft.data.annotations import read_relations
from weft.data.cells import is_blank
from weft.data.predictions import PredictedRelation, Prediction, RelationsPrediction
from weft.data.records import Example, Gold, Input, Relation, Span
from weft.losses import Loss
from weft.metrics.thresholds import choose_threshold
from weft.metrics.wrong_rows import Mistake
from weft.targets import ScoresLoss
from weft.targets.base.annotations import AnnotationTarget, FittedAnnotations, loss_with_none
from weft.tensors import Batch, Scores
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.words import word_range

SpanPair = tuple[Span, Span]


def span_pairs(tokenized_example: TokenizedExample) -> list[SpanPair]:
    """All ordered pairs of different spans that hold a word, in order."""
    spans = dict.fromkeys(tokenized_example.input.spans or ())
    held = [span for span in spans if word_range(tokenized_example.words, span[0], span[1]) is not None]
    return list(permutations(held, 2))


@dataclass(frozen=True)
class RelationsTarget(AnnotationTarget):
    """Labels of ordered pairs of the spans that an input lists; `span_columns` are where rows have these."""

    span_columns: tuple[str, ...] = ("entities", "spans")

    @property
    def fitted(self) -> type[FittedRelations]:
        return FittedRelations

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        if is_blank(cell) or not input.texts:
            return None
        if input.spans is None:
            raise ValueError(f"relations need spans, in the column {' or '.join(map(repr, self.span_columns))}")
        return read_relations(cell, input.spans, self.labels)

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        bounds = [(start, end) for start, end, _ in input.spans or ()]
        relations = cast(tuple[Relation, ...], gold)
        return [[bounds.index(head), bounds.index(tail), label] for head, tail, label in relations]

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        """One relation between the first two spans, now this way round and now the other."""
        names = (*self.labels, "x", "y")[:2]
        golds: list[Gold] = []
        for row, input in enumerate(inputs):
            ends = [(start, end) for start, end, _ in (input.spans or ())[:2]]
            golds.append(((*ends[:: 1 - 2 * (row % 2)], names[row % 2]),) if len(ends) == 2 else ())  # type: ignore[arg-type]
        return golds

    def fit(self, golds: Iterable[Gold]) -> FittedRelations:
        return FittedRelations(self, *self.count_labels(golds))


@dataclass(frozen=True)
class FittedRelations(FittedAnnotations):
    """The labels in order, their training counts, and from which probability a pair is given one.

    Score 0 is that of no label.
    """

    target: RelationsTarget
    threshold: float = 0.5

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.labels) + 1, "label")

    def gold_tensors(self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]) -> list[Tensor]:
        indices = {label: index for index, label in enumerate(self.labels, 1)}
        tensors = []
        for example, tokenized_example in zip(examples, tokenized, strict=True):
            known = {(head, tail): indices[label] for head, tail, label in _relations(example)}
            gold = [known.get((head[:2], tail[:2]), 0) for head, tail in span_pairs(tokenized_example)]
            tensors.append(torch.tensor(gold, dtype=torch.long))
        return tensors

    def build_loss(self, loss: Loss) -> ScoresLoss:
        compute = loss_with_none(loss, len(self.labels), "pairs")

        def of_pairs(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            return compute(scores.values, batch.gold) if len(batch.gold) else scores.values.sum()

        return of_pairs

    def compact(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> Scores:
        """Of each pair the probability of any label, the likeliest label, and its probability: (R, L + 1) → (R, 3)."""
        if not len(scores.values):
            return Scores(scores.values.new_zeros(0, 3, dtype=torch.float64), scores.sizes)
        likely = torch.softmax(scores.values.double(), 1)
        best, label = likely[:, 1:].max(1)
        return Scores(torch.stack([1 - likely[:, 0], label, best], 1), scores.sizes)

    def decode(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        """From compact scores."""
        rows = scores.values.split(list(scores.sizes))
        return [self._decode_text(values, read) for values, read in zip(rows, tokenized, strict=True)]

    def _decode_text(self, values: Tensor, tokenized_example: TokenizedExample) -> RelationsPrediction:
        pairs = zip(span_pairs(tokenized_example), values.tolist(), strict=True)
        relations = (
            PredictedRelation(head, tail, self.labels[int(label)], score)
            for (head, tail), (any_label, label, score) in pairs
            if any_label >= self.threshold
        )
        return RelationsPrediction(tokenized_example.input.texts[0], tuple(relations))

    def calibrate(
        self, scores: Scores, examples: Sequence[Example], tokenized: Sequence[TokenizedExample], metric: str
    ) -> Self:
        golds = [example.gold for example in examples]

        def value(threshold: float) -> float:
            moved = replace(self, threshold=threshold)
            return moved.measure(golds, moved.decode(scores, tokenized), intervals=False).scores[metric]

        relations = sum(len(_relations(example)) for example in examples)
        return replace(self, threshold=choose_threshold(scores.values[:, 0].numpy(), value, relations))

    def without_thresholds(self) -> Self:
        return replace(self, threshold=0.5)

    def find_mistake(self, gold: Gold, prediction: Prediction) -> Mistake | None:
        relations = cast(RelationsPrediction, prediction).relations
        true, given = set(cast(tuple[Relation, ...], gold)), {relation.gold for relation in relations}
        wrong = [relation.score for relation in relations if relation.gold not in true]
        return None if true == given else Mistake(_named(true - given), _named(given - true), max(wrong, default=None))

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [RelationsPrediction(row.texts[0]) for row in rows]  # most pairs have no label

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        """What pairs of spans with such labels had to do with each other most often in training."""
        seen: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for example in train:
            known = {(head, tail): label for head, tail, label in _relations(example)}
            for head, tail in permutations(dict.fromkeys(example.spans or ()), 2):
                seen[head[2], tail[2]][known.get((head[:2], tail[:2]), "")] += 1
        most_common = {ends: min(counts, key=lambda label: (-counts[label], label)) for ends, counts in seen.items()}
        return [
            RelationsPrediction(
                row.texts[0],
                tuple(
                    PredictedRelation(head, tail, label)
                    for head, tail in permutations(dict.fromkeys(row.spans or ()), 2)
                    if (label := most_common.get((head[2], tail[2]), ""))
                ),
            )
            for row in rows
        ]


def _relations(row: Example) -> tuple[Relation, ...]:
    return cast(tuple[Relation, ...], row.gold)


def _named(relations: Iterable[Relation]) -> str:
    """Relations by the characters of their ends and their labels."""
    names = [f"{head[0]}–{head[1]} → {tail[0]}–{tail[1]} {label}" for head, tail, label in sorted(relations)]
    return "; ".join(names) or "–"
