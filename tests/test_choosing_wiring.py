"""Which weights are kept and when a run stops, with dev values that are written down beforehand."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import torch

from recorder import HEAD, TEXTS, Place, Recorder, interrupt_after, make_place
from weft.checkpoints.safetensors import read_file
from weft.data.records import Example
from weft.errors import WeftError
from weft.model.evaluate import TaskResult
from weft.model.network import Network
from weft.targets import Measures
from weft.tokenization.tokenizer import Tokenizer
from weft.training import dev_rows as dev
from weft.training.interrupt import Interrupted

Course = dict[str, list[float]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("chosen"), tiny_tokenizers["wordpiece"], 0.0)


class Script:
    """Gives the values of a course instead of measuring, one after the other."""

    def __init__(self, course: Course) -> None:
        self.course, self.done = course, 0
        self.rows: list[dict[str, list[Example]]] = []

    def __call__(
        self, network: Network, rows: Mapping[str, Sequence[Example]], intervals: bool = True, **_: Any
    ) -> dict[str, TaskResult]:
        assert not intervals  # nobody reads them after an epoch, and they take long
        self.rows.append({task: list(found) for task, found in rows.items()})
        self.done += 1
        return {
            task: TaskResult("accuracy", len(rows[task]), Measures({"accuracy": values[self.done - 1]}))
            for task, values in self.course.items()
        }


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def play(**course: list[float]) -> Script:
        found = Script(course)
        monkeypatch.setattr(dev, "evaluate", found)
        return found

    return play


def two_tasks(place: Place) -> dict[str, Any]:
    """One batch each, so that an epoch is two updates. Always the commonest answer is right in half of the dev rows."""
    return {name: place.task(name, 2, metric="accuracy") for name in "ab"}


# What is best

RISE_AND_FALL: Course = {"a": [0.5, 0.9, 0.7, 0.9], "b": [0.5, 0.1, 0.8, 0.4]}


@pytest.mark.parametrize(
    ("choose_by", "best", "values"),
    [
        ("overall", 2, [0.0, 0.0, 0.25, 0.15]),
        ("a", 1, [0.5, 0.9, 0.7, 0.9]),
        ("b", 2, [0.5, 0.1, 0.8, 0.4]),
    ],
)
def test_the_model_has_the_weights_that_were_best_by_what_is_chosen_and_each_task_its_own_beside(
    place: Place, script: Any, choose_by: str, best: int, values: list[float]
) -> None:
    script(**RISE_AND_FALL)
    settings = {"epochs": 4, "choose_by": choose_by}
    output = f"best-{choose_by}"
    seen = place.train(two_tasks(place), output, training=settings)
    ends = [seen.updates[2 * epoch + 1].after for epoch in range(4)]
    weights = place.weights(output)
    assert weights.keys() == ends[0].keys()
    assert all(torch.equal(weights[name], ends[best][name]) for name in weights)
    firsts = [max(values[:epoch], default=-1) < value for epoch, value in enumerate(values)]
    assert [entry["best"] for entry in seen.entries] == firsts
    assert [entry["overall"] for entry in seen.entries] == pytest.approx([0.0, 0.0, 0.25, 0.15])
    kept = place.report(output)["best"]
    expected = {"step": 2 * best + 2, "phase": 0, "epoch": best + 1, "value": pytest.approx(values[best])}
    assert kept["overall"] == expected
    for task, epoch, value in (("a", 1, 0.9), ("b", 2, 0.8)):
        folder = "." if epoch == best else f"best/{task}"
        found = {"step": 2 * epoch + 2, "phase": 0, "epoch": epoch + 1, "value": value, "folder": folder}
        assert kept[task] == found
        path = place.folder / output / "best" / task
        assert path.exists() == (epoch != best)
        if path.exists():
            own = read_file(path / "model.safetensors")
            assert all(torch.equal(own[name], ends[epoch][name]) for name in own)
    assert not (place.folder / output / "best" / "overall").exists()


def test_the_best_over_all_phases_is_kept(place: Place, script: Any) -> None:
    script(a=[0.5, 0.9, 0.6, 0.7], b=[0.5, 0.5, 0.5, 0.6])
    phases = [{"epochs": 2}, {"epochs": 2, "tasks": ["b"]}]
    seen = place.train(two_tasks(place), "phases", phases=phases, training={"choose_by": "a"})
    weights = place.weights("phases")
    assert all(torch.equal(weights[name], value) for name, value in seen.updates[3].after.items())
    best = place.report("phases")["best"]
    assert best["overall"] == {"step": 4, "phase": 0, "epoch": 2, "value": 0.9}
    assert best["b"] == {"step": 6, "phase": 1, "epoch": 2, "value": 0.6, "folder": "best/b"}


@pytest.mark.parametrize("keep", [True, False])
def test_weights_of_each_task_are_kept_only_if_asked_for(place: Place, script: Any, keep: bool) -> None:
    script(a=[0.5, 0.9], b=[0.5, 0.1])
    settings = {"epochs": 2, "choose_by": "a", "keep_best_per_task": keep}
    place.train(two_tasks(place), f"keep-{keep}", training=settings)
    folder = place.folder / f"keep-{keep}"
    assert sorted(path.name for path in (folder / "best").glob("*")) == (["b"] if keep else [])
    assert place.report(f"keep-{keep}")["best"].keys() == ({"overall", "a", "b"} if keep else {"overall"})


def test_weights_of_each_task_are_kept_unless_the_config_says_otherwise(place: Place, script: Any) -> None:
    script(a=[0.5, 0.9], b=[0.5, 0.1])
    place.learn(two_tasks(place), "unsaid", training={"epochs": 2})
    folder = place.folder / "unsaid.running" / "best"
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "overall"]


@pytest.mark.parametrize("task", ["a", "b"])
def test_a_dev_value_that_is_no_number_ends_the_run(place: Place, script: Any, task: str) -> None:
    course = {"a": [0.5, 0.5], "b": [0.5, 0.5]}
    course[task][1] = float("nan")
    script(**course)
    callback = Recorder()
    with pytest.raises(WeftError, match=f"diverged: the dev value of {task} is nan"):
        place.train(two_tasks(place), f"nan-{task}", callback=callback, training={"epochs": 2, "choose_by": "a"})
    assert callback.ended == 1


# What is looked at


def test_the_gain_is_over_what_the_commonest_answer_of_training_reaches_on_the_dev_rows_looked_at(
    place: Place, script: Any
) -> None:
    """Of eight dev rows three are looked at, evenly spread; all three happen to have the commonest answer."""
    played = script(a=[0.75], b=[0.75])
    train = place.rows("mostly.jsonl", [(text, "yyyn"[i % 4]) for i, text in enumerate(TEXTS)])
    dev = place.rows("dev.jsonl", [(text, "ynynnynn"[i]) for i, text in enumerate(TEXTS[:8])])
    common = {"kind": "classification", "train": train, "head": HEAD, "metric": "accuracy"}
    few = place.rows("few.jsonl", [(text, "nny"[i]) for i, text in enumerate(TEXTS[:3])])
    tasks = {"a": {**common, "dev": dev}, "b": {**common, "dev": few}}
    seen = place.learn(tasks, "gain", training={"max_dev_rows": 3, "batch_size": 12})
    assert [[one.line for one in played.rows[0][task]] for task in "ab"] == [[1, 3, 6], [1, 2, 3]]
    assert seen.entries[0]["overall"] == pytest.approx(((0.75 - 1.0) + (0.75 - 1 / 3)) / 2)
    assert seen.entries[0]["dev"] == {"a": 0.75, "b": 0.75}


def test_all_dev_rows_are_looked_at_where_there_are_not_more_than_may_be(place: Place, script: Any) -> None:
    played = script(a=[0.5], b=[0.5])
    tasks = {name: place.task(name, 8, metric="accuracy") for name in "ab"}
    place.learn(tasks, "rows", training={"max_dev_rows": 8, "batch_size": 8})
    assert [[one.line for one in played.rows[0][task]] for task in "ab"] == [list(range(1, 9))] * 2


# When to stop


@pytest.mark.parametrize(
    ("choose_by", "patience", "epochs"),
    [
        ("a", 1, 3),  # 0.6, 0.7, 0.7
        ("b", 1, 5),  # always better
        ("overall", 1, 2),  # 0.1, 0.075, …
        ("overall", 3, 4),
        ("overall", None, 5),
    ],
)
def test_a_run_stops_after_so_many_evaluations_without_a_gain_by_what_is_chosen(
    place: Place, script: Any, choose_by: str, patience: int | None, epochs: int
) -> None:
    script(a=[0.6, 0.7, 0.7, 0.6, 0.1], b=[0.1, 0.2, 0.25, 0.3, 0.4])
    if choose_by == "overall":
        script(a=[0.6, 0.5, 0.5, 0.5, 0.5], b=[0.6, 0.65, 0.7, 0.7, 0.7])
    settings = {"epochs": 5, "choose_by": choose_by, "early_stopping_patience": patience}
    seen = place.learn(two_tasks(place), f"stop-{choose_by}-{patience}", training=settings)
    assert len(seen.entries) == epochs
    assert len(seen.updates) == 2 * epochs
    state = json.loads((place.folder / f"stop-{choose_by}-{patience}.running" / "state.json").read_text())
    assert state["stopped"] == ("early" if epochs < 5 else "finished")


def test_every_phase_has_its_own_patience_and_bar(place: Place, script: Any) -> None:
    """The second phase stays below the first, but gets better to its end; the third does not and stops."""
    script(a=[0.9, 0.8, 0.1, 0.2, 0.3, 0.2, 0.2], b=[0.5] * 7)
    phases = [{"epochs": 4}, {"epochs": 3}, {"epochs": 4}]
    settings = {"early_stopping_patience": 1, "choose_by": "a"}
    seen = place.train(two_tasks(place), "patience", phases=phases, training=settings)
    assert [(entry["phase"], entry["epoch"]) for entry in seen.entries] == [
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 2),
    ]
    assert place.report("patience")["stopped"] == "early"


def test_a_run_whose_last_phase_went_to_its_end_is_finished(place: Place, script: Any) -> None:
    script(a=[0.9, 0.8, 0.1], b=[0.5] * 3)
    settings = {"early_stopping_patience": 1, "choose_by": "a"}
    place.train(two_tasks(place), "to-its-end", phases=[{"epochs": 3}, {"epochs": 1}], training=settings)
    assert place.report("to-its-end")["stopped"] == "finished"


def test_patience_is_remembered_over_a_break(place: Place, script: Any) -> None:
    """The second evaluation is no gain, then Ctrl-C in the third epoch; the third evaluation is the last."""
    script(a=[0.9, 0.8, 0.8, 0.8, 0.8], b=[0.5] * 5)
    settings = {"early_stopping_patience": 2, "choose_by": "a", "epochs": 5}
    first = Recorder(interrupt_after(5))
    with pytest.raises(Interrupted):
        place.train(two_tasks(place), "break", callback=first, training=settings)
    second = place.train(two_tasks(place), "break", resume=True, training=settings)
    assert (len(first.entries), len(second.entries)) == (2, 1)
    report = place.report("break")
    assert report["stopped"] == "early"
    assert [entry["dev"]["a"] for entry in report["history"]] == [0.9, 0.8, 0.8]
    assert report["best"]["overall"]["epoch"] == 1


def test_a_break_between_two_phases_leaves_the_next_its_own_patience(place: Place, script: Any) -> None:
    script(a=[0.9, 0.8, 0.1, 0.2, 0.3], b=[0.5] * 5)
    document = {"phases": [{"epochs": 4}, {"epochs": 3}], "training": {"early_stopping_patience": 1, "choose_by": "a"}}
    with pytest.raises(Interrupted):
        place.train(two_tasks(place), "between", callback=Recorder(interrupt_after(5)), **document)
    second = place.train(two_tasks(place), "between", resume=True, **document)
    assert [(entry["phase"], entry["epoch"]) for entry in second.entries] == [(1, 1), (1, 2), (1, 3)]


def test_the_history_is_written_line_by_line_as_it_is_told(place: Place, script: Any) -> None:
    script(a=[0.5, 0.9], b=[0.5, 0.1])
    seen = place.train(two_tasks(place), "history", training={"epochs": 2})
    lines = (place.folder / "history" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == seen.entries == place.report("history")["history"]
    assert [entry["scores"]["a"] for entry in seen.entries] == [{"accuracy": 0.5}, {"accuracy": 0.9}]


def test_a_run_that_had_stopped_early_says_so_after_a_break_at_its_end(place: Place, script: Any) -> None:
    script(a=[0.9, 0.8], b=[0.5] * 2)
    settings = {"early_stopping_patience": 1, "choose_by": "a", "epochs": 5}

    class Asking(Recorder):
        def evaluated(self, entry: dict[str, Any]) -> None:
            super().evaluated(entry)
            if len(self.entries) == 2:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        place.train(two_tasks(place), "at-its-end", callback=Asking(), training=settings)
    assert not place.train(two_tasks(place), "at-its-end", resume=True, training=settings).steps
    assert place.report("at-its-end")["stopped"] == "early"


@pytest.mark.parametrize(
    ("settings", "chose"),
    [
        ({"choose_from": 10_000}, {"a": False, "b": False}),
        ({"choose_from": 1}, {"a": True, "b": True}),
        ({"choose_from": 1, "choose_by": "b"}, {"a": False, "b": True}),
    ],
)
def test_a_run_remembers_whose_dev_rows_had_a_say(place: Place, script: Any, settings: Any, chose: Any) -> None:
    script(a=[0.5, 0.9], b=[0.5, 0.4])
    output = f"say-{len(settings)}-{settings['choose_from']}"
    seen = place.train(two_tasks(place), output, training={"epochs": 2, **settings})
    report = place.report(output)
    assert {name: task["chose_weights"] for name, task in report["tasks"].items()} == chose
    assert any(entry["best"] for entry in seen.entries) == any(chose.values())
    assert ("value" in report["best"]["overall"]) == any(chose.values())


def test_of_one_evaluation_nothing_is_chosen(place: Place, script: Any) -> None:
    script(a=[0.5], b=[0.5])
    place.train(two_tasks(place), "say-once", training={"epochs": 1, "choose_from": 1})
    assert not any(task["chose_weights"] for task in place.report("say-once")["tasks"].values())
