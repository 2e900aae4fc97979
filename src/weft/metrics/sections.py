"""What a report shows of a task beside its scores, as plain data: a kind of target says which, `reports` draws them.

    ClassTable       precision, recall, F1 and support of each label
    ConfusionMatrix  true labels by predicted labels
    Calibration      confidence beside accuracy
    Table            anything else: a heading, columns, rows of words and numbers
    WrongRows        a table whose rows begin with the line of a row of the data
    DecisionTable    a table of what decisions cost or find, which `weft evaluate` shows too
    CostTable        the one of what they cost, to which those of baselines can be added

`FittedTarget.report_sections` returns some of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

Cell = str | int | float | None  # numbers are set right and with three decimals, whole ones as counts

_TEXT = "Text"  # the column of texts, where there is one
_LONGEST = 200  # characters of a text


@dataclass(frozen=True)
class Section:
    """A part of a task's report; `kind` names it in `report.json`."""

    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    def with_labels(self, names: Mapping[str, str]) -> Section:
        """The same section, with other names for some labels, also where they stand within a cell."""
        return section_from({"kind": self.kind, **_renamed(asdict(self), names)}) if names else self

    def with_texts(self, texts: Mapping[int, str], most: int) -> Section:
        """The same section with the texts of the first `most` rows that it names by their lines, if it names any."""
        return self

    @property
    def holds_texts(self) -> bool:
        """Whether it shows texts of users."""
        return False

    @property
    def classes_shown(self) -> tuple[str, ...]:
        """The labels it has metrics of, for the section that has such."""
        return ()

    @property
    def span_labels(self) -> tuple[str, ...]:
        """The same, where they are labels of spans, which have colours of their own."""
        return ()


@dataclass(frozen=True)
class ClassTable(Section):
    """Per-class metrics: by label its `precision`, `recall`, `f1` and `support`; `spans` where labels mark texts."""

    kind: ClassVar[str] = "classes"

    classes: Mapping[str, Mapping[str, float]]
    spans: bool = False

    @property
    def classes_shown(self) -> tuple[str, ...]:
        return tuple(self.classes)

    @property
    def span_labels(self) -> tuple[str, ...]:
        return self.classes_shown if self.spans else ()


@dataclass(frozen=True)
class ConfusionMatrix(Section):
    """How many rows of each true label (lines) were given each label (columns), in the labels' order."""

    kind: ClassVar[str] = "confusion"

    labels: Sequence[str]
    counts: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Calibration(Section):
    """(mean confidence, accuracy, rows) of each bin, and the expected calibration error, if measured."""

    kind: ClassVar[str] = "calibration"

    bins: Sequence[tuple[float, float, int]]
    error: float | None = None


@dataclass(frozen=True)
class TableSection(Section):
    """Rows of cells under columns, and a sentence below where one is needed."""

    kind: ClassVar[str] = "table"

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class WrongRows(TableSection):
    """Rows that were answered wrongly, by their lines; with their texts only where somebody asks for them."""

    kind: ClassVar[str] = "wrong_rows"

    def with_texts(self, texts: Mapping[int, str], most: int) -> Section:
        lines: list[Any] = [row[0] for row in self.rows]
        shown = [_shortened(texts[line]) if index < most else "" for index, line in enumerate(lines)]
        rows = [(*row, text) for row, text in zip(self.rows, shown, strict=True)]
        return replace(self, columns=(*self.columns, _TEXT), rows=rows) if most else self

    @property
    def holds_texts(self) -> bool:
        return _TEXT in self.columns


@dataclass(frozen=True)
class DecisionTable(TableSection):
    """A table of what decisions cost, or of how much work finds what; `weft evaluate` shows it too."""

    kind: ClassVar[str] = "decisions"


@dataclass(frozen=True)
class CostTable(DecisionTable):
    """What a row costs by several ways to decide: the model, its likeliest labels, then what it has to beat.

    A line is the way, the mean cost, and the ends of its interval, where there is one. The third is one label for all.
    """

    kind: ClassVar[str] = "costs"

    @property
    def model(self) -> tuple[float, float, float]:
        """The model's mean cost, and the ends of its interval."""
        cost, low, high = (float(cell) for cell in self.rows[0][1:] if cell is not None)
        return cost, low, high

    @property
    def others(self) -> dict[str, float]:
        """The mean costs that the model has to beat."""
        return {str(name): float(cost) for name, cost, *_ in self.rows[2:] if cost is not None}

    def beside(self, costs: Mapping[str, float]) -> CostTable:
        """The same with a line for each of some baselines, of which only the mean is known."""
        if not costs:
            return self
        note = f"{self.note} {' and '.join(costs)} decide{'s' * (len(costs) == 1)} by the same costs."
        return replace(self, rows=[*self.rows, *((name, cost, None, None) for name, cost in costs.items())], note=note)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for label, name in names.items():
            value = value.replace(label, name)
        return value
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(part, names) for key, part in value.items()}
    return [_renamed(part, names) for part in value] if isinstance(value, list | tuple) else value


_KINDS: dict[str, type[Section]] = {
    section.kind: section
    for section in (ClassTable, ConfusionMatrix, Calibration, CostTable, DecisionTable, TableSection, WrongRows)
}


def section_from(data: Mapping[str, Any]) -> Section:
    """The section that `to_dict` was taken of; raises ValueError for a kind that nobody knows."""
    fields = dict(data)
    kind = fields.pop("kind", None)
    if kind not in _KINDS:
        raise ValueError(f"{kind!r} is no kind of report section; there are: {', '.join(_KINDS)}")
    return _KINDS[kind](**fields)
