"""What targets about annotated texts have in common: reading spans and tags, labels, and how good predictions are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from weft.data.annotations import are_named, read_spans, read_tags, refuse_overlaps, repair_spans, repair_tags
from weft.data.bio import tags_of_spans
from weft.data.cells import is_blank
from weft.data.predictions import PredictedSpan, Prediction, SpansPrediction
from weft.data.records import Example, Gold, Input, Span
from weft.errors import ConfigError
from weft.losses import Loss, LossFunction, TargetType
from weft.losses.cross_entropy import CrossEntropy
from weft.metrics.outcomes.counts import AnnotationOutcomes, AnswerCounts
from weft.metrics.sections import ClassTable, Section, TableSection
from weft.metrics.spans import SPAN_ERRORS, count_spans, nested_recall, span_errors
from weft.metrics.wrong_rows import Mistake, listed_spans
from weft.targets import FittedTarget, Measures, Target, confidences, refuse_merged_labels
from weft.targets.base.reading import check_labels
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.words import word_range

_ABOUT_ERRORS = (
    "True spans were predicted right, with the wrong type (label), with the wrong boundary, with both wrong, or missed;"
    " spurious are predicted spans where none is."
)


@dataclass(frozen=True)
class AnnotationTarget(Target):
    """A target whose gold is a set of annotations, each of which ends with its label."""

    target_type: ClassVar[TargetType] = "label"
    metrics: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall", "f1_macro")

    default_metric: str = "f1"

    @property
    def default_loss(self) -> Loss:
        return CrossEntropy()

    def stratum(self, gold: Gold) -> Hashable:
        return bool(gold)  # whether there is any

    def key(self, gold: Gold) -> Hashable:
        return frozenset(cast(tuple[Any, ...], gold))

    def labels_in(self, gold: Gold) -> Iterable[str]:
        return (label for *_, label in cast(tuple[Any, ...], gold))

    def count_labels(self, golds: Iterable[Gold]) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The labels that occur, by name, or those of the options, and how often each does."""
        counts = Counter(label for gold in golds for label in self.labels_in(gold))
        names = self.labels or tuple(sorted(counts))
        return names, tuple(counts[name] for name in names)


@dataclass(frozen=True)
class SpanTarget(AnnotationTarget):
    """A target whose gold is spans, read from a column of tags or from one of spans."""

    marks_text: ClassVar[bool] = True

    tags_column: str = "tags"
    repairs: bool = False  # whether wrong tags and spans are mended instead of refused
    flat: bool = True  # whether two spans of one text may not share a character

    def read(self, cell: Any, input: Input, column: str) -> Gold | None:
        if is_blank(cell) or not input.texts:
            return None
        spans = read_tags(cell, input, plain=False) if column == self.tags_column else read_spans(cell, input)
        if self.flat:
            refuse_overlaps(spans)
        return check_labels(spans, self.labels)

    def cell(self, gold: Gold, input: Input, column: str) -> Any:
        """Spans of tokens where the input knows its words, otherwise of characters."""
        if input.words is None:
            return [list(span) for span in cast(tuple[Span, ...], gold)]
        return self.tags(gold, input) if column == self.tags_column else list(map(list, _in_words(gold, input)))

    def tags(self, gold: Gold, input: Input) -> list[str]:
        return tags_of_spans(_in_words(gold, input), len(input.words or ()))

    def repair(self, cell: Any, input: Input, column: str) -> tuple[Any, Counter[str]]:
        if not self.repairs:
            return cell, Counter()
        tagged = column == self.tags_column
        cell, done = repair_tags(cell) if tagged else repair_spans(cell, input, flat=self.flat)
        return cell, Counter({f"{what} (repair)": count for what, count in done.items()})

    def are_named(self, cell: Any, column: str) -> Collection[bool]:
        return () if column == self.tags_column else are_named(cell)

    def find_problems(
        self, examples: Sequence[Example], tokenized: Sequence[TokenizedExample]
    ) -> Iterator[tuple[str, int]]:
        """Spans that no prediction can be equal to."""
        for example, tokenized_example in zip(examples, tokenized, strict=True):
            words = tokenized_example.words
            for start, end, _ in gold_spans(example):
                held = word_range(words, start, end)
                if held is None or (words.char_starts[held[0]], words.char_ends[held[1] - 1]) != (start, end):
                    message = "have a span that is not of whole words as the tokenizer sees them"
                    yield f"{message}, and cannot be found exactly", example.line
                elif message := self.too_wide(held[1] - held[0]):
                    yield message, example.line

    def too_wide(self, words: int) -> str:
        """What is wrong with a span of so many words; nothing by default."""
        return ""

    def example_golds(self, inputs: Sequence[Input]) -> list[Gold]:
        first, second = (*self.labels, "x", "y")[:2]
        flat = ([(0, 0, first)], [(0, 1, second)])
        nested = ([(0, 1, second), (0, 0, first)], [(1, 1, second)])
        return [_spans_of_words(input, (flat if self.flat else nested)[row % 2]) for row, input in enumerate(inputs)]


@dataclass(frozen=True)
class FittedAnnotations(FittedTarget):
    """The labels of annotations in order, and how often each occurred in training."""

    baseline_name: ClassVar[str] = "lookup"

    target: AnnotationTarget
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "counts", tuple(self.counts))

    @property
    def label_counts(self) -> tuple[int, ...]:
        return self.counts

    def outcomes(self, golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int]) -> AnswerCounts:
        return annotation_outcomes(golds, predictions, lines, self.labels)

    def find_mistake(self, gold: Gold, prediction: Prediction) -> Mistake | None:
        """The spans that were missed and those that are not true; as sure as the surest of the latter."""
        spans = prediction.spans or ()
        true, given = set(cast(tuple[Span, ...], gold)), {span.gold for span in spans}
        wrong = [span.score for span in spans if span.gold not in true]
        missed, surplus = listed_spans(true - given), listed_spans(given - true)
        return None if true == given else Mistake(missed, surplus, max(wrong, default=None))

    def support(self, prediction: Prediction, other: Prediction, kept: Sequence[int]) -> float:
        """The mean over the given spans of the score of what is left of them; 0 for what is not given any more."""
        left = set(kept)
        scores = {(kept[span.start], kept[span.end - 1], span.label): span.score for span in other.spans or ()}
        spans, total = prediction.spans or (), 0.0
        for span in spans:
            letters = (span.start + n for n, letter in enumerate(span.text) if not letter.isspace())
            if remaining := [letter for letter in letters if letter in left]:
                total += scores.get((remaining[0], remaining[-1], span.label), 0.0)
        return total / len(spans)

    def report_sections(self, measures: Measures) -> list[Section]:
        sections: list[Section] = [ClassTable(measures.details["per_class"], spans=True)]
        if errors := measures.details.get("errors"):
            columns = ("Label", *(error.capitalize() for error in SPAN_ERRORS))
            counts = [(label, *(of_label[error] for error in SPAN_ERRORS)) for label, of_label in errors.items()]
            sections.append(TableSection("Boundary and type errors", columns, counts, _ABOUT_ERRORS))
        if nested := measures.details.get("nested"):
            names = {"inside": "inside another", "outside": "around another", "flat": "neither"}
            supports = {key: int(nested[f"{key}_support"]) for key in names}
            rows = [(name, nested[key] if supports[key] else None, supports[key]) for key, name in names.items()]
            sections.append(TableSection("Recall of nested spans", ("True spans", "Recall", "Support"), rows))
        return sections


def _in_words(gold: Gold, input: Input) -> list[tuple[int, int, str]]:
    """Spans of whole words of the input as the words [first, stop) and their label."""
    first = {start: number for number, (start, _) in enumerate(input.words or ())}
    last = {end: number for number, (_, end) in enumerate(input.words or ())}
    return [(first[start], last[end] + 1, label) for start, end, label in cast(tuple[Span, ...], gold)]


def _spans_of_words(input: Input, spans: Sequence[tuple[int, int, str]]) -> tuple[Span, ...]:
    """Spans of words (first, last, label), as far as the input has these words, in characters."""
    words = input.words or ()
    return tuple((words[first][0], words[last][1], label) for first, last, label in spans if last < len(words))


def loss_with_none(loss: Loss, labels: int, noun: str) -> LossFunction:
    """A loss over the scores of no label and of each label; raises for one that cannot tell them apart."""
    if loss.weighting == "balanced":
        raise ConfigError(f"how many {noun} have no label is not known; give a number for none and for each label")
    refuse_merged_labels(loss, labels + 1)
    return loss.build((1,) * (labels + 1))


def predicted_span(
    tokenized_example: TokenizedExample, start: int, end: int, label: str, score: float
) -> PredictedSpan:
    """A span of a text, with the text."""
    return PredictedSpan(start, end, label, tokenized_example.input.texts[0][start:end], score)


def as_prediction(spans: Iterable[Span]) -> SpansPrediction:
    """Spans as a prediction without text and score, as baselines give them."""
    return SpansPrediction(tuple(PredictedSpan(*span) for span in spans))


def gold_spans(row: Example) -> tuple[Span, ...]:
    """The gold spans of a row."""
    return cast(tuple[Span, ...], row.gold)


def words_of(prediction: Prediction, tokenized_example: TokenizedExample) -> Iterator[tuple[int, int]]:
    """The words [first, stop) of each span."""
    for span in prediction.spans or ():
        held = word_range(tokenized_example.words, span.start, span.end)
        assert held is not None
        yield held


def annotation_outcomes(
    golds: Sequence[Gold], predictions: Sequence[Prediction], lines: Sequence[int], labels: tuple[str, ...]
) -> AnnotationOutcomes:
    """How many annotations of each row and label are right, were given and are true."""
    gold: Any = golds
    given: Any = [prediction.gold for prediction in predictions]
    hits, predicted, true = np.moveaxis(count_spans(gold, given, labels), 2, 0)
    return AnnotationOutcomes(
        lines=np.asarray(lines),
        scores=confidences(predictions),
        labels=labels,
        hits=hits,
        predicted=predicted,
        gold=true,
    )


def span_details(
    golds: Sequence[Gold], predictions: Sequence[Prediction], labels: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """What went wrong with the spans of each label; where spans are nested, also their recall by where they lie."""
    gold: Any = golds
    predicted = [cast(tuple[Span, ...], prediction.gold) for prediction in predictions]
    nested = nested_recall(gold, predicted)
    return {"errors": span_errors(gold, predicted, labels)} | ({"nested": nested} if nested["inside_support"] else {})
