"""A config with all that its preset stands for written out."""

from __future__ import annotations

from collections.abc import Mapping

from weft.conditioning.none import Unconditioned
from weft.config.experiment import Experiment, Phase
from weft.presets import Facts, TaskFacts

_NAMED = ("epochs", "learning_rate", "head_learning_rate", "early_stopping_patience")  # say how to learn
_ROWS = 32  # of a batch whose size is given in tokens


def expand(experiment: Experiment, tasks: Mapping[str, TaskFacts]) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment with phases and settings of training that its preset gives, and why, a line each."""
    if not experiment.learned:
        return experiment, ("no task has training rows: the encoder stays as it is",)
    training = experiment.training
    facts = Facts(
        tasks=tasks,
        batch_size=training.batch_size or _ROWS,
        raw=any(task.format is not None for task in experiment.tasks.values()),
        frozen=experiment.encoder.train_layers == 0,
        conditioned=not isinstance(experiment.conditioning, Unconditioned),
        named=tuple(f"training.{name}" for name in _NAMED if getattr(training, name) is not None),
    )
    given = experiment.preset.expand(facts)
    settings = {name: value for name, value in given.training.items() if getattr(training, name) is None}
    phases = experiment.phases or tuple(Phase(**phase) for phase in given.phases)
    fitted = tuple(name for name, task in tasks.items() if task.fits)
    changes = {
        "training": training.model_copy(update=settings),
        "phases": tuple(
            phase if phase.fit is None or phase.tasks is not None else phase.model_copy(update={"tasks": fitted})
            for phase in phases
        ),
    }
    return experiment.model_copy(update=changes), () if experiment.phases else given.reasons
