"""The grid file: a base config, its variants or axes, seeds, sizes or folds, and what is measured.

base = "triage.toml"                # a config, beside the grid file; or a table of its shape
seeds = 8                           # 1 to 8; or a list
sizes = [50, 100, "all"]            # training rows per task: a learning curve
metric = { urgency = "f1_macro" }   # where a task's own is not the one to compare by

[variants.plain]                    # the first is what the others are held against; empty, it is the base itself
[variants."label attention"]
conditioning.kind = "label_attention"

[axes]                              # instead of variants, or for each of them: every combination of values
"training.learning_rate" = [2e-5, 5e-5]
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from weft.config.document import check_bounds, read_document, with_rows
from weft.config.override import apply_override
from weft.errors import ConfigError, Fault, kind_of
from weft.spec import Spec, parse

_MOST = 1000  # seeds; more are a slip of the finger

Seeds = Annotated[int, Field(ge=1, le=_MOST)] | list[Annotated[int, Field(ge=0)]]  # as a grid file has them
Sizes = list[Annotated[int, Field(ge=1)] | Literal["all"]]


def _seeds(value: Any) -> Any:
    """Seeds as a list: a number stands for 1 to that number, so that more seeds keep the results of the fewer."""
    if _is_whole(value) and 1 <= value <= _MOST:
        return tuple(range(1, value + 1))
    whole = isinstance(value, list | tuple) and all(_is_whole(one) and 0 <= one < 2**63 for one in value)
    if whole and 1 <= len(value) <= _MOST:
        return _different(value)
    raise ValueError(f"write how many (1 to {_MOST}), or a list of at least one whole number, none less than 0")


def _sizes(value: Any) -> Any:
    """Sizes in order, None for all rows."""
    if not isinstance(value, list | tuple) or not all(one == "all" or (_is_whole(one) and one >= 1) for one in value):
        raise ValueError('write a list of whole numbers from 1 on, and "all" for all rows, such as [50, 100, "all"]')
    numbers = sorted(one for one in _different(value) if one != "all")
    return (*numbers, *([None] if "all" in value else []))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _different(values: Sequence[Any]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise ValueError("the same value is there twice; remove one of them")
    return tuple(values)


def _flat(value: Any, prefix: str = "") -> Any:
    """Axes by dotted keys, also where these stand without quotes and TOML has made tables of them."""
    if not isinstance(value, Mapping):
        return value
    flat: dict[str, Any] = {}
    for key, inner in value.items():
        flat |= _flat(inner, f"{prefix}{key}.") if isinstance(inner, Mapping) else {f"{prefix}{key}": inner}
    return flat


class Grid(Spec):
    """One comparison as its file describes it, with the base config read."""

    base: dict[str, Any]
    """The config that variants change: a TOML file beside the grid file, or a table of its shape."""
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """What each changes, in the config's own shape; the first is what the others are held against."""
    axes: Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], BeforeValidator(_flat)] = Field(
        default_factory=dict
    )
    """Dotted keys with the values to try: every combination is a variant, the first values what it is held against."""
    together: bool = False
    """Instead of variants: each task alone, every pair, and all together."""
    apart: bool = False
    """Every task is trained by itself, so that one table shows the variants on several data sets."""
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds, json_schema_input_type=Seeds)] = 8  # type: ignore[assignment]
    """How many, or which; 8 can decide up to 6 comparisons."""
    sizes: Annotated[tuple[int | None, ...], BeforeValidator(_sizes, json_schema_input_type=Sizes)] = ()
    """Training rows per task; all of them if unset."""
    folds: Annotated[int, Field(ge=2)] | None = None
    """Instead of test files: every training row is answered once, by a model that learned from the other folds."""
    metric: str | dict[str, str] | None = None
    """What to compare by, for all tasks or by task; each task's own if unset."""
    equivalence: Annotated[float, Field(ge=0, lt=1)] = 0.005
    """Differences smaller than this are of no practical importance (0.005 is half a point)."""


def read_grid(source: str | os.PathLike[str] | Mapping[str, Any], overrides: Sequence[str] = ()) -> Grid:
    """The grid in a TOML file or a dict, with `key=value` overrides; raises one ConfigError with every fault.

    A `base` that names a file is read, so that overrides reach into it: `base.training.epochs=1`. Its `data` becomes
    the folder of the files by its full name.
    """
    if isinstance(source, Mapping):
        document, home = dict(source), Path()
    else:
        document, home = read_document(Path(source)), Path(source).parent
    faults: list[Fault] = []
    try:
        document["base"] = _read_base(document.get("base"), home)
    except ConfigError as error:
        document["base"] = {}
        faults += [Fault("base", fault) for fault in error.faults]
    for override in overrides:
        document = apply_override(document, override)
    check_bounds(document)
    try:
        grid = parse(Grid, document)
    except ConfigError as error:
        faults += [Fault("" if fault.path == "config" else fault.path, fault.message) for fault in error.located]
    if faults:
        raise ConfigError(*faults)
    return grid


def _read_base(base: Any, home: Path) -> Any:
    """The base config with the full name of the folder of its files."""
    if base is None:
        raise ConfigError('is required; name a config (base = "triage.toml"), or write it as a table, [base]')
    if not isinstance(base, str | os.PathLike | Mapping):
        raise ConfigError(f"is a config file or a table, but this is {kind_of(base)}")
    if isinstance(base, Mapping):
        document = with_rows(base)  # once, for rows may come from an iterator
    else:
        path = _find(home, base)
        document, home = read_document(path), path.parent
    data = document.get("data", "")
    if not isinstance(data, str | os.PathLike):
        raise ConfigError(f"data is the name of a folder, but this is {kind_of(data)}")
    return {**document, "data": str(_find(home, data))}


def _find(home: Path, name: str | os.PathLike[str]) -> Path:
    """The full path of what a file in this folder names."""
    try:
        return (home / Path(name).expanduser()).resolve()
    except (ValueError, RuntimeError, OSError):  # a zero byte, a user or a loop of links that is not there
        raise ConfigError("holds a name that no file can have") from None
