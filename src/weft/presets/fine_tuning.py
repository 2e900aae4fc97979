"""Heads fitted to the encoder as it is, then all learned together."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from weft.presets import Expansion, Facts, Preset, has_few_labels


class FineTuning(Preset):
    """Plain fine-tuning from a good start: heads begin as a logistic regression on the encoder's states.

    Tasks with few rows beside others with many get their heads fitted once more in the end.
    """

    kind: Literal["fine_tuning"] = "fine_tuning"

    steps: Annotated[int, Field(ge=1)] = 300
    """Steps to take at least, as whole epochs, up to `most_epochs` of them; never fewer than `least_epochs`."""
    least_epochs: Annotated[int, Field(ge=1)] = 4
    most_epochs: Annotated[int, Field(ge=1)] = 20

    def expand(self, facts: Facts) -> Expansion:
        fitted = [name for name, task in facts.tasks.items() if task.fits]
        few = [name for name in fitted if has_few_labels(facts.tasks[name])]
        settings = self.settings(facts)
        phases: list[dict[str, Any]] = [{"fit": "logistic", "tasks": fitted}] if fitted else []
        phases.append({})
        reasons = [f"{settings['epochs']} epochs: {_batches(facts):,} steps in each"]
        if few and len(few) < len(facts.tasks):
            phases.append({"fit": "logistic", "tasks": few})
            reasons.append(f"heads of {', '.join(few)} fitted once more in the end: few rows per label beside many")
        return Expansion(phases, settings, tuple(reasons))

    def settings(self, facts: Facts) -> dict[str, Any]:
        """How long and at which rates to learn, for phases that do not say."""
        epochs = min(max(math.ceil(self.steps / _batches(facts)), self.least_epochs), self.most_epochs)
        return {"epochs": epochs, "learning_rate": 1e-4, "head_learning_rate": 1e-3}


def _batches(facts: Facts) -> int:
    """Of one pass over the rows of the largest task."""
    longest = max((task.rows for task in facts.tasks.values()), default=1)
    return max(1, math.ceil(longest / facts.batch_size))
