"""How good a network is on gold rows, with intervals, and beside baselines."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from weft.corpus.loading import CorpusLoader
from weft.data.dataset import Dataset
from weft.data.opening import EncodedFile
from weft.data.predictions import Prediction
from weft.data.records import Example
from weft.data.redact import hidden_labels, nearest_name, slip_of
from weft.data.tables import RowSource
from weft.errors import ConfigError, DataError
from weft.metrics.costs import uncalibrated_costs
from weft.metrics.outcomes import Outcomes
from weft.metrics.sections import Section
from weft.metrics.wrong_rows import wrong_rows
from weft.model.gold import read_gold
from weft.model.inputs import OtherColumns, choose_tasks
from weft.model.network import Network
from weft.model.predict import WINDOW, groups, score
from weft.targets import FittedTarget, Measures
from weft.tensors import Scores
from weft.tokenization.cache import SharedTokenizer
from weft.tokenization.examples import TokenizedExample

TokenizedGroup = Mapping[str, Sequence[TokenizedExample]]  # the same rows for tasks that may share a pass
ScoredWindow = tuple[str, Scores, Sequence[TokenizedExample]]  # a task, raw scores of some rows, and what these are

_SHOWN = 20  # slips of labels


@dataclass(frozen=True, repr=False)
class TaskResult:
    """One task's measures on some rows, and what simple methods reach on the same."""

    metric: str  # the one chosen by
    rows: int
    measures: Measures
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()  # what a report shows beside
    outcomes: Outcomes | None = field(default=None, compare=False)  # of each row, where intervals were asked for

    def __repr__(self) -> str:
        low_high = self.measures.intervals.get(self.metric)
        interval = f" ({low_high[0]:.3f} to {low_high[1]:.3f})" if low_high else ""
        beside = "".join(
            f", {name} {scores[self.metric]:.3f}" for name, scores in self.baselines.items() if self.metric in scores
        )
        return f"TaskResult({self.metric} {self.value:.3f}{interval} on {self.rows:,} rows{beside})"

    @property
    def value(self) -> float:
        return self.measures.scores[self.metric]

    @property
    def gain(self) -> float:
        """How much better than always giving the commonest answer."""
        return self.value - self.baselines.get("majority", {}).get(self.metric, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain data without the sections and what was answered on each row."""
        measures = asdict(self.measures)
        return {"metric": self.metric, "rows": self.rows, "measures": measures, "baselines": self.baselines}


def evaluate(
    network: Network,
    rows: Mapping[str, Sequence[Example]],
    intervals: bool = True,
    *,
    targets: Mapping[str, FittedTarget] | None = None,
    scored: Iterable[ScoredWindow] | None = None,
    names: Mapping[str, Mapping[str, str]] | None = None,
    find: str | None = None,
    in_memory: Collection[str] = (),
) -> dict[str, TaskResult]:
    """Every task's result on its rows; tasks with the same texts share their tokens and passes of the encoder.

    Args:
        intervals: whether to give intervals and what else only a report shows.
        targets: decide instead of the network's own.
        scored: what `score_rows` gives for these rows, where that is known already.
        names: by task, what outcomes call the labels that could be texts, where more is known than the network has
            learned from.
        find: the label whose recall by workload is shown, for tasks that have it.
        in_memory: tasks whose rows come from no file, so that errors count them as Python does.
    """
    targets = network.targets if targets is None else targets
    for task, examples in rows.items():
        check_rows(task, targets[task], examples, network.tasks[task].respelling, task in in_memory)
    predictions: dict[str, list[Prediction]] = {task: [] for task in rows}
    for task, scores, tokenized in score_rows(network, rows) if scored is None else scored:
        predictions[task] += targets[task].decode(scores, tokenized)
    results = {}
    for task, examples in rows.items():
        measures = targets[task].measure([row.gold for row in examples], predictions[task], intervals)
        result = TaskResult(network.metric(task), len(examples), measures)
        if intervals:
            hidden = (names or {}).get(task, hidden_names(targets[task]))
            result = _with_rows(result, targets[task], examples, predictions[task], hidden, find)
        results[task] = result
    return results


def _with_rows(
    result: TaskResult,
    target: FittedTarget,
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    names: Mapping[str, str],
    find: str | None,
) -> TaskResult:
    """The result with what is known of single rows; no label that could be a text is in it."""
    sections = report_sections(target, examples, predictions, result.measures, find)
    outcomes = target.outcomes([row.gold for row in examples], predictions, [row.line for row in examples])
    return replace(result, sections=tuple(sections), outcomes=outcomes.with_labels(names))


def score_rows(
    network: Network, rows: Mapping[str, Sequence[Example]], tokenized: Iterable[TokenizedGroup] | None = None
) -> Iterator[ScoredWindow]:
    """What a network says about the rows of its tasks: in windows, since all scores may not fit into memory.

    `tokenized` is what `tokenize_rows` gives for these rows, where that is known already.
    """
    network.eval()
    for group in tokenize_rows(network, rows) if tokenized is None else tokenized:
        for task, scores in score(network, group).items():
            yield task, scores, group[task]


def tokenize_rows(network: Network, rows: Mapping[str, Sequence[Example]]) -> Iterator[TokenizedGroup]:
    """Windows of rows as tokens: together those of tasks that may share a pass of the encoder."""
    for tasks in with_same_texts(rows):
        for first in range(0, len(rows[tasks[0]]), WINDOW):
            windows = [rows[task][first : first + WINDOW] for task in tasks]
            inputs = [dict(zip(tasks, row, strict=True)) for row in zip(*windows, strict=True)]
            yield from groups(network, inputs, SharedTokenizer(network.tokenizer))


def with_same_texts(rows: Mapping[str, Sequence[Example]]) -> list[list[str]]:
    """The tasks in groups whose rows hold the same texts in the same order; rows of raw text are alone."""
    alike_tasks: list[list[str]] = []
    for task, examples in rows.items():
        alike = next((tasks for tasks in alike_tasks if _same_texts(rows[tasks[0]], examples)), None)
        if alike is None:
            alike_tasks.append([task])
        else:
            alike.append(task)
    return alike_tasks


def _same_texts(some: Sequence[Example], others: Sequence[Example]) -> bool:
    if len(some) != len(others) or some[0].tokens is not None or others[0].tokens is not None:
        return False
    return all(one.texts == other.texts for one, other in zip(some, others, strict=True))


def report_sections(
    target: FittedTarget,
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    measures: Measures,
    find: str | None = None,
) -> list[Section]:
    """What a report shows of a task: what its kind gives, and lines of wrong rows; no label that could be a text."""
    decisions = target.decision_sections([row.gold for row in examples], predictions, find)
    mistakes = [target.find_mistake(row.gold, answer) for row, answer in zip(examples, predictions, strict=True)]
    sections = [*target.report_sections(measures), *decisions, *wrong_rows([row.line for row in examples], mistakes)]
    return [section.with_labels(hidden_names(target)) for section in sections]


def hidden_names(target: FittedTarget) -> dict[str, str]:
    """Other names for the labels that could be texts."""
    counts = dict(zip(target.labels, target.label_counts, strict=False))  # a kind may not have counted
    return hidden_labels(counts, target.target.labels)


def evaluate_data(
    network: Network,
    data: RowSource | Mapping[str, RowSource],
    named: Sequence[str] | None = None,
    find: str | None = None,
    *,
    columns: OtherColumns | None = None,
    answers: Mapping[str, str] | None = None,
) -> tuple[dict[str, TaskResult], list[str]]:
    """Every task's result on gold rows that are read here, and notes about tasks that these cannot serve or that weigh
    costs with probabilities calibrated on nothing.

    `data` is for all tasks, or by task; sources that several tasks name are read once. `find` as in `evaluate`; raises
    ConfigError where no task has that label. `columns` of texts and `answers`, by task, stand for those that the tasks
    were trained with.
    """
    sources = _sources(network, data, named)
    if find is not None:
        check_label(network, [name for _, names, _ in sources for name in names], find)
    with TemporaryDirectory() as cache:
        corpora = CorpusLoader(network.tokenizer, network.encoder.config.max_length, Path(cache))
        rows: dict[str, Sequence[Example]] = {}
        notes: list[str] = []
        in_memory = {
            name for source, names, _ in sources if not isinstance(source, str | os.PathLike) for name in names
        }
        for source, names, all_needed in sources:
            tasks = {name: network.tasks[name] for name in names}
            found, lacking = read_gold(
                tasks, source, corpora, all_needed=all_needed, others=columns or {}, answers=answers or {}
            )
            rows |= found
            notes += lacking
        notes += [uncalibrated_costs(name) for name in rows if network.targets[name].weighs_uncalibrated]
        served = {name: rows[name] for name in network.tasks if name in rows}
        return evaluate(network, served, find=find, in_memory=in_memory), notes


def _sources(
    network: Network, data: RowSource | Mapping[str, RowSource], named: Sequence[str] | None
) -> list[tuple[RowSource, list[str], bool]]:
    """Each source once, with the tasks to serve from it and whether it must serve all of them."""
    if not isinstance(data, Mapping):
        return [(data, choose_tasks(network, named), named is not None)]
    choose_tasks(network, list(data))
    names = choose_tasks(network, named) if named else list(data)
    if missing := [name for name in names if name not in data]:
        raise ConfigError(f"there is no data for the task {', '.join(missing)}; data was given for: {', '.join(data)}")
    sources: dict[object, tuple[RowSource, list[str], bool]] = {}
    for name in names:
        source = data[name]
        file = source if isinstance(source, EncodedFile) or not isinstance(source, str | os.PathLike) else Path(source)
        key = file if isinstance(file, EncodedFile | Path) else id(source)
        sources.setdefault(key, (source, [], True))[1].append(name)
    return list(sources.values())


def check_label(network: Network, tasks: Sequence[str], label: str) -> None:
    """Raise where none of the tasks gives rows this label."""
    targets = {name: network.targets[name] for name in tasks}
    if any(label in target.row_labels for target in targets.values()):
        return
    names = {name: target.shown_labels for name, target in targets.items()}
    listed = "; ".join(f"{name}: {', '.join(labels)}" for name, labels in names.items() if labels) or "none"
    near = nearest_name(label, [one for labels in names.values() for one in labels])
    raise ConfigError(f"no task that is measured here gives rows the label {label!r}; there are: {listed}{near}")


def check_rows(
    task: str,
    target: FittedTarget,
    examples: Sequence[Example],
    respelling: Callable[[Mapping[str, str]], str],
    in_memory: bool,
) -> None:
    """Raise where there is nothing to measure, or a label that the network cannot give.

    `respelling` is how a config says that labels are slips of others.
    """
    if not examples:
        raise DataError(f"task {task!r}: there are no rows to measure on")
    known = set(target.labels)
    unknown = [row for row in examples if not known.issuperset(target.target.labels_in(row.gold))]
    if unknown:
        line = unknown[0].line
        place = f"row {line - 1} (counted from 0)" if in_memory else f"line {line}"
        raise DataError(
            f"task {task!r}: {len(unknown):,} of {len(examples):,} rows, the first in {place}, have a "
            f"label that the model does not know; it knows: {', '.join(sorted(known))}; "
            f"mend such labels, or leave their cells blank{_slips(target, unknown, respelling)}"
        )


def _slips(target: FittedTarget, rows: Iterable[Example], respelling: Callable[[Mapping[str, str]], str]) -> str:
    """The labels that are slips of known ones, and how a config says so."""
    names = target.shown_labels
    found = dict.fromkeys(label for row in rows for label in target.target.labels_in(row.gold))
    slips = {label: near for label in found if label not in names and (near := slip_of(label, names)) is not None}
    said = respelling(dict(islice(slips.items(), _SHOWN)))
    return f"; where they are slips, mend them, or train with {said}" if said else ""


def calibrate(
    network: Network, rows: Mapping[str, Sequence[Example]], scored: Sequence[ScoredWindow] | None = None
) -> dict[str, FittedTarget]:
    """Every task's target with temperature and thresholds fitted on rows not trained on; `scored` as in `evaluate`."""
    fitted = {}
    for task, examples in rows.items():
        if examples:
            known = score_rows(network, {task: examples}) if scored is None else scored
            parts = [(scores, tokenized) for name, scores, tokenized in known if name == task]
            tokenized = [example for _, window in parts for example in window]
            scores = Scores.join([scores for scores, _ in parts], range(len(tokenized)))
            fitted[task] = network.targets[task].calibrate(scores, examples, tokenized, network.metric(task))
    return fitted


def measure_baselines(target: FittedTarget, train: Dataset, rows: Sequence[Example]) -> dict[str, dict[str, float]]:
    """What the commonest answer and a method without an encoder reach, by metric."""
    golds = [row.gold for row in rows]
    found = {"majority": target.majority(train, rows)}
    if target.has_baseline:
        found[target.baseline_name] = target.baseline(train, rows)
    return {name: target.measure(golds, predictions, intervals=False).scores for name, predictions in found.items()}
