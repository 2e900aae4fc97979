"""weft: one encoder, many tasks, few labels."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    "CheckpointError": "weft.errors",
    "ConfigError": "weft.errors",
    "DataError": "weft.errors",
    "Model": "weft.model.model",
    "TextEncoder": "weft.model.embed",
    "TruncationWarning": "weft.errors",
    "WeftError": "weft.errors",
    "load": "weft.model.model",
    "load_encoder": "weft.model.embed",
    "train": "weft.training.run",
}

__all__ = sorted(_PLACES)  # resolved on first use, so that `import weft` stays quick


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
