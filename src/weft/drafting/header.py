"""Whether the first line of a table names its columns, or is a row like the others."""

from __future__ import annotations

from collections.abc import Collection

from weft.data.header import is_cell
from weft.drafting.columns import SampledColumn
from weft.drafting.sample import Sample
from weft.errors import DataError


def check_header(sample: Sample, named: Collection[str]) -> None:
    """Raise where a name looks like a cell, unless the user says it is one; shows neither names nor cells."""
    if not sample.tabular or any(name in sample.columns for name in named):
        return
    odd = [number for number, column in enumerate(sample.columns.values(), 1) if _is_cell(column)]
    if odd:
        which = ", ".join(map(str, odd))
        raise DataError(
            f"the first line seems to be a row, and no header (see column {which}); write a line with the names of the "
            "columns above it, such as text,label, or if these are names, say which with --text and --label",
            file=sample.path,
            line=1,
        )


def _is_cell(column: SampledColumn) -> bool:
    return is_cell(column.name, column.counts if column.scalar else (), column.scalar and column.numbers is not None)
