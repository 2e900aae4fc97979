"""Tensors in safetensors files that carry the digest of what they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from weft.data.atomic import write_atomically
from weft.errors import CheckpointError


def write_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write a safetensors file that carries the digest of its own tensors, which `read_tensors` checks."""
    metadata = {"format": "pt", "sha256": digest(tensors)}

    def write(temporary: Path) -> None:
        try:
            save_file(dict(tensors), temporary, metadata)
        except SafetensorError as error:  # which hides that the disk is full
            raise OSError(str(error)) from None

    write_atomically(path, write)


def read_file(path: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file, checked for damage as far as the file allows."""
    if not path.exists():
        raise CheckpointError(f"{path} is missing; copy the folder anew")
    try:
        with safe_open(path, framework="pt") as file:
            # Cloned, since tensors lie in the file unaligned, and there matrix products may round otherwise.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a dict)
            promised = (file.metadata() or {}).get("sha256")
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged or incomplete ({error}); copy the file anew") from None
    if promised is not None and promised != digest(tensors):
        raise CheckpointError(f"{path} is damaged: its tensors do not match their checksum; copy the file anew")
    broken = [name for name, tensor in tensors.items() if tensor.is_floating_point() and not tensor.isfinite().all()]
    if broken:
        raise CheckpointError(f"{path} is damaged: not a number in {', '.join(broken[:4])}; copy the file anew")
    return tensors


def digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, types, shapes and values, whatever the order."""
    total = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return total.hexdigest()
