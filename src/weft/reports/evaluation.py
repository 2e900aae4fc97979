"""An evaluation as a record, so that the page and the figures of a run show it too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from weft.metrics.sections import ClassTable
from weft.model.evaluate import TaskResult
from weft.reports.record import ResultRecord, RunRecord, TaskRecord

GIVEN = "given"  # what rows are called that no config names


def evaluation_record(
    results: Mapping[str, TaskResult],
    kinds: Mapping[str, str],
    run: RunRecord | None,
    uncalibrated: Collection[str] = (),
) -> RunRecord:
    """The record of what was measured just now.

    Args:
        kinds: of the tasks.
        run: that of the training, where the rows are those that it reported on; then its baselines hold here too.
        uncalibrated: the tasks that weigh costs with probabilities calibrated on nothing.
    """
    known = run.tasks if run is not None else {}
    tasks = {
        name: _task_record(name, result, kinds[name], known.get(name), name in uncalibrated)
        for name, result in results.items()
    }
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return RunRecord(weft=version("weft"), created=created, tasks=tasks)


def _task_record(
    name: str, result: TaskResult, kind: str, trained: TaskRecord | None, uncalibrated_costs: bool
) -> TaskRecord:
    same = trained is not None and trained.result.rows == result.rows
    measured = ResultRecord.model_validate(result.to_dict())
    if same and trained is not None:
        measured = measured.model_copy(update={"baselines": trained.result.baselines})
    return TaskRecord(
        name=name,
        kind=kind,
        metric=result.metric,
        rows={trained.reported_on if trained is not None else GIVEN: result.rows},
        reported_on=trained.reported_on if trained is not None else GIVEN,
        calibrated=trained is not None and trained.calibrated,
        uncalibrated_costs=uncalibrated_costs,
        chose_weights=trained is None or trained.chose_weights,
        too_good=trained.too_good if same and trained is not None else (),
        result=measured,
        sections=result.sections,
    )


def results_document(record: RunRecord) -> dict[str, Any]:
    """By task all that was measured: scores, intervals, rows, baselines, and the figures of each label.

    The metric that weights are chosen by is `metric`, its score `value`. What is not finite is None.
    """
    return {name: _results_of(task) for name, task in record.tasks.items()}


def _results_of(task: TaskRecord) -> dict[str, Any]:
    result = task.result
    classes = next((section.classes for section in task.sections if isinstance(section, ClassTable)), {})
    return {
        "metric": task.chosen,
        "value": task.value,
        "rows": result.rows,
        "measured_on": task.reported_on,
        "scores": dict(result.measures.scores),
        "intervals": {name: None if ends is None else list(ends) for name, ends in result.measures.intervals.items()},
        "baselines": {name: dict(scores) for name, scores in result.baselines.items()},
        "labels": {label: dict(scores) for label, scores in classes.items()},
    }
