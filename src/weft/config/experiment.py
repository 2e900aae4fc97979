"""The whole config file as one Spec."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from weft.conditioning import Conditioning
from weft.conditioning.none import Unconditioned
from weft.config.training import Batching, Training
from weft.encoder.config import EncoderConfig
from weft.losses import Loss
from weft.model.inputs import FLAGS
from weft.presets import Preset
from weft.presets.auto import Auto
from weft.sampling import Sampler
from weft.sampling.round_robin import RoundRobin
from weft.spec import Spec, nearest
from weft.tasks import Task


def _layers(value: Any) -> Any:
    if value in ("all", "blocks") or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError(
        'write "all", "blocks" (all but the embeddings), or how many of the top layers learn (0 for a frozen encoder); '
        "received " + reprlib.repr(value)
    )


TrainLayers = Annotated[Literal["all", "blocks"] | Annotated[int, Field(ge=0)], BeforeValidator(_layers)]


def _plain_name(name: str) -> str:
    if not re.fullmatch(r"[\w-]+", name):
        raise ValueError("a task's name has letters, digits, - and _ only")
    if name in ("overall", *FLAGS):  # `best/overall`, and the columns that stand beside answers
        raise ValueError(f"{name!r} has a meaning of its own; give the task another name")
    return name


def _settle(task: Task) -> Task:
    """A task without rows as it will be, so that a config that is written down says so."""
    return task.settled(0) if task.without_rows else task


def _one_or_several(value: Any) -> Any:
    return {"kind": "combined", "methods": value} if isinstance(value, list | tuple) else value


class Scratch(Spec):
    """An encoder that knows nothing yet, in the shape of BERT."""

    renamed: ClassVar[Mapping[str, str]] = {
        "layers": "num_hidden_layers",
        "width": "hidden_size",
        "heads": "num_attention_heads",
        "inner": "intermediate_size",
        "positions": "max_position_embeddings",
        "dropout": "hidden_dropout_prob",
    }

    tokenizer: str
    """Folder that `weft vocab` wrote, beside the tasks' files or where weft is run."""
    num_hidden_layers: Annotated[int, Field(ge=1)] = 4
    """Layers of the encoder, each attention and a feed-forward part."""
    hidden_size: Annotated[int, Field(ge=2)] = 256
    """Numbers per token between the layers, a multiple of `num_attention_heads`."""
    num_attention_heads: Annotated[int, Field(ge=1)] = 4
    """Attention heads of each layer."""
    intermediate_size: Annotated[int, Field(ge=1)] | None = None
    """Width of the feed-forward layers; four times `hidden_size` if unset."""
    max_position_embeddings: Annotated[int, Field(ge=3)] = 512
    """The most tokens of a row."""
    hidden_dropout_prob: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of the numbers zeroed in training, in attention too."""

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size {self.hidden_size} must be a multiple of num_attention_heads {self.num_attention_heads}"
            )
        return self

    def config(self, vocabulary: int) -> EncoderConfig:
        """The encoder's shape, for a vocabulary of this size."""
        return EncoderConfig(
            vocab_size=vocabulary,
            hidden_size=self.hidden_size,
            num_hidden_layers=self.num_hidden_layers,
            num_attention_heads=self.num_attention_heads,
            intermediate_size=self.intermediate_size or 4 * self.hidden_size,
            max_position_embeddings=self.max_position_embeddings,
            hidden_dropout_prob=self.hidden_dropout_prob,
            attention_probs_dropout_prob=self.hidden_dropout_prob,
        )


class EncoderChoice(Spec):
    """Where the encoder comes from and how much of it trains."""

    renamed: ClassVar[Mapping[str, str]] = {"checkpoint_gradients": "gradient_checkpointing"}

    name: Annotated[str, Field(alias="from")] = "minilm"
    """`minilm` (packaged), a local folder, or a Hub id."""
    scratch: Scratch | None = None
    """Begin from nothing instead, with this shape."""
    revision: str | None = None
    """Branch, tag or commit of a Hub id."""
    train_layers: TrainLayers = "all"
    """How many of the top layers learn: "all" with the embeddings, "blocks" without them, 0 for a frozen encoder.

    Those below run without dropout, so that what they say about a row is computed once, unless a conditioning method
    reaches into them.
    """
    gradient_checkpointing: bool = False
    """Recompute layers in the backward pass: less memory, more time."""

    @model_validator(mode="after")
    def _one_beginning(self) -> Self:
        if self.scratch is not None and (self.name != "minilm" or self.revision is not None):
            raise ValueError(f"an encoder begins from {self.name!r} or from scratch, not from both; remove one of them")
        return self


class Phase(Spec):
    """A stretch of training with its own tasks, rates and batches; what is unset is as in the whole run.

    It learns by each task's own loss, or by one of what heads read (`loss`), or it fits heads at once (`fit`).
    """

    tasks: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names of the tasks that learn; all of them if unset, and with `fit` all whose heads can be fitted."""
    epochs: Annotated[int, Field(ge=1)] | None = None
    """Passes over the rows; as in `training` if unset."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Batches of each task, instead of epochs: for rows so few that an epoch is next to nothing."""
    sampling: Sampler | None = None
    """Which task each step belongs to; as in the whole run if unset."""
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    """Of the encoder; as in `training` if unset."""
    head_learning_rate: Annotated[float, Field(gt=0)] | None = None
    """Of everything outside the encoder; as in `training` if unset."""
    train_layers: TrainLayers | None = None
    """How many of the top layers learn, as in `encoder`, which decides if unset."""
    loss: Loss | None = None
    """A loss of what heads read, as `supervised_contrastive`, for the tasks whose answers it suits; the others learn by
    their own. Batches then hold as many rows of each label."""
    fit: Literal["logistic"] | None = None
    """Fit the heads to the states of all training rows, which are computed once, instead of learning step by step: to
    the least loss of each task, with a penalty on large weights. Nothing else changes."""
    words: bool | None = None
    """With `fit`, whether heads of labels begin with what the labels' words tell, as far as the rows say that these can
    be trusted; they do if unset. Labels without letters tell nothing."""
    interpolate: Annotated[float, Field(gt=0, lt=1)] | None = None
    """How far the encoder goes in the end from where the phase began to where it ended; all the way if unset."""
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """The most rows a batch may hold."""
    batch_tokens: Annotated[int, Field(ge=1)] | None = None
    """The most tokens a batch may hold."""
    max_length: Annotated[int, Field(ge=3)] | None = None
    """Tokens per row while this phase learns, as long as the task's own limit is not lower."""

    @model_validator(mode="after")
    def _one_way_to_learn(self) -> Self:
        if self.epochs is not None and self.steps is not None:
            raise ValueError("a phase has epochs or steps, not both; remove one of them")
        if self.loss is not None and self.loss.reads != "features":
            kinds = [kind for kind, loss in Loss.kinds().items() if loss.reads == "features"]
            name = self.loss.to_dict()["kind"]
            raise ValueError(
                f"loss {name!r} is of what heads say: set it for a task ([tasks.NAME] loss = …); allowed for a phase: "
                + ", ".join(kinds)
            )
        if self.words is not None and self.fit is None:
            raise ValueError('words is about heads that are fitted at once; add fit = "logistic", or leave it out')
        idle = [name for name in type(self).model_fields if name not in ("tasks", "fit", "words", "max_length")]
        if self.fit is not None and (named := [name for name in idle if getattr(self, name) is not None]):
            raise ValueError(f"{', '.join(named)} does nothing where heads are fitted at once; leave it out")
        return self

    def batching(self, whole: Batching) -> Batching:
        """How its rows are gathered into batches, where those of the whole run are gathered like this."""
        if self.batch_size is None and self.batch_tokens is None:
            return whole
        limits = {"batch_size": self.batch_size, "batch_tokens": self.batch_tokens}
        return Batching(**limits, group_by_length=whole.group_by_length)


class Experiment(Spec):
    """One run: an encoder, its tasks, and how they train together."""

    data: str | None = None
    """Folder that the tasks' files are in; by default the config file's own."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 13
    """Decides all that is drawn: held-out rows, initial weights, the order of rows, dropout."""
    encoder: EncoderChoice = EncoderChoice()
    """Where the encoder comes from, and how much of it learns."""
    conditioning: Annotated[
        Conditioning, BeforeValidator(_one_or_several, json_schema_input_type=Conditioning | list[Conditioning])
    ] = Unconditioned()
    """A method, or a list of them."""
    tasks: Annotated[
        dict[Annotated[str, AfterValidator(_plain_name)], Annotated[Task, AfterValidator(_settle)]], Field(min_length=1)
    ]
    """What to learn, a table per task: [tasks.NAME]; a name has letters, digits, - and _ only."""
    sampling: Sampler = RoundRobin()
    """Which task each training step belongs to."""
    preset: Preset = Auto()
    """How to learn where neither phases nor settings of training say."""
    training: Training = Training()
    """How the weights are learned: rates, batches, what is measured on the way."""
    phases: tuple[Phase, ...] = ()
    """Stretches of training, one after the other; those of the preset if none are given."""

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        places = [
            (f"phases.{index}.tasks", name) for index, phase in enumerate(self.phases) for name in phase.tasks or ()
        ]
        if self.training.choose_by != "overall":
            places.append(("training.choose_by", self.training.choose_by))
        wanted = [name for _, name in places]
        if lost := dict.fromkeys((place, name) for place, name in places if name not in self.tasks):
            named = "; ".join(f"{place}: there is no task {name!r}{nearest(name, self.tasks)}" for place, name in lost)
            raise ValueError(f"{named}; the tasks are: {', '.join(self.tasks)}")
        if idle := [repr(name) for name in dict.fromkeys(wanted) if name not in self.learned]:
            raise ValueError(
                f"the task {', '.join(idle)} has no training rows, so it learns in no phase, and nothing can be chosen "
                "by it: take it out of phases and training.choose_by, or name its file of training rows (train)"
            )
        return self

    @property
    def learned(self) -> tuple[str, ...]:
        """The tasks that learn; the others have no rows, and answer by the words of their labels."""
        return tuple(name for name, task in self.tasks.items() if not task.without_rows)

    @property
    def stretches(self) -> tuple[Phase, ...]:
        """The phases, or the single one that there is without any; none where nothing learns."""
        return (self.phases or (Phase(),)) if self.learned else ()

    @property
    def trained_layers(self) -> tuple[TrainLayers, ...]:
        """How much of the encoder learns, phase by phase."""
        layers = [0 if phase.fit is not None else phase.train_layers for phase in self.stretches]
        return tuple(self.encoder.train_layers if choice is None else choice for choice in layers)
