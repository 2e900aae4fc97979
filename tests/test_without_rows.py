"""Tasks without training rows in a config: answers by the words of labels, alone or beside tasks that learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch

import weft
from checking import check
from conftest import RunWeft
from recorder import Place, Recorder, interrupt_after, make_place
from weft.checkpoints.safetensors import read_file
from weft.comparison.progress import ComparisonCallback
from weft.config.document import parse_experiment, read_experiment
from weft.config.experiment import Experiment
from weft.errors import ConfigError
from weft.heads.cosine import Cosine
from weft.model.folder import DOCUMENT
from weft.model.zero_shot import uncalibrated_note
from weft.pooling.mean import Mean
from weft.reports.record import RunRecord
from weft.reports.run_page import render
from weft.reports.summary import verdict
from weft.spec import parse
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer
from weft.training import dev_rows
from weft.training.interrupt import Interrupted

LABELS = {"quick_fox": "quick fox", "lazyDog": "lazy Dog", "café": "café"}  # as they are named, and as they are read
ROWS = [("the quick fox", "quick_fox"), ("a lazy dog", "lazyDog"), ("jumps over the café", "café")]
NEW = ["the brown fox", "lazy", "naïve café", "don't jump over the lazy dog"]
SECRET = "secret words of a patient"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    found = make_place(tmp_path_factory.mktemp("without"), tiny_tokenizers["wordpiece"], 0.2)
    found.rows("topic.jsonl", ROWS)
    return found


def by_words(**options: Any) -> dict[str, Any]:
    """A task without training rows."""
    return {"kind": "classification", "labels": list(LABELS), "test": "topic.jsonl", **options}


def directions(folder: Path, task: str = "topic") -> torch.Tensor:
    return read_file(folder / "model.safetensors")[f"heads.<{task}>.weight"]


def expected(folder: Path, texts: list[str]) -> np.ndarray[Any, Any]:
    """The directions that the encoder of a model folder gives to texts."""
    return np.asarray(weft.load(folder, device="cpu").embed(texts, normalize=True))


# Alone


@pytest.fixture(scope="module")
def alone(place: Place) -> Recorder:
    return place.train({"topic": by_words()}, "alone", training={"baselines": True})


def test_alone_nothing_is_learned_and_answers_are_those_of_zero_shot(place: Place, alone: Recorder) -> None:
    model = weft.load(place.folder / "alone", device="cpu")
    plain = weft.zero_shot(place.encoder, LABELS, task="topic", device="cpu")
    assert model.predict(NEW, "topic", scores=True) == plain.predict(NEW, "topic", scores=True)
    assert (alone.began, alone.steps, alone.entries, alone.ended) == ([(0, 0)], [], [], 1)
    assert "no task has training rows: the encoder stays as it is" in alone.notes
    assert uncalibrated_note(model.network) in alone.notes


def test_alone_it_is_measured_on_its_test_rows_without_baselines(place: Place, alone: Recorder) -> None:
    report = place.report("alone")
    (task,) = report["tasks"].values()
    assert task["rows"] == {"train": 0, "dev": 0, "test": 3}
    assert (task["reported_on"], task["calibrated"], task["result"]["baselines"]) == ("test", False, {})
    assert (report["trained_parameters"], report["best"], report["history"]) == (0, {}, [])
    scores = json.loads((place.folder / "alone" / "metrics.json").read_text(encoding="utf-8"))["topic"]
    model = weft.load(place.folder / "alone", device="cpu")
    assert model.evaluate(place.folder / "topic.jsonl")["topic"].measures.scores == pytest.approx(scores)


def test_reports_say_that_it_is_calibrated_on_nothing(place: Place, alone: Recorder) -> None:
    record = RunRecord.from_dict(place.report("alone"))
    sentence, *_ = verdict(record)
    assert sentence.startswith("topic learned from no row and answers by the words of its labels: f1_macro ")
    assert sentence.endswith("on the test rows. Its confidence is calibrated on nothing.")
    page = (place.folder / "alone" / "report.html").read_text(encoding="utf-8")
    assert page == render(record)
    assert "calibrated on nothing" in page
    assert "Calibrated on nothing: no row was learned from." in page
    card = (place.folder / "alone" / "README.md").read_text(encoding="utf-8")
    assert "by the words of its labels alone, calibrated on nothing" in card
    assert "trained for" not in card


def test_the_config_that_is_written_down_can_be_run_again(place: Place, alone: Recorder) -> None:
    again = weft.train(place.folder / "alone" / "weft.toml", place.folder / "again", data=place.folder, device="cpu")
    assert torch.equal(directions(place.folder / "again"), directions(place.folder / "alone"))
    assert again.network.tasks["topic"].head == Cosine()


def test_without_test_rows_it_is_written_and_not_measured(place: Place) -> None:
    place.train({"topic": by_words(test=None)}, "unmeasured", training={"baselines": True})
    (sentence,) = verdict(RunRecord.from_dict(place.report("unmeasured")))
    assert "by the words of its labels, and was not measured; name a test file. Its confidence is cal" in sentence
    assert torch.equal(directions(place.folder / "unmeasured"), directions(place.folder / "alone"))


def test_rows_in_memory_are_measured_on(place: Place) -> None:
    rows = [{"text": text, "label": label} for text, label in ROWS]
    place.train({"topic": by_words(test=rows)}, "memory")
    assert place.report("memory")["tasks"]["topic"]["result"]["rows"] == 3


class Killed(Recorder):
    """Broken off before anything is measured."""

    def note(self, text: str) -> None:
        if text.startswith("measuring"):
            raise KeyboardInterrupt


def test_alone_it_can_be_resumed(place: Place, alone: Recorder) -> None:
    with pytest.raises(KeyboardInterrupt):
        place.train({"topic": by_words()}, "killed", callback=Killed())
    place.train({"topic": by_words()}, "killed", resume=True)
    assert torch.equal(directions(place.folder / "killed"), directions(place.folder / "alone"))


def test_costs_decide_though_no_label_was_counted(place: Place) -> None:
    costs = {"lazyDog": {"quick_fox": 1000.0, "café": 1000.0}}
    model = weft.train(
        place.document({"topic": by_words(costs=costs)}, {}), place.folder / "costs", data=place.folder, device="cpu"
    )
    assert {answer["label"] for answer in model.predict(NEW, "topic")} == {"lazyDog"}
    assert "cost" in place.report("costs")["tasks"]["topic"]["result"]["measures"]["scores"]


# Beside tasks that learn


def both(place: Place, **options: Any) -> dict[str, Any]:
    return {"a": place.task("a", 8), "topic": by_words(**options)}


PHASES: dict[str, Any] = {"training": {"epochs": 2, "learning_rate": 1e-2}}


@pytest.fixture(scope="module")
def beside(place: Place) -> Recorder:
    return place.train(both(place), "beside", training={**PHASES["training"], "baselines": True})


def test_directions_are_those_of_the_encoder_that_was_chosen(place: Place, beside: Recorder) -> None:
    found = directions(place.folder / "beside").numpy()
    np.testing.assert_allclose(found, expected(place.folder / "beside", list(LABELS.values())), atol=1e-6)
    plain = weft.zero_shot(place.encoder, LABELS, device="cpu")
    assert np.abs(found - plain.network.heads["<label>"].weight.detach().numpy()).max() > 1e-2


def test_it_takes_part_in_no_step_and_no_evaluation(beside: Recorder, place: Place) -> None:
    assert set(beside.tasks) == {"a"}
    assert not [name for update in beside.updates for name in update.gradients if "topic" in name]
    for entry in beside.entries:
        assert set(entry["dev"]) == set(entry["weights"]) == set(entry["losses"]) == {"a"}
    baselines = {name: task["result"]["baselines"] for name, task in place.report("beside")["tasks"].items()}
    assert baselines["topic"] == {}
    assert set(baselines["a"]) == {"majority", "tfidf", "probe"}


def test_what_the_others_learn_is_the_same_as_without_it(place: Place, beside: Recorder) -> None:
    place.train({"a": place.task("a", 8)}, "learned", **PHASES)
    learned, found = place.weights("learned"), place.weights("beside")
    assert found.keys() - learned.keys() == {"heads.<topic>.weight"}
    assert all(torch.equal(found[name], tensor) for name, tensor in learned.items())
    trained = [place.report(output)["trained_parameters"] for output in ("learned", "beside")]
    assert trained[0] == trained[1]


def test_the_summary_holds_only_the_others_against_baselines(place: Place, beside: Recorder) -> None:
    first, *others = verdict(RunRecord.from_dict(place.report("beside")))
    assert " a " in first
    assert "topic" not in first
    assert [sentence for sentence in others if sentence.startswith("topic learned from no row")]


def test_a_resumed_run_is_the_same_run(place: Place, beside: Recorder) -> None:
    with pytest.raises(Interrupted):
        place.train(both(place), "broken", callback=Recorder(interrupt_after(5)), **PHASES)
    place.train(both(place), "broken", resume=True, **PHASES)
    through, resumed = place.weights("beside"), place.weights("broken")
    assert all(torch.equal(resumed[name], tensor) for name, tensor in through.items())


def test_the_best_weights_of_each_task_have_directions_of_their_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = {"a": iter([0.9, 0.1, 0.5]), "b": iter([0.1, 0.2, 0.9])}

    def evaluate(network: Any, rows: Any, intervals: bool = True, **_: Any) -> Any:
        measures = weft.targets.Measures
        return {n: dev_rows.TaskResult("f1_macro", 2, measures({"f1_macro": next(course[n])})) for n in rows}

    monkeypatch.setattr(dev_rows, "evaluate", evaluate)
    tasks = {"a": place.task("a", 4), "b": place.task("b", 4), "topic": by_words()}
    place.train(tasks, "per-task", training={"epochs": 3, "learning_rate": 1e-2, "choose_by": "b"})
    folder = place.folder / "per-task"
    assert [path.name for path in (folder / "best").iterdir()] == ["a"]
    for found in (folder, folder / "best" / "a"):
        np.testing.assert_allclose(directions(found), expected(found, list(LABELS.values())), atol=1e-6)
    assert (directions(folder) - directions(folder / "best" / "a")).abs().max() > 1e-4


def test_it_is_read_in_the_mean_where_conditioning_feeds_the_first_token(place: Place) -> None:
    place.train(both(place), "fed", conditioning="label_attention")
    model = weft.load(place.folder / "fed", device="cpu")
    assert model.network.tasks["topic"].pooling == Mean()
    assert model.network.tasks["a"].pooling.first_token
    assert len(model.predict(NEW, "topic")) == len(NEW)


def test_predict_says_that_it_is_calibrated_on_nothing(run_weft: RunWeft, place: Place, beside: Recorder) -> None:
    code, out, err = run_weft("predict", place.folder / "beside", "--text", NEW[0])
    assert code == 0
    assert json.loads(out)["topic"]["label"] in LABELS
    assert err.startswith("calibrated on nothing: topic compares texts with the words of labels")


# Labels and what they mean


def test_a_table_of_labels_names_them_in_order_and_describes_them(tmp_path: Path) -> None:
    text = 'labels = {z = "the quick fox", a = "", m = "a lazy dog"}'
    (tmp_path / "run.toml").write_text(f'[tasks.t]\nkind = "classification"\n{text}\n', encoding="utf-8")
    task = read_experiment(tmp_path / "run.toml").tasks["t"]
    assert task.target().labels == ("z", "a", "m")
    assert task.label_texts() == {"z": "the quick fox", "a": "a", "m": "a lazy dog"}
    assert parse(Task, task.to_dict()) == task
    again = tmp_path / "again.toml"
    again.write_text(tomli_w.dumps(read_experiment(tmp_path / "run.toml").to_dict()), encoding="utf-8")
    assert read_experiment(again).tasks["t"] == task


def test_descriptions_are_read_instead_of_names(place: Place) -> None:
    described = {"quick_fox": "brown", "lazyDog": "", "café": "over the dog"}
    place.train({"topic": by_words(labels=described)}, "described")
    read = ["brown", "lazy Dog", "over the dog"]
    np.testing.assert_allclose(
        directions(place.folder / "described"), expected(place.folder / "described", read), atol=1e-6
    )
    stored = json.loads((place.folder / "described" / DOCUMENT).read_text(encoding="utf-8"))["tasks"]["topic"]
    assert stored["labels"] == list(LABELS)


def test_with_rows_the_names_of_a_table_count_and_nothing_else_changes(place: Place) -> None:
    for output, labels in (("named", ["b", "a"]), ("table", {"b": "the fox", "a": "the dog"})):
        place.train({"a": place.task("a", 8, labels=labels)}, output)
    named, table = place.weights("named"), place.weights("table")
    assert all(torch.equal(table[name], tensor) for name, tensor in named.items())
    assert weft.load(place.folder / "table", device="cpu").network.targets["a"].labels == ("b", "a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": {"a": 3, "b": "fox"}}, r"labels is a table of NAME = \"what it means\", in words; received 3"),
        ({"labels": {"a": "x"}, "descriptions": {"a": "y"}}, "labels are described twice"),
        ({"labels": ["a", "b"], "descriptions": {"c": "y"}}, "descriptions is about 1 that labels does not name"),
        ({"descriptions": {"c": "y"}}, "descriptions is about 1 that labels does not name"),
    ],
)
def test_descriptions_that_are_none_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(Task, {"kind": "classification", **options})


@pytest.mark.parametrize(
    ("options", "without"),
    [
        ({"labels": ["a", "b"]}, True),
        ({"labels": ["a"]}, False),
        ({}, False),
        ({"labels": ["a", "b"], "multilabel": True}, False),
        ({"labels": ["a", "b"], "train": "rows.csv"}, False),
    ],
)
def test_two_labels_and_no_training_rows_make_it(options: dict[str, Any], without: bool) -> None:
    experiment = parse_experiment({"tasks": {"t": {"kind": "classification", **options}}})
    assert experiment.tasks["t"].without_rows == without
    assert isinstance(experiment.tasks["t"].head, Cosine) == without
    assert experiment.learned == (() if without else ("t",))


# Faults


def faults(place: Place, tokenizer: Tokenizer | None, **task: Any) -> dict[str, str]:
    experiment = parse_experiment({"tasks": {"topic": by_words(**task)}})
    found = check(experiment, place.folder, tokenizer, 24)
    return {one.path: one.message for one in found if one.severity == "error"}


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        ({"head": "linear"}, "head", "there are no training rows, so it must be 'cosine', not 'linear'; leave it out"),
        ({"head": {"kind": "cosine", "share": "x"}}, "head.share", "so its head is that of its own labels"),
        ({"dev": "topic.jsonl"}, "dev", "to measure on them, name them test"),
        ({"dev": 0.2}, "dev", "nothing is chosen by dev rows"),
        ({"loss": "focal"}, "loss", "does nothing here: there are no training rows; leave it out, or name train"),
        ({"limit": 3}, "limit", "does nothing here"),
        ({"fraction": 0.5}, "fraction", "does nothing here"),
        ({"labels": ["fox", "Fox"], "test": None}, "labels", "labels 1 and 2 read the same to this encoder"),
        ({"labels": ["fox", "\u200b"], "test": None}, "labels", "label 2 has nothing to read"),
        ({"labels": ["fox", "dog", "fox"], "test": None}, "labels", "label 3 is the same as label 1"),
        ({"labels": ["fox", " "], "test": None}, "labels", "label 2 is empty"),
    ],
)
def test_what_cannot_be_without_rows_is_a_fault(
    place: Place, tiny_tokenizers: dict[str, Tokenizer], options: dict[str, Any], path: str, message: str
) -> None:
    found = faults(place, tiny_tokenizers["wordpiece"], **options)
    assert list(found) == [f"tasks.topic.{path}"]
    assert message in found[f"tasks.topic.{path}"]


def test_all_faults_are_told_at_once_and_stop_training(place: Place) -> None:
    task = by_words(head="mlp", dev=0.1, limit=5, labels=["fox", "Fox"], test=None)
    with pytest.raises(ConfigError) as caught:
        place.train({"topic": task}, "faulty")
    paths = {fault.path for fault in caught.value.located}
    assert paths == {f"tasks.topic.{option}" for option in ("head", "dev", "limit", "labels")}
    assert not (place.folder / "faulty.running").exists()


def test_a_label_that_is_none_of_them_is_found_in_the_test_rows(place: Place) -> None:
    (message,) = faults(place, None, labels=["quick_fox", "lazyDog"]).values()
    assert "is not one of: quick_fox, lazyDog" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name a file; or name its labels, two or more, and it answers by their words alone"),
        ({"labels": ["a"]}, "name a file; or name its labels, two or more, and it answers by their words alone"),
        ({"multilabel": True, "labels": ["a", "b"]}, "name a file"),
        ({"kind": "pair_classification", "labels": ["a", "b"]}, "name a file"),
        ({"kind": "tagging", "labels": ["a", "b"]}, "name a file"),
    ],
)
def test_training_rows_are_required_elsewhere(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    found = check(parse_experiment({"tasks": {"t": {"kind": "classification", **options}}}), tmp_path)
    errors = [one for one in found if one.severity == "error"]
    assert [(one.path, one.message) for one in errors] == [
        ("tasks.t.train", f"is required to train this task; {message}")
    ]


@pytest.mark.parametrize("named", [{"phases": [{"tasks": ["topic"]}]}, {"training": {"choose_by": "topic"}}])
def test_phases_and_choices_that_name_it_are_refused(named: dict[str, Any]) -> None:
    learned = {"kind": "classification", "train": "a.csv"}
    with pytest.raises(ConfigError, match=r"the task 'topic' has no training rows, so it learns in no phase"):
        parse_experiment({"tasks": {"a": learned, "topic": by_words()}, **named})


# `weft check`


def findings(place: Place, tokenizer: Tokenizer, experiment: Experiment) -> list[tuple[str, str, str]]:
    found = check(experiment, place.folder, tokenizer, 24)
    return [(one.severity, one.path, one.message) for one in found]


def test_check_says_what_it_will_do(run_weft: RunWeft, place: Place) -> None:
    document = place.document({"topic": by_words()}, {}, data=str(place.folder))
    (place.folder / "check.toml").write_text(tomli_w.dumps(document), encoding="utf-8")
    code, out, _ = run_weft("check", place.folder / "check.toml")
    assert code == 0
    assert "no training rows: it answers by the words of its labels alone, calibrated on nothing" in out
    assert "phases" in out  # in which nothing is learned
    assert "ready to train" in out
    code, out, _ = run_weft("train", place.folder / "check.toml", "--show-config")
    assert code == 0
    assert out.startswith("# no task has training rows: the encoder stays as it is")


def test_check_finds_nothing_odd_in_phases_and_pooling(place: Place, tiny_tokenizers: dict[str, Tokenizer]) -> None:
    experiment = parse_experiment({"conditioning": "label_attention", "tasks": both(place)})
    about = [one for one in findings(place, tiny_tokenizers["wordpiece"], experiment) if "topic" in one[1]]
    assert {(severity, path, message.partition(" (")[0]) for severity, path, message in about} == {
        ("warning", "tasks.topic.test", "topic.jsonl: labels with too few rows to measure"),
        ("warning", "tasks.topic.test", "topic.jsonl, line 1: 1 of 3"),  # which `a` learns from
        ("note", "tasks.topic", "no training rows: it answers by the words of its labels alone, calibrated on nothing"),
    }
    unmeasured = parse_experiment({"tasks": {"topic": by_words(test=None)}})
    found = findings(place, tiny_tokenizers["wordpiece"], unmeasured)
    assert ("warning", "tasks.topic.test") in [(severity, path) for severity, path, _ in found]


# `weft compare`


class Quiet(ComparisonCallback):
    """Says nothing."""


def make_grid(place: Place, **grid: Any) -> dict[str, Any]:
    base = place.document({"topic": by_words()}, {}, data=str(place.folder))
    rows = {"tasks.topic.train": place.rows("learn.jsonl", ROWS * 4), "tasks.topic.head": "linear"}
    return {"base": base, "variants": {"words": {}, "rows": rows}, "seeds": 2, **grid}


def test_words_are_compared_with_rows(place: Place) -> None:
    found = weft.compare(make_grid(place, sizes=[6, "all"]), place.folder / "compared", callback=Quiet(), device="cpu")
    assert {(row["variant"], row["size"]) for row in found.rows} == {
        (variant, size) for variant in ("words", "rows") for size in (6, None)
    }
    plain = weft.zero_shot(place.encoder, LABELS, device="cpu").evaluate(place.folder / "topic.jsonl")
    assert found.cell("topic", "words").mean == pytest.approx(plain["label"].value)


def test_it_cannot_be_dealt_into_folds(place: Place) -> None:
    grid = make_grid(place, folds=2)
    grid["variants"] = {"words": {}, "longer": {"tasks.topic.max_length": 12}}
    with pytest.raises(ConfigError, match=r"topic\.test: there are no training rows to deal into folds: name a test"):
        weft.compare(grid, place.folder / "folds", callback=Quiet(), device="cpu")


# Texts that are cut


def test_training_says_how_many_texts_are_cut_as_check_does(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    rows = [(f"{SECRET} {'fox ' * (9 if number < 3 else 1)}", "ab"[number % 2]) for number in range(8)]
    place.rows("long.jsonl", rows)
    task = {"kind": "classification", "train": "long.jsonl", "test": "long.jsonl", "max_length": 12, "head": "linear"}
    described = {**LABELS, "café": "quick " * 30}
    tasks = {"long": task, "topic": by_words(labels=described), "a": place.task("a", 4)}
    seen = place.learn(tasks, "cut")
    notes = [note for note in seen.notes if "are cut" in note]
    assert len(notes) == 2
    assert not [note for note in seen.notes if "secret" in note or "quick quick" in note]
    assert notes[1] == "topic: texts over the limit of 24 tokens are cut ('head' stays): labels 1 of 3 (33.3 %)"
    found = findings(place, tiny_tokenizers["wordpiece"], parse_experiment({"tasks": tasks}))
    told = {path: message for _, path, message in found if "will be cut" in message}
    assert set(told) == {"tasks.long.train", "tasks.long.test", "tasks.topic.labels"}
    count = notes[0].rpartition("train ")[2].partition(",")[0]
    assert notes[0] == f"long: texts over the limit of 12 tokens are cut ('head' stays): train {count}, test {count}"
    assert f": {count} rows are over the limit of 12 tokens" in told["tasks.long.train"]
    assert "1 of 3 (33.3 %) rows are over the limit of 24 tokens" in told["tasks.topic.labels"]
