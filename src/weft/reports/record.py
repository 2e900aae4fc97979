"""What is kept of a run: `report.json` with its types, from which the page, the card and the table are made.

    RunRecord ─┬─ tasks: TaskRecord ── result: ResultRecord
               ├─ encoder: EncoderRecord
               ├─ best: BestRecord
               └─ history: EvaluationRecord

A number that was not measured, or is not finite, is None. Files without a version are read as version 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    ValidationError,
    field_validator,
    model_validator,
)

from weft.errors import CheckpointError
from weft.metrics.sections import CostTable, Section, section_from
from weft.reports.version1 import sections_from

VERSION = 2  # of the layout of report.json
BASELINES = {"tfidf": "TF-IDF", "lookup": "lookup"}  # beside the majority class: how people call them

Standing = Literal["better", "unclear", "worse", "unknown"]
LowAndHigh = tuple[float, float]
AnnotatedSpan = tuple[int, int, str]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _finite_ends(value: Any) -> Any:
    return value if isinstance(value, list | tuple) and all(_finite(end) is not None for end in value) else None


def _span(value: Any) -> Any:
    return (value["start"], value["end"], value["label"]) if isinstance(value, Mapping) else tuple(value)[:3]


Number = Annotated[float | None, BeforeValidator(_finite)]
StoredInterval = Annotated[LowAndHigh | None, BeforeValidator(_finite_ends)]
StoredSpans = tuple[Annotated[AnnotatedSpan, BeforeValidator(_span)], ...]
SectionRecord = Annotated[
    InstanceOf[Section],
    BeforeValidator(lambda value: section_from(value) if isinstance(value, Mapping) else value),
    PlainSerializer(lambda section: section.to_dict()),
]


class RecordPart(BaseModel):
    """A part of a record. What a file has None for counts as missing, so that defaults hold."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_none(cls, data: Any) -> Any:
        return {name: value for name, value in data.items() if value is not None} if isinstance(data, dict) else data


class MeasuresRecord(RecordPart):
    """Scores by metric and their 95 % bootstrap intervals."""

    scores: dict[str, Number] = {}
    intervals: dict[str, StoredInterval] = {}


class ResultRecord(RecordPart):
    """One task's measures on some rows, and what baselines reach on the same."""

    metric: str = ""  # the metric that weights are chosen by
    rows: int = 0
    measures: MeasuresRecord = MeasuresRecord()
    baselines: dict[str, dict[str, Number]] = {}


class AnnotatedText(RecordPart):
    """A text of the data with its true and its predicted spans."""

    text: str
    gold: StoredSpans = ()
    found: StoredSpans = ()


class TaskRecord(RecordPart):
    """One task: its rows, and its chosen metric beside its baselines."""

    name: str = Field("", exclude=True)  # the key in `RunRecord.tasks`
    kind: str = ""
    metric: str = ""
    rows: dict[str, int] = {}  # of each part: train, dev, test
    reported_on: str = "test"  # the part that was measured
    result: ResultRecord = ResultRecord()
    calibrated: bool = False  # whether temperature and thresholds were fitted, to dev rows
    uncalibrated_costs: bool = False  # whether it decides by costs all the same
    chose_weights: bool = True  # whether its dev rows had a say in which weights were taken
    too_good: tuple[str, ...] = ()  # why its figures may look better than it is, as `weft check` says it
    sections: tuple[SectionRecord, ...] = ()  # what the task's kind shows of it
    samples: tuple[AnnotatedText, ...] = ()  # texts of users, only where the config asks for them

    @model_validator(mode="before")
    @classmethod
    def _read_details(cls, data: Any) -> Any:
        """Version 1 had `details` of measures instead of sections."""
        if not isinstance(data, dict) or "sections" in data or not isinstance(data.get("result"), dict):
            return data
        return {**data, "sections": sections_from(data["result"])}

    @property
    def holds_texts(self) -> bool:
        """Whether it holds texts of users."""
        return bool(self.samples) or any(section.holds_texts for section in self.sections)

    @property
    def without_rows(self) -> bool:
        """Whether it learned from no row, and answers by the words of its labels alone."""
        return self.rows.get("train") == 0

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels it may give, none where it gives no labels."""
        return next((section.classes_shown for section in self.sections if section.classes_shown), ())

    @property
    def chosen(self) -> str:
        """The metric that weights are chosen by."""
        return self.result.metric or self.metric

    @property
    def value(self) -> float | None:
        return self.result.measures.scores.get(self.chosen)

    @property
    def interval(self) -> LowAndHigh | None:
        return self.result.measures.intervals.get(self.chosen)

    @property
    def majority(self) -> float | None:
        return self.result.baselines.get("majority", {}).get(self.chosen)

    @property
    def baseline_key(self) -> str:
        """The baseline beside the majority class, as its kind calls it: `tfidf`, `lookup` for words, or another."""
        return next((key for key in self.result.baselines if key not in ("majority", "probe")), "")

    @property
    def baseline_name(self) -> str:
        return BASELINES.get(self.baseline_key, self.baseline_key) or "a baseline"

    @property
    def baseline(self) -> float | None:
        return self.result.baselines.get(self.baseline_key, {}).get(self.chosen)

    @property
    def probe(self) -> float | None:
        """What `probe_name` reaches, before anything of the encoder has learned."""
        return self.result.baselines.get("probe", {}).get(self.chosen)

    @property
    def probe_name(self) -> str:
        """The linear model on the encoder's states: a penalised one of labels, or of numbers."""
        numbers = "pearson" in self.result.baselines.get("probe", {})
        return f"Frozen encoder + {'ridge' if numbers else 'logistic'} regression"

    @property
    def costs(self) -> CostTable | None:
        """What its decisions cost, where it has costs, also those of baselines that decided by them."""
        own = next((section for section in self.sections if isinstance(section, CostTable)), None)
        names = {self.baseline_key: self.baseline_name, "probe": self.probe_name.lower()}
        known = {name: self.result.baselines.get(key, {}).get("cost") for key, name in names.items()}
        return own and own.beside({name: cost for name, cost in known.items() if cost is not None})

    @property
    def shown_sections(self) -> list[Section]:
        """The sections as they are shown: the one of costs with those of baselines."""
        return [(self.costs or section) if isinstance(section, CostTable) else section for section in self.sections]

    @property
    def gain(self) -> float | None:
        """How much better than the majority class."""
        return None if self.value is None or self.majority is None else self.value - self.majority

    @property
    def calibration_error(self) -> float | None:
        return self.result.measures.scores.get("calibration_error")

    @property
    def fitted_here(self) -> bool:
        """Whether its confidence was fitted to the rows that are reported, so that it looks better than elsewhere."""
        return self.calibrated and self.reported_on == "dev"

    @property
    def perplexities(self) -> tuple[float, float | None] | None:
        """At masked words: the model's own, and that of the tokens' frequency."""
        own = self.result.measures.scores.get("perplexity")
        return None if own is None else (own, self.result.baselines.get("majority", {}).get("perplexity"))

    def against(self, baseline: float | None) -> Standing:
        """`better` or `worse` only where the whole interval lies on that side of the baseline."""
        if baseline is None or self.value is None:
            return "unknown"
        if self.interval is None:
            return "unclear"
        low, high = self.interval
        return "better" if low > baseline else "worse" if high < baseline else "unclear"


class EncoderRecord(RecordPart):
    """Which encoder, and how large."""

    name: str = ""
    layers: int | None = None
    width: int | None = None
    parameters: int | None = None


class BestRecord(RecordPart):
    """Where the weights that were best, overall or for a task, come from."""

    step: int | None = None
    phase: int | None = None
    epoch: int | None = None
    value: Number = None
    folder: str | None = None


class EvaluationRecord(RecordPart):
    """What was measured on the dev rows after an epoch."""

    step: int
    phase: int | None = None
    epoch: int | None = None
    losses: dict[str, Number] = {}
    learning_rate: Number = None
    dev: dict[str, Number] = {}  # each task's chosen metric
    scores: dict[str, dict[str, Number]] = {}
    overall: Number = None
    agreement: dict[str, Number] = {}  # cosine of two tasks' gradients, by `first~second`
    weights: dict[str, Number] = {}
    best: bool = False


class RunRecord(RecordPart):
    """Everything a report shows; none of the users' texts but for `TaskRecord.samples`."""

    version: int = VERSION
    weft: str | None = None
    created: str | None = None
    seed: int | None = None
    encoder: EncoderRecord | None = None
    conditioning: str | None = None
    added_parameters: int | None = None  # beside the encoder's: heads and conditioning
    trained_parameters: int | None = None  # in the phase that trains most of them
    device: str | None = None
    precision: str | None = None
    seconds: Number = None
    peak_memory_mib: Number = None
    tokens: int | None = None
    rows: int | None = None  # learned from, each counted once
    row_passes: int | None = None  # the same, each as often as it was learned from
    padding_saved: Number = None
    stopped: str | None = None
    reasons: tuple[str, ...] = ()  # why it learned as it did, where a preset chose
    best: dict[str, BestRecord] = {}  # by task, and `overall`
    tasks: dict[str, TaskRecord] = {}
    history: tuple[EvaluationRecord, ...] = ()
    loss_history: tuple[tuple[int, str, Number], ...] = ()
    data: str | None = None  # the folder of the tasks' files
    config: str | None = None

    @field_validator("tasks", mode="before")
    @classmethod
    def _named(cls, tasks: Any) -> Any:
        return {name: {**task, "name": name} if isinstance(task, Mapping) else task for name, task in tasks.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which `from_dict` makes an equal record."""
        return self.model_dump(exclude_none=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], source: str = "the record") -> RunRecord:
        """The record in plain data; raises CheckpointError that names what cannot be read."""
        version = data.get("version", 1)
        if not isinstance(version, int) or not 1 <= version <= VERSION:
            raise CheckpointError(
                f"{source} has version {version!r}; this weft reads versions 1 to {VERSION}: install a newer weft"
            )
        try:
            record = cls.model_validate({**data, "version": VERSION})
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()[:5])
            raise CheckpointError(f"{source} cannot be read: {faults}") from None
        return record._from_version_1() if version == 1 else record

    def of_tasks(self, names: Collection[str]) -> RunRecord:
        """The record without the other tasks."""
        return self.model_copy(update={"tasks": {name: task for name, task in self.tasks.items() if name in names}})

    def _from_version_1(self) -> RunRecord:
        """Version 1 counted a row each time it was learned from and called that `rows`."""
        rows = sum(task.rows.get("train", 0) for task in self.tasks.values())
        return self.model_copy(update={"rows": rows or None, "row_passes": self.rows})


def read_record(folder: Path) -> RunRecord:
    """The record of a finished run; raises CheckpointError where there is none that can be read."""
    file = folder / "report.json"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{file} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise CheckpointError(f"{file} holds no record of a run; it must be a JSON object")
    return RunRecord.from_dict(document, str(file))


def to_json(data: Any) -> str:
    """Plain data as the text of a JSON file."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
