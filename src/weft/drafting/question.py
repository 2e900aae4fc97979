"""A task before it has a name: its kind, what it reads, what it asks for, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.data.opening import UTF8
from weft.drafting.columns import SampledColumn
from weft.drafting.looks import Appearance

TEXT_KINDS = ("classification", "regression")
PAIR_KINDS = ("pair_classification", "similarity")
WORD_KINDS = ("tagging", "spans", "relations")
RAW_KINDS = ("masked_words", "span_boundary", "next_sentence")
KINDS = (*TEXT_KINDS, *PAIR_KINDS, *WORD_KINDS, *RAW_KINDS)


@dataclass(frozen=True)
class Hints:
    """What the user says beside the files, each to help where a look at them leaves doubt."""

    texts: tuple[str, ...] = ()  # columns of the text, or of the two texts of a pair
    labels: tuple[str, ...] = ()  # columns of answers
    kind: str | None = None
    task: str | None = None  # the name of the only task
    encoder: str | None = None
    encoding: str = UTF8  # of the files

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.texts, *self.labels)

    def wants(self, kinds: tuple[str, ...]) -> bool:
        """Whether a task of one of these kinds may be asked for."""
        return self.kind is None or self.kind in kinds


@dataclass(frozen=True)
class Seen:
    """A column and what it looks like."""

    column: SampledColumn
    look: Appearance

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def shown(self) -> str:
        return self.column.shown


@dataclass(frozen=True)
class Question:
    """What is asked of the rows of a data set: options of a task, why each, and what is in doubt about them."""

    kind: str
    reason: str  # for the kind
    answer: str | None  # the column it is in
    options: dict[str, Any] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)  # by option
    remarks: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()

    @property
    def reads_pairs(self) -> bool:
        return self.kind in PAIR_KINDS

    @property
    def summary(self) -> str:
        """Its kind and why, in a line."""
        about = next((self.reasons[key] for key in ("label", "score") if key in self.reasons), "")
        return f"{self.kind}, {self.reason}" + (f" ({about})" if about else "")
