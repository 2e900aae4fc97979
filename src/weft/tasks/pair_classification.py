"""A label of two texts: paraphrase or not, entailment, duplicate questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

from weft.data.records import Gold, Input
from weft.losses import Loss
from weft.losses.cross_entropy import CrossEntropy
from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.tasks import read_label
from weft.tasks.base.pair import PairTask


class PairClassification(PairTask):
    """Reads two texts; answers with a label."""

    kind: Literal["pair_classification"] = "pair_classification"
    label: str = "label"
    """Column of the answer."""
    labels: tuple[str, ...] | None = None
    """All labels in order; those that occur in training by default."""

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.label

    def read_gold(self, cell: Any, input: Input | None = None, column: str | None = None) -> Gold | None:
        return read_label(cell, self.labels)

    def learn(self, golds: Iterable[Gold]) -> Target:
        return LabelTarget.learn(golds, self.labels)

    def target_from(self, data: dict[str, Any]) -> Target:
        return LabelTarget(**data)

    def default_loss(self) -> Loss:
        return CrossEntropy()

    def default_metric(self) -> str:
        return "accuracy"
