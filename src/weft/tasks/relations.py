"""What pairs of spans have to do with each other: which medication for which symptom, who works where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from weft.data.annotations import list_spans, read_relations
from weft.data.records import Content, Gold, Span
from weft.layers.features import Reader
from weft.layers.relations import RelationReader
from weft.losses import Loss
from weft.losses.cross_entropy import CrossEntropy
from weft.targets import Target
from weft.targets.relations import RelationsTarget, pairs_of
from weft.tasks.base.words import WordTask
from weft.tensors import Batch
from weft.tokenization.examples import Reading
from weft.tokenization.words import word_range


class Relations(WordTask):
    """Reads a text in which spans are marked; answers which of them have to do with each other, and how.

    The spans are in the columns `entities` or `spans`; the answer is a list of [head, tail, label], where head and tail
    are places in the list of spans, counted from 0. Texts without marks take them from another task of the model.
    """

    kind: Literal["relations"] = "relations"
    reads_marks: ClassVar[bool] = True
    relations: str = "relations"
    """Column of the answer."""
    spans_from: str | None = None
    """The task whose answers stand for the spans where a text comes without them."""
    size: Annotated[int, Field(ge=1)] = 256
    """The width of a pair's vector."""
    labels: tuple[str, ...] | None = None
    """All labels; those that occur in training by default."""

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.relations

    def mend(self, cell: Any, content: Content, column: str) -> tuple[Any, Counter[str]]:
        return cell, Counter()

    def read_marks(self, columns: Mapping[str, Any], content: Content) -> tuple[Span, ...] | None:
        cell = next((columns[name] for name in (self.entities, self.spans) if columns.get(name) is not None), None)
        return None if cell is None else list_spans(cell, content)

    def read_gold(self, cell: Any, content: Content | None = None, column: str | None = None) -> Gold | None:
        assert content is not None
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return None
        if content.spans is None:
            raise ValueError(f"relations need spans, in the column {self.entities!r} or {self.spans!r}")
        return read_relations(cell, content.spans, self.labels)

    def learn(self, golds: Iterable[Gold]) -> Target:
        return RelationsTarget.learn(golds, self.labels)

    def target_from(self, data: dict[str, Any]) -> Target:
        return RelationsTarget(**data)

    def default_loss(self) -> Loss:
        return CrossEntropy()

    def default_metric(self) -> str:
        return "f1"

    def answers(self, reading: Reading) -> int:
        return len(pairs_of(reading))

    def layout(self, readings: Sequence[Reading], batch: Batch) -> dict[str, Tensor]:
        first, last, heads, tails = list[int](), list[int](), list[int](), list[int]()
        word = 0
        for reading in readings:
            pairs = pairs_of(reading)
            places: dict[Span, int] = {}
            for span in (span for pair in pairs for span in pair):
                if span not in places:
                    held = word_range(reading.words, span[0], span[1])
                    assert held is not None
                    places[span] = len(first)
                    first.append(word + held[0])
                    last.append(word + held[1] - 1)
            heads += [places[head] for head, _ in pairs]
            tails += [places[tail] for _, tail in pairs]
            word += len(reading.by_word)
        found = {"span_first": first, "span_last": last, "pair_head": heads, "pair_tail": tails}
        tensors = {name: torch.tensor(values, dtype=torch.long) for name, values in found.items()}
        return {**super().layout(readings, batch), **tensors}

    def build_reader(self, width: int) -> Reader:
        return RelationReader(width, self.size)

    def inputs(self, width: int) -> int:
        return self.size
