"""The whole config file as one Spec."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from weft.conditioning import Conditioning
from weft.conditioning.none import Unconditioned
from weft.encoder.config import EncoderConfig
from weft.errors import ConfigError
from weft.sampling import Sampler
from weft.sampling.round_robin import RoundRobin
from weft.spec import Spec, nearest, parse
from weft.tasks import Task
from weft.training.batches import Batching

TrainLayers = Literal["all"] | Annotated[int, Field(ge=0)]


def _plain_name(name: str) -> str:
    if not re.fullmatch(r"[\w-]+", name):
        raise ValueError(f"a task's name has letters, digits, - and _ only; received {name!r}")
    if name in ("overall", "truncated"):  # `best/overall`, and the column that says which texts were cut
        raise ValueError(f"{name!r} has a meaning of its own; give the task another name")
    return name


def _one_or_several(value: Any) -> Any:
    return {"kind": "combined", "methods": value} if isinstance(value, list | tuple) else value


class Scratch(Spec):
    """An encoder that knows nothing yet, in the shape of BERT."""

    tokenizer: str
    """Folder that `weft vocab` wrote, beside the tasks' files or where weft is run."""
    layers: Annotated[int, Field(ge=1)] = 4
    width: Annotated[int, Field(ge=2)] = 256
    heads: Annotated[int, Field(ge=1)] = 4
    inner: Annotated[int, Field(ge=1)] | None = None
    """Width of the feed-forward layers; four times `width` if unset."""
    positions: Annotated[int, Field(ge=3)] = 512
    """The most tokens of a row."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} must be a multiple of heads {self.heads}")
        return self

    def config(self, vocabulary: int) -> EncoderConfig:
        """The encoder's shape, for a vocabulary of this size."""
        return EncoderConfig(
            vocab_size=vocabulary,
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=self.inner or 4 * self.width,
            max_position_embeddings=self.positions,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.dropout,
        )


class EncoderChoice(Spec):
    """Where the encoder comes from and how much of it trains."""

    name: Annotated[str, Field(alias="from")] = "minilm"
    """`minilm` (packaged), a local folder, or a Hub id."""
    scratch: Scratch | None = None
    """Begin from nothing instead, with this shape."""
    revision: str | None = None
    """Branch, tag or commit of a Hub id."""
    train_layers: TrainLayers = "all"
    """How many of the top layers learn: "all" with the embeddings, 0 for a frozen encoder."""
    checkpoint_gradients: bool = False
    """Recompute layers in the backward pass: less memory, more time."""

    @model_validator(mode="after")
    def _one_beginning(self) -> Self:
        if self.scratch is not None and (self.name != "minilm" or self.revision is not None):
            raise ValueError(f"an encoder begins from {self.name!r} or from scratch, not from both; remove one of them")
        return self


class Training(Batching):
    """How the weights are learned."""

    epochs: Annotated[int, Field(ge=1)] = 3
    learning_rate: Annotated[float, Field(gt=0)] = 5e-5
    head_learning_rate: Annotated[float, Field(gt=0)] | None = None
    """For everything outside the encoder; the same as `learning_rate` if unset."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Factor on the learning rate from each layer to the one below."""
    warmup_ratio: Annotated[float, Field(ge=0, le=1)] = 0.1
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    max_grad_norm: Annotated[float, Field(ge=0)] = 1.0
    """Longest gradient of a step; 0 for no limit."""
    accumulate: Annotated[int, Field(ge=1)] | None = None
    """Batches per step of the optimizer; 1 if unset, and one per task with `pcgrad`."""
    loss_weights: Literal["fixed", "uncertainty"] = "fixed"
    """`fixed`: each task's `weight`; `uncertainty`: learned beside it (Kendall et al. 2018)."""
    conflict: Literal["ignore", "pcgrad"] = "ignore"
    """What to do where tasks' gradients point against each other (`pcgrad`: Yu et al. 2020)."""
    dev_rows: Annotated[int, Field(ge=1)] = 2000
    """Most dev rows per task to look at after each epoch; the final report looks at all."""
    early_stopping: Annotated[int, Field(ge=1)] | None = None
    """Stop a phase after so many evaluations without gain."""
    choose_by: str = "overall"
    """What the best weights are: `overall` (mean gain over each task's majority baseline), or a task's name."""
    keep_best_per_task: bool = True
    """Also keep the weights that were best for each task, in `best/`."""
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """`auto`: bf16 on a GPU that has it, else fp32."""
    baselines: bool = True
    """Also measure the commonest answer and a method without an encoder, to see whether the encoder earns its keep."""
    samples: Annotated[int, Field(ge=0)] = 0
    """How many texts of each task about words the report shows, with what is marked in them. None unless asked for:
    not everybody who may read a report may read the texts."""
    trackers: tuple[Literal["tensorboard", "mlflow", "wandb"], ...] = ()
    """Where else to log, through accelerate; nowhere by default."""


class Phase(Spec):
    """A stretch of training with its own tasks, sampler and learning rate; what is unset is as in the whole run."""

    tasks: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    epochs: Annotated[int, Field(ge=1)] | None = None
    sampling: Sampler | None = None
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    head_learning_rate: Annotated[float, Field(gt=0)] | None = None
    train_layers: TrainLayers | None = None


class Experiment(Spec):
    """One run: an encoder, its tasks, and how they train together."""

    data: str | None = None
    """Folder that the tasks' files are in; by default the config file's own."""
    seed: int = 13
    encoder: EncoderChoice = EncoderChoice()
    conditioning: Annotated[Conditioning, BeforeValidator(_one_or_several)] = Unconditioned()
    """A method, or a list of them."""
    tasks: Annotated[dict[Annotated[str, AfterValidator(_plain_name)], Task], Field(min_length=1)]
    sampling: Sampler = RoundRobin()
    training: Training = Training()
    phases: tuple[Phase, ...] = ()
    """Stretches of training, one after the other; a single one with all tasks if none are given."""

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        wanted = [name for phase in self.phases for name in phase.tasks or ()]
        if self.training.choose_by != "overall":
            wanted.append(self.training.choose_by)
        unknown = [repr(name) + nearest(name, self.tasks) for name in dict.fromkeys(wanted) if name not in self.tasks]
        if unknown:
            raise ValueError(f"there is no task {', '.join(unknown)}; the tasks are: {', '.join(self.tasks)}")
        return self


def read_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """The experiment in a TOML file, with `key=value` overrides; raises one ConfigError with every fault."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no config file {path}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path} is a folder, but a config is a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be opened: {error.strerror}") from None
    return parse_experiment(document, overrides)


def parse_experiment(document: dict[str, Any], overrides: Sequence[str] = ()) -> Experiment:
    """The experiment in a plain document."""
    for override in overrides:
        document = apply_override(document, override)
    return parse(Experiment, document)


def data_folder(home: Path, experiment: Experiment, override: str | os.PathLike[str] | None) -> Path:
    """The folder of the data: the one given, else the config's `data` beside the config file, else the file's own."""
    if override is not None:
        return Path(override)
    return home / Path(experiment.data).expanduser() if experiment.data else home


def apply_override(document: dict[str, Any], override: str) -> dict[str, Any]:
    """The document with one dotted `key=value` set; the value is read as TOML, else taken as text."""
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise ConfigError(f"--set {override!r} has no value; write it as key=value, for example training.epochs=5")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    return _with_value(document, key.strip().split("."), value, override)


def _with_value(document: Any, path: list[str], value: Any, override: str) -> dict[str, Any]:
    if isinstance(document, str):  # a kind given by name alone takes options too
        document = {"kind": document}
    if not isinstance(document, dict):
        raise ConfigError(f"--set {override!r}: {path[0]!r} is inside something that is not a table")
    if len(path) == 1:
        return {**document, path[0]: value}
    return {**document, path[0]: _with_value(document.get(path[0], {}), path[1:], value, override)}
