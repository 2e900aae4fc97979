"""Spans of a text with their labels, nested ones too: entities, symptoms, arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field

from weft.layers.candidates import candidates, count_candidates
from weft.layers.features import Features
from weft.layers.spans import ContentOf, Ends, SpanFeatures
from weft.targets import Target
from weft.targets.spans import SpansTarget
from weft.tasks.base.words import WordTask
from weft.tensors import Batch, Indices, SpanIndex
from weft.tokenization.examples import TokenizedExample


class Spans(WordTask):
    """Reads a text; answers with spans of its words, each with a label; one may lie in another.

    Every span of up to `max_width` words is looked at: its two ends, its content and its width. Spans without a label
    in the data ([start, end] alone) are only found, not named.
    """

    kind: Literal["spans"] = "spans"
    example: ClassVar[Mapping[str, Any]] = {"train": "marked.jsonl", "tokens": "tokens", "spans": "spans"}
    max_width: Annotated[int, Field(ge=1, le=64)] = 12
    """The most words of a span; wider ones cannot be found."""
    flat: bool = False
    """Whether spans may not overlap; of those that do, the set that is likeliest is given."""
    ends: Ends = "networks"
    """What is made of a span's first and last word: `plain`, one matrix each, or `networks`, two layers each."""
    content: ContentOf = "mean"
    """What is made of the words between: their `mean`, their mean weighted by `attention`, or `none`."""
    size: Annotated[int, Field(ge=1)] = 256
    """The width of a span's vector."""
    negatives: Annotated[float, Field(gt=0)] | None = None
    """Spans without a label to learn from, for each one with a label, drawn anew in every step; all if unset."""
    labels: tuple[str, ...] | None = None
    """All labels; those that occur in training by default."""

    def target(self) -> Target:
        return SpansTarget(
            labels=self.labels or (),
            tags_column=self.tags,
            repairs=self.repair,
            flat=self.flat,
            max_width=self.max_width,
            negatives=self.negatives,
        )

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        plain, sampled = {"content": "attention", "ends": "plain"}, {"negatives": 20.0, "content": "none"}
        return [{}, {"flat": True}, plain, sampled]

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        return count_candidates(len(tokenized_example.by_word), self.max_width)

    def indices(self, tokenized: Sequence[TokenizedExample], batch: Batch) -> Indices:
        sizes = [len(tokenized_example.by_word) for tokenized_example in tokenized]
        begins = np.cumsum([0, *sizes])
        found = [candidates(size, self.max_width) for size in sizes]
        first, last = (
            torch.from_numpy(np.concatenate([one[end] + begin for one, begin in zip(found, begins, strict=False)]))
            for end in (0, 1)
        )
        return replace(super().indices(tokenized, batch), spans=SpanIndex(first, last))

    def build_features(self, width: int) -> Features:
        return SpanFeatures(width, self.size, self.max_width, self.ends, self.content)

    def feature_size(self, width: int) -> int:
        return self.size
