"""A tag for every word: parts of speech and the like, or BIO tags, which mark spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from weft.baselines.lookup import lookup_spans, lookup_tags
from weft.data.annotations import read_tags
from weft.data.bio import allowed_transitions, spans_of_tags
from weft.data.cells import is_blank
from weft.data.predictions import PredictedSpan, Prediction, SpansPrediction
from weft.data.records import Example, Gold, Input, Span
from weft.errors import ConfigError
from weft.layers.crf import Crf, best_paths, log_partition, marginals, path_scores
from weft.layers.words import first_of_words, mean_by_word
from weft.losses import Loss, LossFunction
from weft.metrics.classification import label_ids
from weft.metrics.outcomes import Outcomes
from weft.metrics.outcomes.counts import AnswerCounts, TagOutcomes
from weft.targets import ScoresLoss, confidences, refuse_merged_labels
from weft.targets.base.annotations import (
    AnnotationTarget,
    FittedAnnotations,
    SpanTarget,
    annotation_outcomes,
    as_prediction,
    gold_spans,
    predicted_span,
    span_details,
    words_of,
)
from weft.targets.base.reading import check_labels
from weft.tensors import Batch, Scores, WordIndex
from weft.tokenization.examples import TokenizedExample, number_words
from weft.tokenization.words import word_range

Decoder = Literal["greedy", "constrained", "crf"]
Subwords = Literal["all", "first"]
SubwordPooling = Literal["first", "combined"]


@dataclass(frozen=True)
class TagOptions:
    """How tags are learned and decided.

    Every sub-word of a word carries the word's tag in training (`subwords` is "all") or only the first. A word's scores
    are those of its first sub-word, or all of them combined: the mean of their distributions, or with a CRF, which has
    scores and no distributions of single words, of their scores.
    """

    decoder: Decoder = "crf"
    subwords: Subwords = "all"
    subword_pooling: SubwordPooling = "first"


@dataclass(frozen=True)
class TagsTarget(AnnotationTarget):
    """A tag for every word, as parts of speech: gold is one span per word."""

    metrics: ClassVar[tuple[str, ...]] = ("accuracy", "f1_macro")
    marks_text: ClassVar[bool] = True

    default_metric: str = "accuracy"
    tags_column: str = "tags"
    tokens_column: str = "tokens"
    options: TagOptions = TagOptions()

    @property
    def fitted(self) -> type[FittedTags]:
        return FittedTags

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        if is_blank(cell) or not input.texts:
            return None
        if column != self.tags_column:
            raise ValueError(f"plain tags are read from the column {self.tags_column!r} beside {self.tokens_column!r}")
        return check_labels(read_tags(cell, input, plain=True), self.labels)

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        return self.tags(gold, input)

    def tags(self, gold: Gold, input: Input) -> list[str]:
        return list(self.labels_in(gold))

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        names = (*self.labels, "p", "q")[:2]
        return [
            tuple((*word, names[(number + row) % 2]) for number, word in enumerate(input.words or ()))
            for row, input in enumerate(inputs)
        ]

    def fit(self, golds: Iterable[Gold]) -> FittedTags:
        return FittedTags(self, *self.count_labels(golds))


@dataclass(frozen=True)
class BioTarget(SpanTarget):
    """Spans that do not overlap, as BIO tags of words."""

    options: TagOptions = TagOptions()

    @property
    def fitted(self) -> type[FittedBio]:
        return FittedBio

    def fit(self, golds: Iterable[Gold]) -> FittedBio:
        return FittedBio(self, *self.count_labels(golds))


@dataclass(frozen=True)
class FittedTags(FittedAnnotations):
    """The labels in order, and their training counts."""

    target: TagsTarget | BioTarget

    @property
    def options(self) -> TagOptions:
        return self.target.options

    @property
    def tags(self) -> tuple[str, ...]:
        """What a word may be tagged with, in the order of the scores."""
        return self.labels

    def tag_counts(self) -> tuple[int, ...]:
        """How often each tag occurred in training."""
        return self.counts

    def may_follow(self) -> list[list[bool]]:
        """Which tag may come after which, (L + 1, L + 1): the last row begins a text, the last column ends it."""
        return [[True] * (len(self.tags) + 1) for _ in range(len(self.tags) + 1)]

    def build_transitions(self) -> nn.Module | None:
        return Crf(self.may_follow()) if self.options.decoder == "crf" else None

    def outputs(self, loss: Loss) -> int:
        return loss.outputs(len(self.tags), "label")

    def gold_tensors(self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]) -> list[Tensor]:
        indices = {tag: index for index, tag in enumerate(self.tags)}
        tensors = []
        for example, tokenized_example in zip(examples, tokenized, strict=True):
            tags = [indices[tag] for tag in self.tags_of(gold_spans(example), tokenized_example)]
            tensors.append(torch.tensor(tags, dtype=torch.long)[torch.from_numpy(tokenized_example.by_word.word)])
        return tensors

    def tags_of(self, spans: Sequence[Span], tokenized_example: TokenizedExample) -> list[str]:
        """The tag of each word that the tokenizer left anything of."""
        tags = {(start, end): label for start, end, label in spans}
        words = zip(tokenized_example.words.char_starts, tokenized_example.words.char_ends, strict=True)
        return [tags.get(word, self.labels[0]) for word in words]

    def answer_loss(self, loss: Loss) -> LossFunction | None:
        """The loss of each sub-word's tag: where tags are told together, still the place to begin from."""
        return loss.build(self.tag_counts(), sum(self.tag_counts()))

    def build_loss(self, loss: Loss) -> ScoresLoss:
        if self.options.decoder == "crf" and loss != self.target.default_loss:
            raise ConfigError("a CRF is trained by the likelihood of whole paths; leave the loss out")
        refuse_merged_labels(loss, len(self.tags))
        compute = loss.build(self.tag_counts(), sum(self.tag_counts()))

        def of_tags(scores: Scores, batch: Batch) -> Tensor:
            assert batch.gold is not None
            if not len(batch.gold):  # texts of nothing that the tokenizer knows
                return scores.values.sum()
            if self.options.decoder == "crf":
                return self._path_loss(scores, batch, batch.gold)
            if self.options.subwords == "all":
                return compute(scores.values, batch.gold)
            firsts = _words_of(batch).first_sub_words
            return compute(scores.values[firsts], batch.gold[firsts])

        return of_tags

    def _path_loss(self, scores: Scores, batch: Batch, gold: Tensor) -> Tensor:
        """Minus the log likelihood of paths through words, and of the tags of further sub-words, per sub-word."""
        assert scores.transitions is not None
        index = _words_of(batch)
        firsts, sizes = index.first_sub_words, index.words_per_example.tolist()
        words = self._emissions(scores.values, index.word_of, firsts)
        path = gold[firsts]
        missed = log_partition(words, sizes, scores.transitions) - path_scores(words, path, sizes, scores.transitions)
        if self.options.subwords == "first" or self.options.subword_pooling == "combined":
            # Further sub-words are not asked, or in the path already.
            return missed.sum() / len(path)
        further = torch.ones_like(gold, dtype=torch.bool)
        further[firsts] = False
        rest = torch.nn.functional.cross_entropy(scores.values[further], gold[further], reduction="sum")
        return (missed.sum() + rest) / len(gold)

    def _emissions(self, values: Tensor, word_of: Tensor, firsts: Tensor) -> Tensor:
        """The scores of words, (P, L) → (U, L)."""
        return values[firsts] if self.options.subword_pooling == "first" else mean_by_word(values, word_of, len(firsts))

    def decode_words(self, scores: Scores, word_of: Tensor, sizes: Sequence[int]) -> tuple[list[int], list[float]]:
        """The tag of each word of all texts end to end, and how likely it is."""
        firsts = first_of_words(word_of)
        if self.options.decoder == "crf":
            assert scores.transitions is not None
            words = self._emissions(scores.values, word_of, firsts)
            chosen, likely = best_paths(words, sizes, scores.transitions), marginals(words, sizes, scores.transitions)
        else:
            likely = self._emissions(torch.softmax(scores.values.double(), 1), word_of, firsts)
            chosen = self._best(likely, sizes) if self.options.decoder == "constrained" else likely.argmax(1)
        return chosen.tolist(), likely.gather(1, chosen.unsqueeze(1)).squeeze(1).tolist()

    def _best(self, likely: Tensor, sizes: Sequence[int]) -> Tensor:
        """The likeliest tags of which each may follow the one before, (U, L) → (U,)."""
        allowed = torch.tensor(self.may_follow())
        transitions = torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)
        least = torch.finfo(likely.dtype).tiny  # a tag that rounds to impossible may still be the only one allowed
        return best_paths(likely.clamp_min(least).log(), sizes, transitions)

    def decode(self, scores: Scores, tokenized: Sequence[TokenizedExample]) -> list[Prediction]:
        sizes = [len(tokenized_example.by_word) for tokenized_example in tokenized]
        chosen, likely = self.decode_words(scores, torch.from_numpy(number_words(tokenized)), sizes)
        begins = list(accumulate([0, *sizes]))
        return [
            SpansPrediction(
                self.spans_of(tokenized_example, [self.tags[tag] for tag in chosen[begin:end]], likely[begin:end])
            )
            for tokenized_example, begin, end in zip(tokenized, begins, begins[1:], strict=False)
        ]

    def spans_of(
        self, tokenized_example: TokenizedExample, tags: Sequence[str], likely: Sequence[float]
    ) -> tuple[PredictedSpan, ...]:
        """What the tags of a text's words say."""
        words = zip(tokenized_example.words.char_starts, tokenized_example.words.char_ends, tags, likely, strict=True)
        return tuple(predicted_span(tokenized_example, start, end, tag, score) for start, end, tag, score in words)

    def outcomes(self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]) -> AnswerCounts:
        names, answers, row_of = _word_by_word(golds, predictions)
        known = (*self.labels, "")  # a word that the tokenizer knew nothing of gets no tag
        gold, given = label_ids(names, known), label_ids(answers, known)
        right = gold == given

        def by_row(tags: Any, rows: Any) -> Any:
            counts = np.bincount(rows * len(known) + tags, minlength=len(golds) * len(known))
            return counts.reshape(len(golds), len(known))

        return TagOutcomes(
            lines=np.asarray(lines),
            scores=confidences(predictions),
            labels=known,
            hits=by_row(gold[right], row_of[right]),
            predicted=by_row(given, row_of),
            gold=by_row(gold, row_of),
        )

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        commonest = self.labels[int(np.argmax(self.counts))]
        return [as_prediction([(start, end, commonest) for start, end, _ in gold_spans(row)]) for row in rows]

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        tags = lookup_tags([_words_and_tags(row) for row in train], [_words_and_tags(row)[0] for row in rows])
        return [
            as_prediction([(start, end, tag) for (start, end, _), tag in zip(gold_spans(row), row_tags, strict=True)])
            for row, row_tags in zip(rows, tags, strict=True)
        ]

    def explain(
        self, scores: Scores, prediction: Prediction, tokenized_example: TokenizedExample
    ) -> tuple[tuple[str, ...], Tensor]:
        """The sum of the scores of the chosen tags at each word of what was given.

        Where nothing was given, the highest score that speaks for a span stands for it; where there are no words, there
        is nothing.
        """
        if not len(tokenized_example.by_word):
            return (), scores.values.sum()
        word_of = torch.from_numpy(tokenized_example.by_word.word)
        chosen, _ = self.decode_words(scores.detached(), word_of, [len(tokenized_example.by_word)])
        values = self._emissions(scores.values, word_of.to(scores.values.device), first_of_words(word_of))
        if not prediction.spans:
            highest = values[:, 1:].max()  # score 0 is that of no span
            column = int((values[:, 1:] == highest).nonzero()[0, 1]) + 1
            return (self.tags[column].partition("-")[2],), highest
        rows = [word for span in words_of(prediction, tokenized_example) for word in range(*span)]
        columns = [chosen[word] for word in rows]
        return tuple(dict.fromkeys(span.label for span in prediction.spans)), values[rows, columns].sum()


@dataclass(frozen=True)
class FittedBio(FittedTags):
    """Spans that do not overlap, as BIO tags of words: O, and for each label a tag to begin and one to go on."""

    @property
    def tags(self) -> tuple[str, ...]:
        return ("O", *(f"{letter}-{label}" for label in self.labels for letter in "BI"))

    def tag_counts(self) -> tuple[int, ...]:
        return (1,) * len(self.tags)  # how many words are outside of all spans is not known

    def may_follow(self) -> list[list[bool]]:
        return allowed_transitions(self.tags)

    def build_loss(self, loss: Loss) -> ScoresLoss:
        if loss.weighting == "balanced":
            raise ConfigError("how many words are outside of all spans is not known; give one number per tag instead")
        return super().build_loss(loss)

    def tags_of(self, spans: Sequence[Span], tokenized_example: TokenizedExample) -> list[str]:
        tags = ["O"] * len(tokenized_example.by_word)
        for start, end, label in spans:
            words = word_range(tokenized_example.words, start, end)
            free = [] if words is None else [word for word in range(*words) if tags[word] == "O"]
            for letter, word in zip("B" + "I" * len(free), free, strict=False):
                tags[word] = f"{letter}-{label}"
        return tags

    def spans_of(
        self, tokenized_example: TokenizedExample, tags: Sequence[str], likely: Sequence[float]
    ) -> tuple[PredictedSpan, ...]:
        spans, _ = spans_of_tags(tags, repair=True)
        starts, ends = tokenized_example.words.char_starts, tokenized_example.words.char_ends
        return tuple(
            predicted_span(tokenized_example, starts[first], ends[last - 1], label, fmean(likely[first:last]))
            for first, last, label in spans
        )

    def outcomes(self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]) -> AnswerCounts:
        return annotation_outcomes(golds, predictions, lines, self.labels)

    def details(self, golds: Sequence[Gold], predictions: Sequence[Prediction], outcomes: Outcomes) -> dict[str, Any]:
        return super().details(golds, predictions, outcomes) | span_details(golds, predictions, self.labels)

    def majority(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        return [SpansPrediction() for _ in rows]  # most words are outside of all spans

    def baseline(self, train: Sequence[Example], rows: Sequence[Example]) -> list[Prediction]:
        known = [(row.texts[0], gold_spans(row)) for row in train]
        return [as_prediction(spans) for spans in lookup_spans(known, [row.texts[0] for row in rows])]


def _word_by_word(golds: Sequence[Any], predictions: Sequence[Any]) -> tuple[list[str], list[str], Any]:
    """The gold tag and the given tag of every word, and the row each word is in."""
    names, answers, row_of = [], [], []
    for row, (gold, given) in enumerate(zip(golds, predictions, strict=True)):
        tags = {(start, end): label for start, end, label in given.gold}
        for start, end, tag in gold:
            names.append(tag)
            answers.append(tags.get((start, end), ""))
            row_of.append(row)
    return names, answers, np.array(row_of, dtype=np.int64)


def _words_and_tags(row: Example) -> tuple[list[str], list[str]]:
    text, spans = row.texts[0], gold_spans(row)
    return [text[start:end] for start, end, _ in spans], [tag for _, _, tag in spans]


def _words_of(batch: Batch) -> WordIndex:
    assert batch.indices.words is not None
    return batch.indices.words
