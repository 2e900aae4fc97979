"""A label of two texts: paraphrase or not, entailment, duplicate questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Literal

from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.tasks.base.costs import CostsOption
from weft.tasks.base.pair import PairTask
from weft.tasks.base.spellings import SpelledTask


class PairClassification(PairTask, SpelledTask):
    """Reads two texts; answers with a label."""

    kind: Literal["pair_classification"] = "pair_classification"
    example: ClassVar[Mapping[str, Any]] = {
        "train": "pairs.tsv",
        "text": ("sentence1", "sentence2"),
        "label": "is_duplicate",
    }
    label: str = "label"
    """Column of the answer."""
    costs: CostsOption | None = None
    """What wrong answers cost, by the true label and the one that is answered; what is not named costs 1."""

    def gold_column(self, header: Collection[str] = ()) -> str:
        return self.label

    def target(self) -> Target:
        return LabelTarget(labels=self.labels or (), default_metric="accuracy", costs=self.costs)
