"""From one label per class to about a hundred: bring rows of one label together, then fit the heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from weft.presets import FEW_LABELS, Expansion, Facts, Preset, TaskFacts
from weft.presets.fine_tuning import FineTuning

_STEPS, _BATCH = 30, 64


class FewLabels(Preset):
    """Two stages: one that brings rows of one label together, and a logistic regression on the encoder's states.

    The encoder goes three quarters of the way (`interpolate`), which is seldom far from the best and keeps what
    pretraining knew, so nothing has to be held out to find out whether it should have learned at all.
    """

    kind: Literal["few_labels"] = "few_labels"

    steps: Annotated[int, Field(ge=1)] | None = None
    """Steps of the first stage; if unset, 30 where all rows of a task are one batch, else 60."""
    learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    """Of the encoder in the first stage."""
    interpolate: Annotated[float, Field(gt=0, lt=1)] = 0.75
    """How far the encoder goes from where it began to where the first stage ended."""
    loss: Literal["supervised_contrastive", "pairwise_cosine"] | None = None
    """Of the first stage; if unset, `pairwise_cosine` where the rows of every task have one of at most six labels, else
    `supervised_contrastive`."""
    temperature: Annotated[float, Field(gt=0)] = 0.1
    """Of `supervised_contrastive`: the smaller, the more it is about the nearest rows."""
    words: bool = True
    """Whether heads begin with what the words of labels tell, as far as the rows say that these can be trusted."""

    def expand(self, facts: Facts) -> Expansion:
        compared = [name for name, task in facts.tasks.items() if task.contrasts]
        single = not compared and any(task.labels for task in facts.tasks.values())
        if facts.raw or not (compared or single) or not all(task.fits for task in facts.tasks.values()):
            return FineTuning().expand(facts)  # or some heads would stay as they are
        settings = FineTuning().settings(facts)  # for phases that a config names
        fit: dict[str, Any] = {"fit": "logistic", "tasks": list(facts.tasks)}
        if not self.words:
            fit["words"] = False
        if single:
            return Expansion([fit], settings, ("no label has two rows of one text: heads are fitted",))
        if facts.frozen and not facts.conditioned:
            return Expansion([fit], settings, ("the encoder is frozen: heads are fitted",))
        largest = max(facts.tasks[name].rows for name in compared)
        steps = self.steps or (_STEPS if largest <= _BATCH else 2 * _STEPS)
        contrast: dict[str, Any] = {
            "tasks": compared,
            "loss": self._loss([facts.tasks[name] for name in compared]),
            "steps": steps,
            "batch_size": _BATCH,
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
        return Expansion([contrast, fit], settings, reasons)

    def _loss(self, tasks: Sequence[TaskFacts]) -> dict[str, Any]:
        """The loss of the first stage, as in a config."""
        few = all(task.exclusive and task.labels <= FEW_LABELS for task in tasks)  # 1 and 0 tear nothing apart then
        if self.loss == "pairwise_cosine" or (self.loss is None and few):
            return {"kind": "pairwise_cosine"}
        return {"kind": "supervised_contrastive", "temperature": self.temperature}
