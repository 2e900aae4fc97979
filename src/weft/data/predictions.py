"""What a model answers about a row, one class per kind of answer.

    LabelPrediction      one label
    WithheldPrediction   one label, which is not sure enough to be said
    LabelsPrediction     any number of labels
    ScorePrediction      a number
    SpansPrediction      spans of the text, or a tag for every word
    RelationsPrediction  pairs of spans
    MaskedPrediction     what may stand at masked positions

Each says what it is as plain JSON data, in a few words, and as gold; nobody looks at it to find out which it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

from weft.data.records import Gold, Relation, Span

PlainPrediction = Any  # JSON data: a dict, or for words, spans, relations and masked positions a list of dicts


class Prediction(ABC):
    """The root of all predictions; those of baselines come without scores."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self, scores: bool = False, flags: Mapping[str, bool] | None = None) -> PlainPrediction:
        """Plain data; `scores` adds the probability of every label, `flags` come beside the other keys.

        A list, as of spans, has no place for either.
        """

    def cells(self, scores: bool = False, top: int = 1) -> dict[str, Any]:
        """The same as plain cells, by what stands behind the task's name in the name of their column.

        What is no cell, as a list of spans, is one under the bare name. `flat_row` has the names of all of them.
        """
        return {"": self.to_dict()}

    @abstractmethod
    def in_words(self) -> str:
        """`urgent 93.1 %`, `a 80.0 %, b 61.2 %`, `3.42`, `2 spans`."""

    @property
    @abstractmethod
    def gold(self) -> Gold:
        """The gold answer that says the same."""

    @property
    def spans(self) -> tuple[PredictedSpan, ...] | None:
        """The spans of the text, for predictions that consist of such."""
        return None

    @property
    def confidence(self) -> float:
        """The mean probability of what was given; nan where nothing was, or where nobody said how sure it is."""
        return math.nan

    def given(self) -> tuple[tuple[str, float], ...]:
        """The labels that were given to the row, with their probabilities."""
        return ()

    def label_scores(self) -> Mapping[str, float]:
        """The probability of every label that may be given to the row."""
        return {}

    def likeliest(self, count: int) -> list[tuple[str, float]]:
        """The answer, then the likeliest other labels, as many as asked for or as there are; of a row's one label."""
        return []

    def limited(self, minimum: float, label: str | None = None) -> Prediction:
        """What is left where an answer, or only that of one label, counts from a probability on."""
        return self


@dataclass(frozen=True, slots=True)
class LabelPrediction(Prediction):
    """One label, its probability, and that of every label."""

    label: str
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self, scores: bool = False, flags: Mapping[str, bool] | None = None) -> PlainPrediction:
        more = {"scores": dict(self.scores)} if scores else {}
        return {"label": self.label, "score": self.score, **more, **(flags or {})}

    def cells(self, scores: bool = False, top: int = 1) -> dict[str, Any]:
        found = {"": self.label, "_score": self.score}
        for rank, (label, score) in enumerate(self.likeliest(top)[1:], 2):
            found |= {f"_{rank}": label, f"_{rank}_score": score}
        return {**found, **(_columns(self.scores) if scores else {})}

    def in_words(self) -> str:
        return _named(self.given())

    @property
    def gold(self) -> Gold:
        return self.label

    @property
    def confidence(self) -> float:
        return math.nan if self.score is None else self.score

    def given(self) -> tuple[tuple[str, float], ...]:
        return ((self.label, self.score or 0.0),)

    def label_scores(self) -> Mapping[str, float]:
        return self.scores

    def likeliest(self, count: int) -> list[tuple[str, float]]:
        """The answer first, though another label may be likelier where costs or a threshold decide."""
        return [*self.given(), *((name, self.scores[name]) for name in self._others(self.label))][:count]

    def limited(self, minimum: float, label: str | None = None) -> Prediction:
        """Without a label, no answer that is less likely. A label is given where it is as likely, else the best other.

        Where there is no other, or nothing is known of it, the answer stays.
        """
        if label is None:
            return self if (self.score or 0.0) >= minimum else WithheldPrediction(self.label, self.score, self.scores)
        others = self._others(label)
        if not others or label not in self.scores:
            return self
        reached = self.scores[label] >= minimum
        chosen = label if reached else self.label if self.label != label else others[0]
        return LabelPrediction(chosen, self.scores[chosen], self.scores)

    def _others(self, label: str) -> list[str]:
        """The other labels, the likeliest first."""
        return sorted((name for name in self.scores if name != label), key=lambda name: -self.scores[name])


@dataclass(frozen=True, slots=True)
class WithheldPrediction(LabelPrediction):
    """A label that is not said, since it is not likely enough; how likely it is, is."""

    def to_dict(self, scores: bool = False, flags: Mapping[str, bool] | None = None) -> PlainPrediction:
        return {**LabelPrediction.to_dict(self, scores, flags), "label": None}

    def cells(self, scores: bool = False, top: int = 1) -> dict[str, Any]:
        return {**LabelPrediction.cells(self, scores, top), "": None}

    def in_words(self) -> str:
        return "no answer"


@dataclass(frozen=True, slots=True)
class LabelsPrediction(Prediction):
    """Any number of labels, and the probability of every one; `separator` stands between labels in one cell."""

    labels: tuple[str, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    separator: str = "|"

    def to_dict(self, scores: bool = False, flags: Mapping[str, bool] | None = None) -> PlainPrediction:
        return {"labels": list(self.labels), **({"scores": dict(self.scores)} if scores else {}), **(flags or {})}

    def cells(self, scores: bool = False, top: int = 1) -> dict[str, Any]:
        return {"": self.separator.join(self.labels), **(_columns(self.scores) if scores else {})}

    def in_words(self) -> str:
        return _named(self.given()) or "no label"

    @property
    def gold(self) -> Gold:
        return self.labels

    @property
    def confidence(self) -> float:
        return _mean([self.scores[label] for label in self.labels if label in self.scores])

    def given(self) -> tuple[tuple[str, float], ...]:
        return tuple((label, self.scores.get(label, 0.0)) for label in self.labels)

    def label_scores(self) -> Mapping[str, float]:
        return self.scores

    def limited(self, minimum: float, label: str | None = None) -> Prediction:
        """Every label that is as likely, also those that were not given before; of others than `label` as before."""
        kept = tuple(
            name
            for name, score in self.scores.items()
            if (score >= minimum if label in (None, name) else name in self.labels)
        )
        return LabelsPrediction(kept, self.scores, self.separator)


@dataclass(frozen=True, slots=True)
class ScorePrediction(Prediction):
    """A number on the scale of the data."""

    score: float

    def to_dict(self, scores: bool = False, flags: Mapping[str, bool] | None = None) -> PlainPrediction:
        return {"score": self.score, **(flags or {})}

    def cells(self, scores: bool = False, top: int = 1) -> dict[str, Any]:
        return {"": self.score}

    def in_words(self) -> str:
        return f"{self.score:.2f}"

    @property
    def gold(self) -> Gold:
        return self.score


@dataclass(frozen=True, slots=True)
class PredictedSpan:
    """Characters [start, end) of a text and their label; text and score where a model gave it."""

    start: int
    end: int
    label: str
    text: str = ""
    score: float = 0.0

    @property
    def gold(self) -> Span:
        return self.start, self.end, self.label

    def to_dict(self) -> dict[str, Any]:
        return {"start": self.start, "end": self.end, "text": self.text, "label": self.label, "score": self.score}


@dataclass(frozen=True, slots=True)
class SpansPrediction(Prediction):
    """Spans of a text, in order."""

    found: tuple[PredictedSpan, ...] = ()

    def to_dict(self, scores: bool = False, flags: Mapping[str, bool] | None = None) -> PlainPrediction:
        return [span.to_dict() for span in self.found]

    def in_words(self) -> str:
        return _counted(len(self.found), "span")

    @property
    def gold(self) -> tuple[Span, ...]:
        return tuple(span.gold for span in self.found)

    @property
    def spans(self) -> tuple[PredictedSpan, ...] | None:
        return self.found

    def limited(self, minimum: float, label: str | None = None) -> Prediction:
        """Fewer spans, never more: those that were not given are not known any more."""
        return SpansPrediction(
            tuple(span for span in self.found if span.score >= minimum or label not in (None, span.label))
        )

    @property
    def confidence(self) -> float:
        return _mean([span.score for span in self.found])


@dataclass(frozen=True, slots=True)
class PredictedRelation:
    """A label of an ordered pair of spans."""

    head: Span
    tail: Span
    label: str
    score: float = 0.0

    @property
    def gold(self) -> Relation:
        return self.head[:2], self.tail[:2], self.label


@dataclass(frozen=True, slots=True)
class RelationsPrediction(Prediction):
    """Which spans of a text have to do with each other."""

    text: str
    relations: tuple[PredictedRelation, ...] = ()

    def to_dict(self, scores: bool = False, flags: Mapping[str, bool] | None = None) -> PlainPrediction:
        return [
            {
                "head": self._span(relation.head),
                "tail": self._span(relation.tail),
                "label": relation.label,
                "score": relation.score,
            }
            for relation in self.relations
        ]

    def _span(self, span: Span) -> dict[str, Any]:
        start, end, label = span
        return {"start": start, "end": end, "text": self.text[start:end], "label": label}

    def in_words(self) -> str:
        return _counted(len(self.relations), "relation")

    @property
    def gold(self) -> Gold:
        return tuple(relation.gold for relation in self.relations)

    def limited(self, minimum: float, label: str | None = None) -> Prediction:
        """Fewer relations, never more."""
        kept = (one for one in self.relations if one.score >= minimum or label not in (None, one.label))
        return RelationsPrediction(self.text, tuple(kept))

    @property
    def confidence(self) -> float:
        return _mean([relation.score for relation in self.relations])


class MaskedCounts(NamedTuple):
    """What is measured of a row: its masked positions, how many are right, and the sum of their log likelihoods."""

    own: tuple[int, int, float] = (0, 0, 0.0)
    boundary: tuple[int, int, float] = (0, 0, 0.0)  # the same, as predicted from the tokens beside each span


@dataclass(frozen=True, slots=True)
class MaskedPrediction(Prediction):
    """The likeliest tokens of each masked position; where the gold is known, only how well it was predicted."""

    fillers: tuple[tuple[tuple[str | None, float], ...], ...] = ()
    counts: MaskedCounts = field(default_factory=MaskedCounts)

    def to_dict(self, scores: bool = False, flags: Mapping[str, bool] | None = None) -> PlainPrediction:
        return [
            {
                "label": position[0][0],
                "score": position[0][1],
                "fillers": [{"token": token, "score": score} for token, score in position],
            }
            for position in self.fillers
        ]

    def in_words(self) -> str:
        return ", ".join(str(position[0][0]) for position in self.fillers) or "nothing masked"

    @property
    def gold(self) -> Gold:
        return ()


def _named(given: tuple[tuple[str, float], ...]) -> str:
    return ", ".join(f"{label} {100 * score:.1f}\u00a0%" for label, score in given)


def _columns(scores: Mapping[str, float]) -> dict[str, float]:
    return {f"_score_{label}": score for label, score in scores.items()}


def _mean(scores: Sequence[float]) -> float:
    return fmean(scores) if scores else math.nan


def _counted(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
