"""What targets about marked texts have in common: their labels, marks as predictions, and how good they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

from weft.data.records import Example, Gold, Prediction, Span
from weft.errors import ConfigError
from weft.losses import Loss, LossFunction, TargetType
from weft.metrics.bootstrap import intervals_of
from weft.metrics.spans import count_spans, nested_recall, per_label, span_scores
from weft.targets import Measures, Target, refuse_merged_labels
from weft.tokenization.examples import TokenizedExample


@dataclass(frozen=True)
class AnnotationTarget(Target):
    """A target whose gold is a set of marks that end with their labels: these, and how often each occurred."""

    target_type: ClassVar[TargetType] = "label"
    without_encoder: ClassVar[str] = "lookup"
    metrics: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall", "f1_macro")

    labels: tuple[str, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))  # lists, when read from JSON
        object.__setattr__(self, "counts", tuple(self.counts))

    @classmethod
    def learn(cls, golds: Iterable[Any], labels: Sequence[str] | None = None, **options: Any) -> Self:
        """The labels that occur, by name, or those given."""
        counts = Counter(label for marks in golds for *_, label in marks)
        names = tuple(labels) if labels else tuple(sorted(counts))
        return cls(names, tuple(counts[name] for name in names), **options)


def loss_with_none(loss: Loss, labels: int, noun: str) -> LossFunction:
    """A loss over the scores of no label and of each label; raises for one that cannot tell them apart."""
    if getattr(loss, "class_weights", None) == "balanced":
        raise ConfigError(f"how many {noun} have no label is not known; give a number for none and for each label")
    refuse_merged_labels(loss, labels + 1)
    return loss.build((1,) * (labels + 1))


def marked(tokenized_example: TokenizedExample, start: int, end: int, label: str, score: float) -> dict[str, Any]:
    """One marked part of a text."""
    text = tokenized_example.input.texts[0][start:end]
    return {"start": start, "end": end, "text": text, "label": label, "score": score}


def as_spans(spans: Sequence[Span]) -> list[dict[str, Any]]:
    """Spans as predictions without text and score, as baselines give them."""
    return [{"start": start, "end": end, "label": label} for start, end, label in spans]


def gold_spans(row: Example) -> tuple[Span, ...]:
    """What is marked in a row."""
    return cast(tuple[Span, ...], row.gold)


def spans_in(prediction: Prediction) -> tuple[Span, ...]:
    """The spans of a prediction."""
    return tuple((one["start"], one["end"], one["label"]) for one in prediction)


def measure_spans(
    golds: Sequence[Gold],
    predictions: Sequence[Prediction],
    labels: Sequence[str],
    metrics: Sequence[str],
    intervals: bool,
) -> Measures:
    """As `measure_marks`; where spans are nested, also by where they lie."""
    gold: Any = golds
    found = [spans_in(one) for one in predictions]
    measures = measure_marks(golds, found, labels, metrics, intervals)
    nested = nested_recall(gold, found)
    return replace(measures, details={**measures.details, "nested": nested}) if nested["inside_support"] else measures


def measure_marks(
    golds: Sequence[Gold],
    found: Sequence[Sequence[tuple[Any, ...]]],
    labels: Sequence[str],
    metrics: Sequence[str],
    intervals: bool,
) -> Measures:
    """Strict precision, recall and F1 of marks that end with their labels, over all of them and by label."""
    gold: Any = golds
    counts = count_spans(gold, found, labels)
    scores, details = span_scores(counts), {"labels": list(labels), "per_class": per_label(counts, labels)}
    if not intervals:
        return Measures(scores, {}, details)

    def resampled(rows: Any) -> dict[str, float]:
        return span_scores(counts[rows])

    return Measures(scores, intervals_of(resampled, len(counts), metrics, rounds=500), details)
