"""What is kept of a comparison: `compare.json` with its types, from which the page, the CSV and the tables are made.

    ComparisonRecord ─┬─ cells: CellRecord ── per_class: ClassDifference
                      └─ matrix: PairRecord

A difference is that of a variant to the base of its task, and above 0 where the variant does better, whichever way the
metric counts. A number that was not measured, or is not finite, is None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from weft.errors import CheckpointError
from weft.reports.record import Number, RecordPart

FORMAT = 1  # of the layout of compare.json

Verdict = Literal["", "better", "worse", "equivalent", "cannot tell"]
VERDICTS: tuple[Verdict, ...] = ("better", "worse", "equivalent", "cannot tell")


class ClassDifference(RecordPart):
    """One label's F1 and its difference to the base's, with a 95 % interval."""

    mean: Number = None
    difference: Number = None
    low: Number = None
    high: Number = None


class CellRecord(RecordPart):
    """One variant of one task, trained on one number of rows: its score over all seeds, and the difference to the base.

    The verdict is empty for the base, with one seed, while the base is not known, and where a run of either diverged.
    """

    task: str
    variant: str
    size: int | None = None  # training rows; None for all there are
    seeds: int = 0  # runs that are behind the numbers
    metric: str = ""
    mean: Number = None
    low: Number = None
    high: Number = None
    difference: Number = None
    difference_low: Number = None
    difference_high: Number = None
    p: Number = None  # the larger of p_seeds and p_crossed, after Holm over all cells
    verdict: Verdict = ""
    seconds: Number = None  # of training, the mean of the runs
    parameters: int = 0  # beside the encoder: heads and conditioning
    trained_parameters: int = 0
    rows: int = 0  # that every run answered
    lower_is_better: bool = False
    equivalence: float = 0.005  # half the region of practical equivalence, in units of the metric
    is_base: bool = False
    by_seed: tuple[Number, ...] = ()  # differences
    p_seeds: Number = None
    p_crossed: Number = None
    p_rows: Number = None
    diverged: int = 0  # runs that came to numbers that are none, by seed
    per_class: dict[str, ClassDifference] = Field(default_factory=dict)

    @property
    def in_points(self) -> bool:
        """Whether a difference is said in points, hundredths of a metric that ends at 1."""
        return not self.lower_is_better

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def difference_interval(self) -> tuple[float, float] | None:
        low, high = self.difference_low, self.difference_high
        return None if low is None or high is None else (low, high)


class PairRecord(RecordPart):
    """What a task gains by being trained together with another, and how far their gradients agree."""

    task: str
    other: str
    size: int | None = None
    difference: Number = None
    low: Number = None
    high: Number = None
    verdict: Verdict = ""
    agreement: Number = None  # cosine of the two tasks' gradients


class ComparisonRecord(RecordPart):
    """Everything that is shown of a comparison; none of the users' texts.

    Cells stand task by task, the variants of a task in the order of the grid file, the base first, and the sizes of a
    variant from small to all.
    """

    format: int = FORMAT
    weft: str = ""
    created: str = ""
    name: str = ""
    quick: bool = False
    folds: int | None = None
    equivalence: float = 0.005
    level: float = 0.05
    resamples: int = 0
    seeds: tuple[int, ...] = ()
    smallest_p: Number = None  # that a sign-flip test over this many seeds can give
    seeds_needed: int | None = None  # for any better or worse in a table of this size
    cells: tuple[CellRecord, ...] = ()
    baselines: dict[str, dict[str, Number]] = Field(default_factory=dict)  # the metric by task and name
    matrix: tuple[PairRecord, ...] = ()  # alone or together
    grouping: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    unfinished: int = 0  # runs that are still missing

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.task for cell in self.cells))

    @property
    def comparisons(self) -> int:
        """How many cells are held against a base: what Holm's correction is over."""
        return sum(not cell.is_base for cell in self.cells)

    def of(self, task: str) -> tuple[CellRecord, ...]:
        """All cells of a task."""
        return tuple(cell for cell in self.cells if cell.task == task)

    def sizes(self, task: str) -> tuple[int | None, ...]:
        """The numbers of training rows of a task, from small to all."""
        sizes = {cell.size for cell in self.of(task)}
        return tuple(sorted(sizes, key=lambda size: (size is None, size or 0)))

    def at(self, task: str, size: int | None) -> tuple[CellRecord, ...]:
        """The cells of a task that were trained on so many rows, the base first."""
        return tuple(cell for cell in self.of(task) if cell.size == size)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `from_dict` makes an equal record."""
        return self.model_dump(exclude_none=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], source: str = "the record") -> ComparisonRecord:
        """The record in plain data; raises CheckpointError that names what cannot be read."""
        if data.get("format") != FORMAT:
            raise CheckpointError(f"{source} has format {data.get('format')!r}; this weft reads format {FORMAT}")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()[:5])
            raise CheckpointError(f"{source} cannot be read: {faults}") from None


def read_comparison(file: Path) -> ComparisonRecord:
    """The record in a `compare.json`; raises CheckpointError where there is none that can be read."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise CheckpointError(f"{file} holds no record of a comparison; it must be a JSON object")
    return ComparisonRecord.from_dict(document, str(file))
