"""Rows of a `datasets.Dataset`: plain values, whatever its format, and classes by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class LabelledDataset(Protocol):
    """What tells a `datasets.Dataset`, or a stream of one, from other iterables of dicts: its columns have features."""

    @property
    def features(self) -> Any: ...
    def with_format(self, type: None) -> Any: ...
    def __iter__(self) -> Iterator[Mapping[str, Any]]: ...


def dataset_rows(dataset: LabelledDataset) -> Iterator[dict[str, Any]]:
    """Its rows, in which a class is called by its name where a feature knows that; -1, which means none, is None."""
    named = {
        name: read
        for name, feature in (dataset.features or {}).items()  # a stream may not know its columns
        if (read := _class_reader(feature)) is not None
    }
    for row in dataset.with_format(None):
        yield {name: named[name](cell) if name in named else cell for name, cell in row.items()}


def _class_reader(feature: Any) -> Callable[[Any], Any] | None:
    """How the cells of a feature become names: those of one class, or of a list of them; None for other features."""
    if (inner := getattr(feature, "feature", None)) is not None:
        read = _class_reader(inner)
        return None if read is None else lambda cells: None if cells is None else [read(cell) for cell in cells]
    names = getattr(feature, "names", None)
    if not isinstance(names, list):
        return None
    return lambda number: None if number is None or number < 0 else names[number]
