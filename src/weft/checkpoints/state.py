"""The state of an unfinished run on disk: one safetensors file and one JSON file, no pickle.

`state.json` is replaced atomically and names the tensor file it belongs to, so a state is whole or
the one before it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from weft.checkpoints.hf import read_json
from weft.checkpoints.safetensors import read_file, write_tensors
from weft.data.atomic import write_atomically
from weft.errors import CheckpointError

STATE = "state.json"
FORMAT = 2  # of names and keys; a run goes on only in the one it was started in


def save_state(folder: Path, document: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write a state; the one before it is removed only when the new one is complete."""
    path = folder / _tensors_of(document)
    write_tensors({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    save_document(folder, document)
    for old in folder.glob("state-*.safetensors"):
        if old != path:
            old.unlink()


def save_document(folder: Path, document: Mapping[str, Any]) -> None:
    """Write the plain data of a state whose tensors, those of the same moment, are there already."""
    text = json.dumps({**document, "format": FORMAT, "tensors": _tensors_of(document)})
    write_atomically(folder / STATE, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _tensors_of(document: Mapping[str, Any]) -> str:
    """The file of a state's tensors: another for every moment, for an epoch may end with weights that no step gave."""
    return "state-{phase}-{epoch}-{step}.safetensors".format_map(document)


def load_state(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """The last whole state, or None where the run had not come to its first."""
    document = read_document(folder)
    return None if document is None else (document, read_file(folder / document.pop("tensors")))


def read_document(folder: Path) -> dict[str, Any] | None:
    """The plain data of the last whole state, None where there is none; raises for a state of another version."""
    if not (folder / STATE).exists():
        return None
    document: dict[str, Any] = read_json(folder / STATE)
    if document.pop("format", None) != FORMAT:
        raise CheckpointError(
            f"{folder} was started with another version of weft, whose unfinished runs this one cannot go on with; "
            "finish it with that version, or remove the folder and start anew"
        )
    return document


def remove_state(folder: Path) -> None:
    """Remove what only an unfinished run needs."""
    for path in (folder / STATE, *folder.glob("state-*.safetensors")):
        path.unlink(missing_ok=True)


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with a prefix before each name."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that `prefixed` named, under their own names."""
    start = f"{prefix}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def optimizer_tensors(optimizer: torch.optim.Optimizer, named: Mapping[str, nn.Parameter]) -> dict[str, Tensor]:
    """An optimizer's moments and step counts, by the names of the parameters they belong to."""
    return {
        f"{name}|{key}": value
        for name, parameter in named.items()
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def restore_optimizer(
    optimizer: torch.optim.Optimizer, named: Mapping[str, nn.Parameter], tensors: Mapping[str, Tensor]
) -> None:
    """Give an optimizer back what `optimizer_tensors` took."""
    fused = bool(optimizer.defaults.get("fused"))  # the fused kernel wants its step counts beside the parameters
    for name, parameter in named.items():
        own = {full.rpartition("|")[2]: value for full, value in tensors.items() if full.rpartition("|")[0] == name}
        if own:
            optimizer.state[parameter] = {
                key: value.to(parameter.device) if fused or key != "step" else value for key, value in own.items()
            }
