"""Labels of a text: one of several, or any number of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, Self

from pydantic import model_validator

from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.tasks.base.costs import CostsOption
from weft.tasks.base.spellings import SpellingsOption, check_spellings, respell
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
    map: SpellingsOption | None = None
    """Other spellings of labels, mapped before anything else: {pos = "positive", "N/A" = ""}; "" is no answer."""
    costs: CostsOption | None = None
    """What wrong answers cost, by the true label and the one answered, e.g. {urgent = {non-urgent = 20}}; others 1."""

    @classmethod
    def variants(cls) -> list[dict[str, Any]]:
        return [{}, {"multilabel": True}, {"costs": {"a": {"b": 3.0}}}]

    @model_validator(mode="after")
    def _known_spellings(self) -> Self:
        check_spellings(self.map or {}, self.labels)
        return self

    def other_spellings(self) -> Collection[str]:
        return self.map or ()

    def respell(self, cell: Any) -> tuple[Any, list[str]]:
        return respell(cell, self.map or {}, self.separator if self.multilabel else None)

    def idle_options(self) -> dict[str, str]:
        several = {"costs": "every label is decided by itself; leave it out, or leave out multilabel"}
        return super().idle_options() | (several if self.multilabel else {})

    def target(self) -> Target:
        if self.multilabel:
            return LabelsTarget(labels=self.labels or (), separator=self.separator)
        return LabelTarget(labels=self.labels or (), costs=self.costs)
