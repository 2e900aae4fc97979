"""The outcomes of several tasks as one safetensors file; no text is in it."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

import weft.metrics.outcomes as package
from weft.data.atomic import write_atomically
from weft.errors import CheckpointError
from weft.metrics.outcomes import Array, Outcomes

OUTCOMES = "outcomes.safetensors"
_KEY = "outcomes"  # of the metadata; only one, since several are written in any order


def write_outcomes(path: Path, outcomes: Mapping[str, Outcomes]) -> None:
    """Write the outcomes by task; the same outcomes give the same bytes."""
    arrays, document = pack(outcomes)

    def write(temporary: Path) -> None:
        try:
            save_file(arrays, temporary, {_KEY: json.dumps(document)})
        except SafetensorError as error:  # which hides that the disk is full
            raise OSError(str(error)) from None

    write_atomically(path, write)


def read_outcomes(path: Path) -> dict[str, Outcomes]:
    """The outcomes by task, as they were written."""
    if not path.exists():
        raise CheckpointError(f"{path} is missing; train again, or copy the folder anew")
    try:
        with safe_open(path, framework="np") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            document = json.loads((file.metadata() or {})[_KEY])
        return unpack(arrays, document)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged or incomplete ({error}); train again, or copy it anew") from None


def pack(outcomes: Mapping[str, Outcomes]) -> tuple[dict[str, Array], list[dict[str, Any]]]:
    """Outcomes as arrays by name and plain JSON data, from which `unpack` makes them again."""
    document = [
        {"task": task, "kind": of_task.kind, "labels": list(of_task.labels)} for task, of_task in outcomes.items()
    ]
    arrays = {
        f"{number}/{name}": _smallest(array)
        for number, of_task in enumerate(outcomes.values())
        for name, array in of_task.arrays().items()
    }
    return arrays, document


def unpack(arrays: Mapping[str, Array], document: Sequence[Mapping[str, Any]]) -> dict[str, Outcomes]:
    """What `pack` was given; raises ValueError for a kind that nobody knows."""
    kinds = _kinds()
    outcomes = {}
    for number, of_task in enumerate(document):
        if of_task["kind"] not in kinds:
            raise ValueError(f"{of_task['kind']!r} is no kind of outcomes; there are: {', '.join(sorted(kinds))}")
        own = {
            name.partition("/")[2]: array.astype(np.int64 if np.issubdtype(array.dtype, np.integer) else np.float64)
            for name, array in arrays.items()
            if name.startswith(f"{number}/")
        }
        outcomes[of_task["task"]] = kinds[of_task["kind"]].from_arrays(own, of_task["labels"])
    return outcomes


def _smallest(array: Array) -> Array:
    """The same numbers, whole ones in as few bytes as hold them all."""
    if not np.issubdtype(array.dtype, np.integer) or not array.size:
        return array
    wanted = np.promote_types(np.min_scalar_type(array.min()), np.min_scalar_type(array.max()))
    return array.astype(wanted)


def _kinds() -> dict[str, type[Outcomes]]:
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return {derived.kind: derived for derived in Outcomes.kinds()}
