"""What a run's results say, in plain sentences and in numbers as people write them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

from weft.metrics.costs import uncalibrated_costs
from weft.reports.record import RunRecord, Standing, TaskRecord

WIDE = 0.2  # an interval from which a number is more hint than result
MISCALIBRATED = 0.1
RISING = 0.01  # in the last epoch
STANDINGS: tuple[Standing, ...] = ("better", "unclear", "worse", "unknown")


def verdict(record: RunRecord) -> list[str]:
    """What the results say, in plain sentences: against the baselines, then reasons for caution."""
    tasks = list(record.tasks.values())
    if not tasks:
        return ["No task was measured."]
    return [
        *_summary(tasks),
        *_too_good(tasks),
        *_costs(tasks),
        *_perplexities(tasks),
        *_by_words(tasks),
        *_cautions(tasks),
        *_advice(record),
    ]


def baseline_names(tasks: Iterable[TaskRecord]) -> str:
    """What the baselines beside the majority class are called."""
    return " or ".join(dict.fromkeys(task.baseline_name for task in tasks))


def number(value: float | None) -> str:
    """Three decimals, and five where three would show next to nothing."""
    return "–" if value is None else f"{value:.5f}" if 0 < abs(value) < 0.01 else f"{value:.3f}"


def signed(value: float | None) -> str:
    """A difference, with its sign."""
    return "–" if value is None else f"{value:+.3f}".replace("-", "−")


def interval_in_words(interval: Sequence[float] | None) -> str:
    """An interval as `0.712 to 0.840`, unmistakable where ends are negative."""
    return "–" if interval is None else f"{number(interval[0])} to {number(interval[1])}"


def listed(names: Iterable[str], most: int = 6) -> str:
    """`a`, `a and b`, `a, b and c`; beyond `most` names how many more."""
    words = list(names)
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _summary(tasks: Sequence[TaskRecord]) -> list[str]:
    tasks = [task for task in tasks if task.perplexities is None and task.result.rows and not task.without_rows]
    if not tasks:  # nothing without an encoder tells masked words, or answers by the words of labels
        return []
    parts = {task.reported_on for task in tasks}
    where = f"On the {parts.pop()} rows" if len(parts) == 1 else "On rows not trained on"
    clauses = []
    for standing in STANDINGS:
        by_baseline: dict[str, list[str]] = {}
        for task in (task for task in tasks if task.against(task.baseline) == standing):
            by_baseline.setdefault(task.baseline_name, []).append(task.name)
        clauses += [_clause(standing, names, baseline) for baseline, names in by_baseline.items()]
    return [f"{where}, {'; '.join(clauses)}."]


def _clause(standing: Standing, names: Sequence[str], baseline: str) -> str:
    """How some tasks stand against the baseline that they have in common."""
    words = {
        "better": f"{_verb(names, 'lies', 'lie')} clearly above {baseline}",
        "unclear": f"{_verb(names, 'is', 'are')} not clearly different from {baseline}",
        "worse": f"{_verb(names, 'lies', 'lie')} clearly below {baseline}",
        "unknown": f"{_verb(names, 'was', 'were')} not compared with {baseline}",
    }
    return f"{listed(names)} {words[standing]}"


def _too_good(tasks: Iterable[TaskRecord]) -> list[str]:
    """What makes all of the other sentences doubtful."""
    return [f"{task.name} may look better than it is: {why}." for task in tasks for why in task.too_good]


def _costs(tasks: Iterable[TaskRecord]) -> list[str]:
    """How what a task's decisions cost compares with what it has to beat: as for scores, by the whole interval."""
    sentences = []
    for name, table in ((task.name, task.costs) for task in tasks):
        if table is None:
            continue
        cost, low, high = table.model
        others = [(f"{other} ({number(its)})", its) for other, its in table.others.items()]
        groups = {
            "clearly less than": [other for other, its in others if high < its],
            "not clearly different from": [other for other, its in others if low <= its <= high],
            "clearly more than": [other for other, its in others if its < low],
        }
        clauses = "; ".join(f"{words} {listed(group)}" for words, group in groups.items() if group)
        ends = interval_in_words((low, high))
        sentences.append(f"With its costs, a row of {name} costs {number(cost)} ({ends}): {clauses}.")
    return sentences


def _perplexities(tasks: Iterable[TaskRecord]) -> list[str]:
    sentences = []
    for task in tasks:
        if task.perplexities is not None:
            own, frequency = task.perplexities
            beside = "" if frequency is None else f"; knowing only how common each token is, {frequency:.1f}"
            sentences.append(f"Perplexity of {task.name} at masked words: {own:.1f}{beside}.")
    return sentences


def _by_words(tasks: Iterable[TaskRecord]) -> list[str]:
    sentences = []
    for task in (task for task in tasks if task.without_rows):
        on, reached = f"on the {task.reported_on} rows", f"{number(task.value)} ({interval_in_words(task.interval)})"
        measured = f": {task.chosen} {reached} {on}" if task.result.rows else ", and was not measured; name a test file"
        sentences.append(
            f"{task.name} learned from no row and answers by the words of its labels{measured}. Its confidence is"
            " calibrated on nothing."
        )
    return sentences


def _cautions(tasks: Sequence[TaskRecord]) -> list[str]:
    sentences = [sentence for task in tasks for sentence in _cautions_of(task)]
    if unmeasured := [task.name for task in tasks if not task.result.rows and not task.without_rows]:
        sentences.append(
            f"{listed(unmeasured)} {_verb(unmeasured, 'was', 'were')} not measured: there is no test file, and all rows"
            " were needed to learn from. Name a test file, or measure it on folds with weft compare: a grid of"
            ' base = "CONFIG" and folds = 5.'
        )
    on_dev = [task for task in tasks if task.reported_on == "dev" and task.result.rows]
    if chosen := [task.name for task in on_dev if task.chose_weights]:
        sentences.append(
            f"{listed(chosen)} {_verb(chosen, 'was', 'were')} measured on the dev rows that also chose the weights:"
            " expect less on new texts."
        )
    if others := [task.name for task in on_dev if not task.chose_weights]:
        sentences.append(
            f"{listed(others)} {_verb(others, 'was', 'were')} measured on dev rows, which had no say in which weights"
            " were taken."
        )
    return sentences


def _cautions_of(task: TaskRecord) -> list[str]:
    sentences = []
    interval = interval_in_words(task.interval)
    if task.value is None and task.result.rows:
        sentences.append(f"{task.name} has no finite {task.chosen}: training may have diverged.")
    if task.majority is not None and task.against(task.majority) in ("unclear", "worse"):
        sentences.append(
            f"{task.name} has not been shown to beat one and the same answer for all rows: {number(task.value)}"
            f" ({interval}) against {number(task.majority)}."
        )
    if task.interval and task.interval[1] - task.interval[0] > WIDE:
        sentences.append(
            f"{task.name} was measured on only {task.result.rows:,} rows: its interval, {interval}, is wide."
        )
    if task.calibration_error is not None and task.calibration_error > MISCALIBRATED:
        sentences.append(
            f"Confidence in {task.name} is off by {number(task.calibration_error)} on average"
            f"{', on the very rows it was fitted to' if task.fitted_here else ''}: do not read it as a probability."
        )
    if task.uncalibrated_costs:
        sentences.append(uncalibrated_costs(task.name))
    return sentences


def probe_names(tasks: Iterable[TaskRecord]) -> str:
    """How the probes of tasks are called, each once."""
    return " / ".join(dict.fromkeys(task.probe_name for task in tasks if task.probe is not None)) or "probe"


def _advice(record: RunRecord) -> list[str]:
    """What to try, by key and value, where learning brought nothing or was not over; never what is so already."""
    sentences = []
    config = _config(record)
    for task in record.tasks.values():
        if task.probe is not None and task.value is not None and task.value < task.probe:
            ways = ", or ".join(_other_ways(task, record, config))
            sentences.append(
                f"{task.name} stays below what the encoder knew before"
                f" ({number(task.probe)}, {task.probe_name.lower()}){f': try {ways}' if ways else ''}."
            )
    last = [one for one in record.history if one.phase == record.history[-1].phase][-2:]
    if len(last) == 2 and last[1].epoch is not None:
        rising = [
            name
            for name, value in last[1].dev.items()
            if value is not None and value - (last[0].dev.get(name) or 0.0) > RISING
        ]
        if rising:
            own = _phase(config, last[1].phase).keys() & {"epochs", "steps"}  # go before those of training
            key = f"a phase with more {min(own)}" if own else f"training.epochs = {2 * last[1].epoch}"
            sentences.append(
                f"{listed(rising)} {_verb(rising, 'was', 'were')} still getting better in the last epoch: try {key}."
            )
    return sentences


def _config(record: RunRecord) -> dict[str, Any] | None:
    """The config as it was run, with the phases that a preset gave; None where it is not known."""
    try:
        return None if record.config is None else tomllib.loads(record.config)
    except tomllib.TOMLDecodeError:
        return None


def _phase(config: dict[str, Any] | None, number: int | None) -> dict[str, Any]:
    phases: list[dict[str, Any]] = (config or {}).get("phases", [])
    return phases[number] if number is not None and number < len(phases) else {}


def _other_ways(task: TaskRecord, record: RunRecord, config: dict[str, Any] | None) -> list[str]:
    """Keys and values that would make a run learn otherwise than it did."""
    phases = (config or {}).get("phases")  # None where they are not known
    ways = []
    if task.labels and task.kind == "classification" and (phases is None or _is_plain(phases, record)):
        ways.append('preset = "few_labels"')
    learning = None if phases is None else [phase for phase in phases if "fit" not in phase]
    if learning is None or any(_learns_encoder(phase, config or {}) for phase in learning):
        ways.append("encoder.train_layers = 0 (the encoder stays as it is)")
    return ways


def _is_plain(phases: Sequence[dict[str, Any]], record: RunRecord) -> bool:
    """Whether heads of all tasks were fitted and then all learned: what a preset gives, and another one would not."""
    learned = {name for name, task in record.tasks.items() if not task.without_rows}
    return len(phases) == 2 and "fit" in phases[0] and learned <= set(phases[0].get("tasks", ())) and not phases[1]


def _learns_encoder(phase: dict[str, Any], config: dict[str, Any]) -> bool:
    """Whether a phase lets the encoder learn because of `encoder.train_layers`; one that a preset gave follows it."""
    named = "train_layers" in phase and "loss" not in phase
    return not named and config.get("encoder", {}).get("train_layers") != 0


def _verb(names: Sequence[str], singular: str, plural: str) -> str:
    return singular if len(names) == 1 else plural
