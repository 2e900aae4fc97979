"""From one label per class to about a hundred: bring rows of one label together, then fit the heads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from weft.presets import Expansion, Facts, Preset
from weft.presets.fine_tuning import FineTuning


class FewLabels(Preset):
    """Two stages: a supervised contrastive one for the encoder, and a logistic regression on its states.

    The encoder goes three quarters of the way (`interpolate`), which is seldom far from the best and keeps what
    pretraining knew, so nothing has to be held out to find out whether it should have learned at all.
    """

    kind: Literal["few_labels"] = "few_labels"

    steps: Annotated[int, Field(ge=1)] | None = None
    """Steps of the first stage; by the number of labels if unset."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    interpolate: Annotated[float, Field(gt=0, lt=1)] = 0.75

    def expand(self, facts: Facts) -> Expansion:
        compared = [name for name, task in facts.tasks.items() if task.contrasts]
        if not compared or facts.raw or not all(task.fits for task in facts.tasks.values()):  # heads nothing would fit
            return FineTuning().expand(facts)
        fitted = [name for name, task in facts.tasks.items() if task.fits]
        settings = FineTuning().settings(facts)  # for phases that a config names
        if facts.frozen and not facts.conditioned:
            return Expansion(
                [{"fit": "logistic", "tasks": fitted}], settings, ("the encoder is frozen: heads are fitted",)
            )
        steps = self.steps or 60
        contrast: dict[str, Any] = {
            "tasks": compared,
            "loss": "supervised_contrastive",
            "steps": steps,
            "batch_size": 64,
            "batch_tokens": 4096,
            "max_length": 128,
            "learning_rate": self.learning_rate,
            "interpolate": self.interpolate,
        }
        if not facts.frozen:
            contrast["train_layers"] = "blocks"
        reasons = (
            f"{steps} steps that bring rows of one label together, then heads fitted to all rows: few rows per label",
        )
        return Expansion([contrast, {"fit": "logistic", "tasks": fitted}], settings, reasons)
