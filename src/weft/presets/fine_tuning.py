"""Heads fitted to the encoder as it is, then all learned together."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from weft.presets import Expansion, Facts, Preset


class FineTuning(Preset):
    """Plain fine-tuning from a good start: heads begin as a logistic regression on the encoder's states."""

    kind: Literal["fine_tuning"] = "fine_tuning"

    steps: Annotated[int, Field(ge=1)] = 300
    """Steps to take at least, as whole epochs, up to `most_epochs` of them; never fewer than `least_epochs`."""
    least_epochs: Annotated[int, Field(ge=1)] = 4
    """The fewest passes over the rows of the largest task."""
    most_epochs: Annotated[int, Field(ge=1)] = 20
    """The most passes over the rows of the largest task."""

    def expand(self, facts: Facts) -> Expansion:
        fitted = [name for name, task in facts.tasks.items() if task.fits]
        settings = self.settings(facts)
        phases: list[dict[str, Any]] = [{"fit": "logistic", "tasks": fitted}] if fitted else []
        phases.append({})
        start = ", from heads fitted to the encoder as it is" if fitted else ""
        reason = f"{settings['epochs']} epochs of about {_batches(facts):,} steps{start}"
        return Expansion(phases, settings, () if "training.epochs" in facts.named or facts.raw else (reason,))

    def settings(self, facts: Facts) -> dict[str, Any]:
        """How long and at which rates to learn, for phases that do not say."""
        if facts.raw:
            return {"epochs": 3, "learning_rate": 5e-5, "head_learning_rate": 5e-5}
        epochs = min(max(math.ceil(self.steps / _batches(facts)), self.least_epochs), self.most_epochs)
        return {"epochs": epochs, "learning_rate": 1e-4, "head_learning_rate": 1e-3}


def _batches(facts: Facts) -> int:
    """Of one pass over the rows of the largest task."""
    longest = max((task.rows for task in facts.tasks.values()), default=1)
    return max(1, math.ceil(longest / facts.batch_size))
