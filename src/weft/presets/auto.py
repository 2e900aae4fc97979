"""The preset that suits the rows there are."""

from __future__ import annotations

from typing import Literal

from weft.presets import Expansion, Facts, Preset, has_few_labels
from weft.presets.few_labels import FewLabels
from weft.presets.fine_tuning import FineTuning


class Auto(Preset):
    """`few_labels` where all tasks have labels of rows and few rows of each, else `fine_tuning`.

    Few are up to a hundred rows of the label in the middle, up to fifteen where a row has one of more than six labels.

    Where the config says how to learn (`training.epochs`, a learning rate), it is `fine_tuning` with these settings.
    """

    kind: Literal["auto"] = "auto"

    def expand(self, facts: Facts) -> Expansion:
        if (
            facts.tasks
            and not facts.raw
            and not facts.named
            and all(has_few_labels(task) for task in facts.tasks.values())
        ):
            return FewLabels().expand(facts)
        return FineTuning().expand(facts)
