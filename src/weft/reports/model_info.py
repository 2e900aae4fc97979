"""What a model folder is: its tasks, how good they are, its encoder, and how it came about."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from weft.checkpoints.hf import CONFIG, read_encoder
from weft.checkpoints.source import find_folder
from weft.encoder.encoder import Encoder
from weft.errors import CheckpointError
from weft.model.evaluate import hidden_names
from weft.model.folder import DOCUMENT, REPORT, load_network
from weft.model.network import Network
from weft.reports.record import RunRecord, TaskRecord, read_record


@dataclass(frozen=True)
class TaskInfo:
    """One task of a model; what was never measured is None."""

    kind: str
    labels: tuple[str, ...]  # other names for those that could be texts
    metric: str  # the one chosen by
    value: float | None = None
    interval: tuple[float, float] | None = None
    rows: int | None = None  # measured on
    reported_on: str | None = None  # the part of the data they are
    trained_on: int | None = None  # rows
    calibrated: bool | None = None
    costs: dict[str, dict[str, float]] | None = None


@dataclass(frozen=True)
class EncoderInfo:
    """The encoder, whatever it was trained for."""

    family: str
    layers: int
    width: int
    heads: int
    vocabulary: int
    max_length: int  # tokens of a text
    parameters: int
    name: str | None = None  # what it was begun from


@dataclass(frozen=True)
class ModelInfo:
    """A model folder, or that of an encoder, which has no tasks."""

    folder: str
    encoder: EncoderInfo
    bytes: int  # of the folder's own files
    tasks: dict[str, TaskInfo] = field(default_factory=dict)
    conditioning: str | None = None
    added_parameters: int | None = None  # of heads and conditioning
    weft: str | None = None  # the version that wrote it
    created: str | None = None
    seed: int | None = None
    seconds: float | None = None  # of training
    peak_memory_mib: float | None = None  # while training
    device: str | None = None
    precision: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def read_model_info(name: str | os.PathLike[str]) -> ModelInfo:
    """What is known of a weft model, of `minilm`, or of an encoder's folder or Hub id; raises for anything else."""
    if Path(name).is_file():
        raise CheckpointError(f"{name} is a file, but a model is a folder; name a folder that `weft train` wrote")
    folder = find_folder(name)
    if (folder / DOCUMENT).is_file():
        return _of_model(folder)
    if not (folder / CONFIG).is_file():
        held = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise CheckpointError(
            f"{folder} is no model: it has neither {DOCUMENT} (a model of weft) nor {CONFIG} (an encoder), but {held}; "
            "name a folder that `weft train` wrote and finished, or minilm"
        )
    encoder, _ = read_encoder(folder)
    return ModelInfo(str(name), _encoder_info(encoder), _size(folder))


def _of_model(folder: Path) -> ModelInfo:
    network = load_network(folder)
    record = read_record(folder) if (folder / REPORT).is_file() else RunRecord()
    encoder = _encoder_info(network.encoder, record.encoder.name if record.encoder else None)
    return ModelInfo(
        folder=str(folder),
        encoder=encoder,
        bytes=_size(folder),
        tasks={name: _task_info(name, network, record.tasks.get(name)) for name in network.tasks},
        conditioning=network.conditioning.to_dict()["kind"],
        added_parameters=sum(parameter.numel() for parameter in network.parameters()) - encoder.parameters,
        weft=record.weft,
        created=record.created,
        seed=record.seed,
        seconds=record.seconds,
        peak_memory_mib=record.peak_memory_mib,
        device=record.device,
        precision=record.precision,
    )


def _task_info(name: str, network: Network, record: TaskRecord | None) -> TaskInfo:
    options, target = network.tasks[name].to_dict(), network.targets[name]
    hidden = hidden_names(target)
    labels = tuple(hidden.get(label, label) for label in target.labels)
    own = TaskInfo(options["kind"], labels, network.metric(name), costs=options.get("costs"))
    if record is None:
        return own
    return TaskInfo(
        kind=own.kind,
        labels=labels,
        metric=record.chosen,
        value=record.value,
        interval=record.interval,
        rows=record.result.rows,
        reported_on=record.reported_on,
        trained_on=record.rows.get("train"),
        calibrated=record.calibrated,
        costs=own.costs,
    )


def _encoder_info(encoder: Encoder, name: str | None = None) -> EncoderInfo:
    config = encoder.config
    return EncoderInfo(
        family=config.family,
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        heads=config.num_attention_heads,
        vocabulary=config.vocab_size,
        max_length=config.max_length,
        parameters=sum(parameter.numel() for parameter in encoder.parameters()),
        name=name or None,
    )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
