"""Encoders as Hugging Face folders: `config.json` and `model.safetensors`, read and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.checkpoints.layouts import LAYOUTS, Layout
from weft.checkpoints.safetensors import read_file, write_tensors
from weft.checkpoints.source import verify_packaged
from weft.data.atomic import write_atomically
from weft.encoder.blank import Blank
from weft.encoder.encoder import Encoder
from weft.errors import CheckpointError

WEIGHTS, INDEX, CONFIG = "model.safetensors", "model.safetensors.index.json", "config.json"


@dataclass(frozen=True)
class LoadReport:
    """How a checkpoint and the encoder fitted together, by the checkpoint's own tensor names."""

    missing: tuple[str, ...] = ()
    surplus: tuple[str, ...] = ()
    mismatched: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{len(names)} {kind} ({', '.join(names[:4])}{', …' if len(names) > 4 else ''})"
            for kind, names in vars(self).items()
            if names
        ]
        return "; ".join(parts) or "every tensor was loaded"


def read_encoder(folder: Path, ignore: Iterable[str] = (), verify: bool = True) -> tuple[Encoder, LoadReport]:
    """The encoder in a Hugging Face folder, in float32.

    Surplus tensors (the heads of another task) are reported; missing or mismatched ones raise. Tensors of a pooler
    are welcome but not required. `ignore` names config keys to pass over;
    `verify` compares packaged weights with their digest.
    """
    raw = read_json(folder / CONFIG)
    layout = layout_of(raw, folder)
    config = layout.read_config(raw, ignore, source=str(folder / CONFIG))
    tensors = normalise_names(read_tensors(folder, verify), layout)
    config = replace(config, with_pooler="pooler.dense.weight" in tensors and "pooler" in layout.modules)
    with Blank(), torch.device("meta"):
        encoder = Encoder(config)
    report = fill_encoder(encoder, tensors, layout, folder)
    return encoder, report


def write_encoder(encoder: Encoder, folder: Path) -> None:
    """Write the encoder so that both weft and `transformers` load it, nothing missing and nothing surplus."""
    layout = LAYOUTS[encoder.config.family]
    state = encoder.state_dict()
    names = layout.names(state)
    tensors = {names[name]: tensor.detach().cpu().contiguous() for name, tensor in state.items()}
    config = json.dumps(layout.write_config(encoder.config), indent=2) + "\n"
    write_atomically(folder / CONFIG, lambda path: path.write_text(config, encoding="utf-8"))
    write_tensors(tensors, folder / WEIGHTS)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a model folder."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        held = ", ".join(sorted(p.name for p in path.parent.glob("*"))[:8]) or "nothing"
        raise CheckpointError(
            f"{path.parent} has no {path.name} (it holds {held}); an encoder folder needs {CONFIG}, {WEIGHTS} and "
            "tokenizer.json"
        ) from None
    except OSError as error:
        raise CheckpointError(f"{path} cannot be opened: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not valid JSON ({error}); copy the file anew") from None
    if not isinstance(raw, dict):
        raise CheckpointError(f"{path} holds a JSON {type(raw).__name__}, but must hold an object; copy the file anew")
    return raw


def layout_of(raw: Mapping[str, Any], folder: Path) -> Layout:
    """The family's table for a config.json."""
    family = raw.get("model_type")
    if family is None:
        raise CheckpointError(
            f"{folder / CONFIG} does not say which family this is; add a model_type, one of: {', '.join(LAYOUTS)}"
        )
    if not isinstance(family, str) or family not in LAYOUTS:
        raise CheckpointError(
            f"{folder / CONFIG} names the model type {family!r}, which weft does not know; known: {', '.join(LAYOUTS)}"
        )
    return LAYOUTS[family]


def read_tensors(folder: Path, verify: bool = True) -> dict[str, Tensor]:
    """All tensors of a folder, from one safetensors file or from shards."""
    if (folder / INDEX).exists() and not (folder / WEIGHTS).exists():
        weight_map = read_json(folder / INDEX).get("weight_map")
        if not isinstance(weight_map, dict):
            raise CheckpointError(f"{folder / INDEX} has no weight_map; copy the file anew")
        shards = sorted({Path(str(name)).name for name in weight_map.values()})
        return {name: tensor for shard in shards for name, tensor in read_file(folder / shard).items()}
    if not (folder / WEIGHTS).exists():
        held = "holds only pytorch_model.bin" if list(folder.glob("pytorch_model*.bin")) else f"has no {WEIGHTS}"
        raise CheckpointError(
            f"{folder} {held}. Copy the folder anew; or where only pytorch_model.bin is published, a pickle that could "
            "run code when opened and that weft never opens, convert it with transformers on a machine where you trust "
            "it, AutoModel.from_pretrained(folder).save_pretrained(new_folder), and use the new folder"
        )
    if verify:
        verify_packaged(folder / WEIGHTS)
    return read_file(folder / WEIGHTS)


def normalise_names(tensors: Mapping[str, Tensor], layout: Layout) -> dict[str, Tensor]:
    """Their tensors without the prefix of a model with heads (`bert.`), and with today's names for norms."""
    anchor = layout.modules["embeddings.words"] + ".weight"
    prefix = next((name.removesuffix(anchor) for name in tensors if name.endswith(anchor)), "")
    bare = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    old = {".gamma": ".weight", ".beta": ".bias"}
    bare = {re.sub(r"\.(gamma|beta)$", lambda m: old[m[0]], name): tensor for name, tensor in bare.items()}
    return {name: tensor for name, tensor in bare.items() if not name.endswith(".position_ids")}


def fill_encoder(encoder: Encoder, tensors: Mapping[str, Tensor], layout: Layout, folder: Path) -> LoadReport:
    """Put the tensors into an encoder built on the meta device; raise where any is missing or of another shape."""
    ours = {theirs: name for name, theirs in layout.names(encoder.state_dict()).items()}
    shapes = {name: tuple(tensor.shape) for name, tensor in encoder.state_dict().items()}
    report = LoadReport(
        missing=tuple(sorted(ours.keys() - tensors.keys())),
        surplus=tuple(sorted(tensors.keys() - ours.keys())),
        mismatched=tuple(
            f"{theirs}: {tuple(tensors[theirs].shape)} in the file, {shapes[name]} by {CONFIG}"
            for theirs, name in ours.items()
            if theirs in tensors and tuple(tensors[theirs].shape) != shapes[name]
        ),
    )
    if report.missing or report.mismatched:
        raise CheckpointError(
            f"{folder}: tensors and {CONFIG} do not belong together: {report}. Use the {CONFIG} that came with the "
            "weights",
            **vars(report),
        )
    state = {name: tensors[theirs].to(torch.float32) for theirs, name in ours.items()}
    encoder.load_state_dict(state, assign=True)
    encoder.requires_grad_(True)
    return report
