"""Columns as a frame of pandas or polars, which are imported only where a frame is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from weft.errors import ConfigError

FrameBuilder = Callable[[Mapping[str, Sequence[Any]]], Any]


def frame_builder(like: object) -> FrameBuilder:
    """The function from columns to a frame: of polars where `like` is, else of pandas, with the index of `like`.

    What is of neither has no index, so rows are counted from 0. Raises ConfigError where the library is not installed.
    """
    library = type(like).__module__.partition(".")[0]
    if library == "polars":
        polars = _import("polars")
        return lambda columns: polars.DataFrame(dict(columns))
    pandas = _import("pandas")
    index = getattr(like, "index", None) if library == "pandas" else None
    return lambda columns: pandas.DataFrame(dict(columns), index=index)


def _import(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError:
        raise ConfigError(
            f"a frame of answers needs {library}, which is not installed; run: pip install {library}, or leave out "
            "as_frame"
        ) from None
