"""The rooms of a config, in the order in which people meet them, and the Spec behind each."""

from __future__ import annotations

from dataclasses import dataclass

from weft.comparison.grid import Grid
from weft.conditioning import Conditioning
from weft.config.experiment import EncoderChoice, Experiment, Phase, Scratch
from weft.config.training import Training
from weft.heads import Head
from weft.losses import Loss
from weft.pooling import Pooler
from weft.presets import Preset
from weft.sampling import Sampler
from weft.spec import Spec
from weft.tasks import Task


@dataclass(frozen=True)
class Place:
    """Where a Spec stands in a config."""

    name: str  # of the room
    key: str  # as a config writes it, which is a name of the room too
    spec: type[Spec]
    written: str
    summary: str


ROOMS = (
    Place("config", "experiment", Experiment, "the file itself", "What stands at the top of a config."),
    Place("tasks", "task", Task, "[tasks.NAME]", "What is read of each row, and what it is answered with."),
    Place("encoder", "encoder", EncoderChoice, "[encoder]", "Where the encoder comes from and how much of it trains."),
    Place("scratch", "scratch", Scratch, "[encoder.scratch]", "The shape of an encoder that begins from nothing."),
    Place("training", "training", Training, "[training]", "Rates, batches, and what is measured on the way."),
    Place("presets", "preset", Preset, "preset", "How to learn where a config does not say."),
    Place("phases", "phase", Phase, "[[phases]]", "Stretches of training, one after the other."),
    Place("heads", "head", Head, "tasks.NAME.head", "From what a task reads to its scores."),
    Place("pooling", "pooler", Pooler, "tasks.NAME.pooling", "One vector of a text out of those of its tokens."),
    Place("losses", "loss", Loss, "tasks.NAME.loss, phases.loss", "How far scores are from what is right."),
    Place(
        "conditioning", "conditioner", Conditioning, "[conditioning]", "What the encoder is told of task and labels."
    ),
    Place("sampling", "sampler", Sampler, "[sampling], phases.sampling", "Which task each training step belongs to."),
    Place("grid", "compare", Grid, "a file of its own, for weft compare", "Which methods to compare, and how."),
)
