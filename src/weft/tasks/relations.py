"""What pairs of spans have to do with each other: which medication for which symptom, who works where."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import torch
from pydantic import Field

from weft.data.annotations import list_spans
from weft.data.formats import Row
from weft.data.records import Example, Input, Span
from weft.errors import CellError, DataError
from weft.layers.features import Features
from weft.layers.relations import RelationFeatures
from weft.targets import Target
from weft.targets.relations import RelationsTarget, span_pairs
from weft.tasks.base.words import WordTask
from weft.tensors import Batch, Indices, PairIndex, SpanIndex
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.words import word_range


class Relations(WordTask):
    """Reads a text with the spans that it holds; answers which of them have to do with each other, and how.

    The spans are in the columns `entities` or `spans`; the answer is a list of [head, tail, label], where head and tail
    are indices in the list of spans, from 0. Texts that come without spans take them from another task of the model.
    """

    kind: Literal["relations"] = "relations"
    example: ClassVar[Mapping[str, Any]] = {"train": "related.jsonl", "spans": "spans", "relations": "relations"}
    unstored: ClassVar[Mapping[str, Any]] = {"distance": 0}
    gives_spans: ClassVar[bool] = False
    answer_option: ClassVar[str] = "relations"
    relations: str = "relations"
    """Column of the answer."""
    spans_from: str | None = None
    """The task whose answers stand for the spans where a text comes without them."""
    size: Annotated[int, Field(ge=1)] = 256
    """The width of a pair's vector."""
    distance: Annotated[int, Field(ge=0, le=16)] = 8
    """How many distances between two spans are told apart, on either side: 0, 1, 2 and 3 words between them, 4 to 7,
    8 to 15 and so on, the last for all that are further. With 0, a pair knows neither distance nor order."""
    labels: tuple[str, ...] | None = None
    """All labels; those that occur in training by default."""

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        return [{}, {"distance": 0}]

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.relations

    def with_answer(self, column: str, cell: Any) -> Self:
        return self._with_option(self.answer_option, column)

    def read_input(self, row: Row, *, blank: bool = False) -> Input:
        input = super().read_input(row, blank=blank)
        column = next((name for name in (self.entities, self.spans) if row.columns.get(name) is not None), None)
        if column is None:
            return input
        try:
            return replace(input, spans=list_spans(row.columns[column], input))
        except CellError as error:
            raise DataError(str(error), line=row.line, column=column, general=error.general) from None

    def input_key(self, header: Collection[str]) -> Hashable:
        return super().input_key(header), self.entities, self.spans

    def lacks(self, input: Input) -> str | None:
        return "spans" if input.spans is None and self.spans_from is None else None

    @property
    def spans_source(self) -> str | None:
        return self.spans_from

    @property
    def answer_column(self) -> str:
        return self.relations

    def example_inputs(self, sentences: Sequence[Sequence[str]]) -> list[Input]:
        inputs = super().example_inputs(sentences)
        return [replace(input, spans=tuple((*word, "word") for word in (input.words or ())[:2])) for input in inputs]

    def to_row(self, example: Example) -> dict[str, Any]:
        words = {word: number for number, word in enumerate(example.words or ())}
        spans = [[words[start, end], words[start, end] + 1, label] for start, end, label in example.spans or ()]
        return {**super().to_row(example), self.spans: spans}

    def idle_options(self) -> dict[str, str]:
        return super().idle_options() | {
            "repair": "relations and their spans must be right as they are; leave it out",
            "tags": "spans come from the columns entities or spans; leave it out",
        }

    def target(self) -> Target:
        return RelationsTarget(labels=self.labels or (), span_columns=(self.entities, self.spans))

    def count_outputs(self, tokenized_example: TokenizedExample) -> int:
        return len(span_pairs(tokenized_example))

    def indices(self, tokenized: Sequence[TokenizedExample], batch: Batch) -> Indices:
        first, last, heads, tails = list[int](), list[int](), list[int](), list[int]()
        word = 0
        for tokenized_example in tokenized:
            pairs = span_pairs(tokenized_example)
            index_of: dict[Span, int] = {}
            for span in (span for pair in pairs for span in pair):
                if span not in index_of:
                    held = word_range(tokenized_example.words, span[0], span[1])
                    assert held is not None
                    index_of[span] = len(first)
                    first.append(word + held[0])
                    last.append(word + held[1] - 1)
            heads += [index_of[head] for head, _ in pairs]
            tails += [index_of[tail] for _, tail in pairs]
            word += len(tokenized_example.by_word)
        first_words, last_words, head, tail = (torch.tensor(part).long() for part in (first, last, heads, tails))
        words = super().indices(tokenized, batch)
        return replace(words, spans=SpanIndex(first_words, last_words), pairs=PairIndex(head, tail))

    def build_features(self, width: int) -> Features:
        return RelationFeatures(width, self.size, self.distance)

    def feature_size(self, width: int) -> int:
        return self.size
