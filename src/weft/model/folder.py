"""A model folder: a network written down, and read again, also by what wrote it earlier.

model.safetensors   every weight, under the name of its module
tokenizer.json      the tokenizer
weft.json           the format, the encoder's sizes, the conditioning method, tasks and targets
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.checkpoints.hf import WEIGHTS, read_json
from weft.checkpoints.safetensors import read_file, write_tensors
from weft.conditioning import Conditioning
from weft.corpus.files import corpus_files
from weft.data.atomic import write_atomically
from weft.data.opening import UTF8, EncodedFile
from weft.encoder.blank import Blank
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import CheckpointError, ConfigError, DataError
from weft.model.network import Network
from weft.spec import parse
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer

DOCUMENT, REPORT = "weft.json", "report.json"
FORMAT = 3
UNSCALED = 2  # the last format whose heads read vectors of any length


@dataclass(frozen=True)
class Renames:
    """What the following format calls otherwise; options of Specs keep their older names by themselves."""

    tensors: Mapping[str, str]  # the first part of a tensor's name
    targets: Mapping[str, str]  # a key of a target's data
    options: frozenset[str]  # keys of a target's data that the task has too, and that are not stored twice any more


RENAMES = {
    1: Renames(
        tensors={"readers": "features", "steps": "transitions"},
        targets={"spread": "std"},
        options=frozenset({"bound", "widest", "flat", "negatives", "decoder", "learned", "decided", "beside"}),
    ),
    2: Renames(tensors={}, targets={}, options=frozenset()),
}


def save_network(network: Network, folder: Path) -> None:
    """Write weights, tokenizer and everything needed to build the network anew into a folder."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    write_tensors(tensors, folder / WEIGHTS)
    network.tokenizer.save(folder)
    document = {
        "format": FORMAT,
        "encoder": asdict(network.encoder.config),
        "conditioning": network.conditioning.to_dict(),
        "tasks": {name: task.model_options() for name, task in network.tasks.items()},
        "targets": {name: target.to_dict() for name, target in network.targets.items()},
    }
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    write_atomically(folder / DOCUMENT, lambda path: path.write_text(text, encoding="utf-8"))


def load_network(folder: Path) -> Network:
    """The network in a folder that `save_network` wrote, of this format or an older one; nothing else is needed."""
    document = read_json(folder / DOCUMENT)
    renames = _renames_since(document.get("format"), folder)
    Task.kinds()  # a plugin that cannot be loaded is no fault of this folder
    try:
        network = _build(document, renames, folder)
    except ConfigError as error:
        raise CheckpointError(
            f"{folder / DOCUMENT} holds what this weft does not know ({error}); install the plugin, or the version of "
            "weft, that the model was made with"
        ) from None
    except (AttributeError, KeyError, TypeError) as error:
        raise CheckpointError(f"{folder / DOCUMENT} is not complete ({error}); copy the folder anew") from None
    tensors = read_file(folder / WEIGHTS)
    for older in renames:
        tensors = {_rename_tensor(name, older.tensors): tensor for name, tensor in tensors.items()}
    _fill(network, tensors, folder)
    return network.eval()


def gold_files(folder: Path, tasks: Sequence[str]) -> dict[str, EncodedFile]:
    """The test file of each task that a model folder was trained with, or its dev file where it had none."""
    if not (folder / REPORT).exists():
        raise ConfigError(f"{folder} does not say what it was trained on (it has no {REPORT}); name a file with --data")
    report = read_json(folder / REPORT)
    try:
        data, described = Path(report["data"]), tomllib.loads(report["config"])["tasks"]
        files = {name: described[name].get("test") or described[name].get("dev") for name in tasks}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CheckpointError(f"{folder / REPORT} does not say where the rows are; name a file with --data") from None
    without = [name for name, file in files.items() if not isinstance(file, str)]
    if without:
        which, own = ("tasks", "files of their own") if len(without) > 1 else ("task", "file of its own")
        raise ConfigError(f"the {which} {', '.join(without)} had no {own} to measure on; name one with --data")
    return {name: EncodedFile(data / str(file), described[name].get("encoding", UTF8)) for name, file in files.items()}


def learned_from(folder: Path, file: Path, tasks: Sequence[str]) -> list[str]:
    """The tasks of a model folder that learned from this very file, as far as it says what it was trained on."""
    named = _files_of(folder, tasks, ("train",)) if file.exists() else {}
    return [name for name, files in named.items() if any(map(file.samefile, files))]


def reported_on(folder: Path, file: Path | None, tasks: Sequence[str]) -> list[str]:
    """The tasks whose report is about the rows of this very file and of no other; without a file, all of them."""
    if file is None:
        return list(tasks)
    named = _files_of(folder, tasks, ("test", "dev")) if file.exists() else {}
    return [name for name, files in named.items() if len(files) == 1 and file.samefile(files[0])]


def _files_of(folder: Path, tasks: Sequence[str], splits: Sequence[str]) -> dict[str, list[Path]]:
    """The files of the first of these splits that each task names and that are still there, where the folder says."""
    if not (folder / REPORT).exists():
        return {}
    report = read_json(folder / REPORT)
    try:
        data, described = Path(report["data"]), tomllib.loads(report["config"])["tasks"]
        named = {name: next(filter(None, map(described[name].get, splits)), None) for name in tasks}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return {name: _existing(data, files) for name, files in named.items()}


def _existing(data: Path, named: Any) -> list[Path]:
    """The files that a config means and that are still there."""
    patterns = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    with suppress(DataError):
        return [path for pattern in patterns for path in corpus_files(data / pattern)]
    return []


def _renames_since(version: Any, folder: Path) -> list[Renames]:
    """The tables that lead from a format to today's, in order."""
    readable = [*RENAMES, FORMAT]
    if version not in readable:
        raise CheckpointError(
            f"{folder / DOCUMENT} has format {version!r}, but this weft reads 1 to {FORMAT}; a "
            "newer weft may have written it"
        )
    return [RENAMES[older] for older in readable[readable.index(version) : -1]]


def _build(document: Mapping[str, Any], renames: list[Renames], folder: Path) -> Network:
    """The network a document describes, its weights not yet set."""
    tasks = {name: _stored_task(data) for name, data in document["tasks"].items()}
    if document["format"] <= UNSCALED:
        tasks = {name: _unscaled(task) for name, task in tasks.items()}
    targets = {name: tasks[name].target().load(_today(data, renames)) for name, data in document["targets"].items()}
    conditioning = parse(Conditioning, document["conditioning"])
    with Blank():
        with torch.device("meta"):
            encoder = Encoder(EncoderConfig(**document["encoder"]))
        return Network(encoder, Tokenizer.from_folder(folder), tasks, targets, conditioning)


def _stored_task(data: Mapping[str, Any]) -> Task:
    """The task that was stored, as it was also where it has options today that nobody had then."""
    task = parse(Task, data)
    return task.model_copy(update={name: value for name, value in task.unstored.items() if name not in data})


def _unscaled(task: Task) -> Task:
    """The task as it was when heads read vectors as long as they came."""
    if "pooling" in task.idle_options():
        return task
    return task.model_copy(update={"pooling": task.pooler.model_copy(update={"scaled": False})})


def _today(data: Mapping[str, Any], renames: list[Renames]) -> dict[str, Any]:
    """A target's data under today's keys."""
    for older in renames:
        data = {older.targets.get(key, key): value for key, value in data.items() if key not in older.options}
    return dict(data)


def _rename_tensor(name: str, parts: Mapping[str, str]) -> str:
    first, dot, rest = name.partition(".")
    return parts.get(first, first) + dot + rest


def _fill(network: Network, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Put tensors into a network, all of them and no others."""
    own = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    missing, surplus = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    mismatched = sorted(name for name in own.keys() & tensors.keys() if own[name] != tuple(tensors[name].shape))
    if missing or surplus or mismatched:
        raise CheckpointError(
            f"{folder / WEIGHTS} and {DOCUMENT} do not belong together: missing {missing[:3]}, surplus {surplus[:3]}, "
            f"mismatched {mismatched[:3]}; copy the folder anew",
            missing=missing,
            surplus=surplus,
            mismatched=mismatched,
        )
    network.load_state_dict(dict(tensors), assign=True)
    network.requires_grad_(True)
