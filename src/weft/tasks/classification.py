"""Labels of a text: one of several, or any number of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from weft.data.records import Gold, Input
from weft.losses import Loss
from weft.losses.binary import Binary
from weft.losses.cross_entropy import CrossEntropy
from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.tasks import read_label
from weft.tasks.base.text import TextTask


class Classification(TextTask):
    """Reads a text; answers with a label, or with `multilabel` with any number of labels.

    A cell with several labels is a JSON list, or one text with `separator` between the labels. A blank cell means that
    the row has no answer for this task; a lone separator, or an empty list, that no label applies.
    """

    kind: Literal["classification"] = "classification"
    multilabel: bool = False
    separator: str = "|"
    labels: tuple[str, ...] | None = None
    """All labels in order; those that occur in training by default. `ordinal` losses need the order."""

    def read_gold(self, cell: Any, input: Input | None = None, column: str | None = None) -> Gold | None:
        if not self.multilabel:
            return read_label(cell, self.labels)
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            return None
        parts = cell if isinstance(cell, list | tuple) else str(cell).split(self.separator)
        found = (read_label(part, self.labels) for part in parts)
        return tuple(dict.fromkeys(label for label in found if label is not None))

    def learn(self, golds: Iterable[Gold]) -> Target:
        return (LabelsTarget if self.multilabel else LabelTarget).learn(golds, self.labels)

    def target_from(self, data: dict[str, Any]) -> Target:
        return (LabelsTarget if self.multilabel else LabelTarget)(**data)

    def default_loss(self) -> Loss:
        return Binary() if self.multilabel else CrossEntropy()

    def default_metric(self) -> str:
        return "f1_micro" if self.multilabel else "f1_macro"
