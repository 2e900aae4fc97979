"""Few rows: when any are held out, when they have a say, and what a run is that measures nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import weft
from recorder import HEAD, TEXTS, Place, make_place
from weft.cli.screen import show_run
from weft.metrics.outcomes.file import OUTCOMES, read_outcomes
from weft.reports.record import RunRecord
from weft.reports.run_page import render
from weft.reports.summary import verdict
from weft.spec import parse
from weft.tasks import Task
from weft.tokenization.tokenizer import Tokenizer
from weft.training.progress import Callback
from weft.training.task_data import load_data


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("few"), tiny_tokenizers["wordpiece"], 0.0)


# Held out or not


def dev_rows(folder: Path, sizes: list[int], **options: Any) -> int:
    """How many rows are held out where labels have so many rows."""
    lines = ["text,label", *(f"row {label} {row},l{label}" for label, size in enumerate(sizes) for row in range(size))]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = parse(Task, {"kind": "classification", "train": "rows.csv", **options})
    return len(load_data({"t": task}, folder, 13)["t"].dev)


@pytest.mark.parametrize(
    ("sizes", "options", "held_out"),
    [
        pytest.param([200, 200], {}, 40, id="plenty"),
        pytest.param([200, 199], {}, 0, id="a row too few"),
        pytest.param([40] * 10, {}, 40, id="just enough of each label"),
        pytest.param([39] * 11, {}, 0, id="enough rows, but not of each label"),
        pytest.param([300, 300, 5], {}, 60, id="one rare label among common ones"),
        pytest.param([400, 10, 10], {}, 0, id="one common label among rare ones"),
        pytest.param([10, 10], {"dev": 0.5}, 10, id="a share that is named"),
        pytest.param([500, 500], {"dev": 0}, 0, id="none, as named"),
        pytest.param([500, 500], {"dev": 0.0}, 0, id="none, as a share"),
        pytest.param([500, 500], {"limit": 399}, 0, id="a limit that leaves few"),
        pytest.param([500, 500], {"limit": 400}, 100, id="a limit that leaves plenty"),
        pytest.param([500, 500], {"fraction": 0.39}, 0, id="a fraction that leaves few"),
        pytest.param([60] * 20, {"limit": 600}, 0, id="a limit that leaves few of each label"),
    ],
)
def test_a_tenth_is_held_out_where_there_are_plenty_and_else_only_if_named(
    tmp_path: Path, sizes: list[int], options: dict[str, Any], held_out: int
) -> None:
    assert dev_rows(tmp_path, sizes, **options) == pytest.approx(held_out, abs=len(sizes) / 2)


def test_rows_without_labels_of_their_own_count_by_their_number_alone(tmp_path: Path) -> None:
    for rows, held_out in ((400, True), (399, False)):
        lines = [{"sentence1": f"a {row}", "sentence2": "b", "score": row % 5} for row in range(rows)]
        (tmp_path / "near.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        task = parse(Task, {"kind": "similarity", "train": "near.jsonl"})
        splits = load_data({"t": task}, tmp_path, 13)["t"]
        assert bool(splits.dev) == held_out
        assert len(splits.train) + len(splits.dev) == rows


def test_each_of_several_labels_of_a_row_is_counted(tmp_path: Path) -> None:
    """As many rows of each label as there are rows, so no label is rare."""
    lines = [{"text": f"row {row}", "label": ["x", "y"] if row % 5 else ["x", "y", "z"]} for row in range(400)]
    (tmp_path / "many.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    task = parse(Task, {"kind": "classification", "multilabel": True, "train": "many.jsonl"})
    assert len(load_data({"t": task}, tmp_path, 13)["t"].dev) == pytest.approx(40, abs=2)


@pytest.mark.parametrize("dev", [1, 1.5, -0.1, True])
def test_a_share_that_is_none_is_a_fault(dev: Any) -> None:
    with pytest.raises(weft.WeftError, match="from 0 \\(none\\) to below 1"):
        parse(Task, {"kind": "classification", "train": "rows.csv", "dev": dev})


# Who has a say


def opposite(place: Place) -> dict[str, Any]:
    """A task with 12 dev rows and one with 4, whose answers are opposite: only one of them can get better."""
    head = {**HEAD, "share": "one"}
    few = place.rows("few-dev.jsonl", [(text, "ab"[i % 3 > 0]) for i, text in enumerate(TEXTS[:4])])
    tasks = {"many": place.task("many", 12, "aab", head=head), "few": place.task("few", 12, "bba", head=head)}
    return {"many": tasks["many"], "few": {**tasks["few"], "dev": few}}


PHASES = [{"fit": "logistic", "tasks": [name]} for name in ("many", "few")]


@pytest.mark.parametrize(
    ("choose_from", "telling"), [(1, {"many", "few"}), (4, {"many", "few"}), (5, {"many"}), (12, {"many"}), (13, set())]
)
def test_tasks_with_fewer_dev_rows_than_asked_for_have_no_say(
    place: Place, choose_from: int, telling: set[str]
) -> None:
    output = f"from-{choose_from}"
    place.train(opposite(place), output, phases=PHASES, training={"choose_from": choose_from})
    report = place.report(output)
    assert report["best"].keys() == telling | {"overall"}
    for entry in report["history"]:
        assert entry["dev"].keys() == {"many", "few"}  # which are told all the same
        assert ("overall" not in entry) == (not telling)
    if telling == {"many"}:
        assert report["best"]["overall"]["phase"] == 0  # in which the other has learned nothing
    if not telling:
        assert (report["best"]["overall"]["phase"], report["best"]["overall"].get("value")) == (1, None)
        assert [entry["best"] for entry in report["history"]] == [False, False]  # the last are taken, best or not


def test_the_overall_gain_is_the_mean_over_the_tasks_that_have_a_say(place: Place) -> None:
    """By the mean F1, the commonest answer reaches 0.4 on 8 of 12 rows, and a third on 2 of 4."""
    both, one = (place.learn(opposite(place), f"gain-{n}", phases=PHASES, training={"choose_from": n}) for n in (4, 5))
    assert len(both.entries) == len(one.entries) == 2
    for entry, alone in zip(both.entries, one.entries, strict=True):
        gains = [entry["dev"]["many"] - 0.4, entry["dev"]["few"] - 1 / 3]
        assert entry["overall"] == pytest.approx(sum(gains) / 2)
        assert alone["overall"] == pytest.approx(gains[0])
        assert alone["dev"] == entry["dev"]


def test_without_a_say_for_anybody_the_last_weights_are_the_model(place: Place) -> None:
    task = {"a": place.task("last", 8, "aab")}
    training = {"choose_from": 9, "epochs": 4, "learning_rate": 3e-2, "early_stopping_patience": 1}
    seen = place.train(task, "last", training=training)
    assert len(seen.entries) == 4  # nothing tells when to stop
    kept = place.weights("last")
    assert all(torch.equal(kept[name], value) for name, value in seen.updates[-1].after.items())
    assert not (place.folder / "last" / "best").exists()


def test_a_task_to_choose_by_that_has_too_few_dev_rows_leaves_the_last_weights(place: Place) -> None:
    settings = {"choose_by": "few", "choose_from": 5}
    place.train(opposite(place), "by-few", phases=PHASES[::-1], training=settings)
    best = place.report("by-few")["best"]
    assert (best["overall"]["phase"], best["overall"].get("value")) == (1, None)
    assert best["many"]["phase"] == 1


# Nothing to measure


@pytest.fixture(scope="module")
def unmeasured(place: Place) -> Path:
    """The model of a plain config with twelve rows of three labels and no others."""
    file = place.rows("all.jsonl", [(text, "abc"[i % 3]) for i, text in enumerate(TEXTS)])
    document = {
        "encoder": {"from": place.encoder},
        "tasks": {"a": {"kind": "classification", "train": file}},
        "preset": {"kind": "few_labels", "steps": 3},
    }
    weft.train(document, place.folder / "unmeasured", data=place.folder, device="cpu", callback=Callback())
    return place.folder / "unmeasured"


def test_a_run_without_rows_to_measure_on_learns_from_all_and_gives_a_model_that_answers(unmeasured: Path) -> None:
    report = json.loads((unmeasured / "report.json").read_text(encoding="utf-8"))
    assert report["tasks"]["a"]["rows"] == {"train": 12, "dev": 0, "test": 0}
    assert report["rows"] == 12
    answers = weft.load(unmeasured).predict(TEXTS, "a")
    assert {answer["label"] for answer in answers} <= {"a", "b", "c"}
    right = sum(answer["label"] == "abc"[i % 3] for i, answer in enumerate(answers))
    assert right >= 8  # of the twelve that it was fitted to
    assert (unmeasured / "model.safetensors").exists()
    assert not list(unmeasured.glob("state*"))


def test_a_run_without_rows_to_measure_on_says_that_it_was_not_measured(unmeasured: Path) -> None:
    record = RunRecord.from_dict(json.loads((unmeasured / "report.json").read_text(encoding="utf-8")))
    result = record.tasks["a"].result
    assert (result.rows, result.measures.scores, result.baselines) == (0, {}, {})
    (said,) = verdict(record)
    assert said.startswith("a was not measured: there is no test file, and all rows were needed to learn from.")
    page = (unmeasured / "report.html").read_text(encoding="utf-8")
    assert page == render(record)
    assert "a was not measured" in page
    assert "a was not measured" in (unmeasured / "README.md").read_text(encoding="utf-8")
    assert json.loads((unmeasured / "metrics.json").read_text(encoding="utf-8")) == {"a": {}}
    assert record.history[-1].dev == {}
    assert record.history[-1].overall is None


class Notes(Callback):
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


def test_a_run_without_rows_to_measure_on_shows_no_figures_and_says_so_once(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    notes, target = Notes(), place.folder / "silent"
    tasks = {"a": {**place.task("unseen", 8), "dev": 0}}
    document = {"encoder": {"from": place.encoder}, "tasks": tasks, "phases": [{"fit": "logistic"}]}
    weft.train(document, target, data=place.folder, device="cpu", callback=notes)
    assert not [one for one in notes.said if one.startswith("measuring")]
    show_run(target)
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("not measured") == 1
    assert "0 dev" not in out


def test_a_task_that_is_measured_beside_one_that_is_not_is_told_as_before(place: Place) -> None:
    tested = place.rows("tested.jsonl", [(text, "ab"[i % 2]) for i, text in enumerate(TEXTS[:6])])
    tasks = {"a": place.task("measured", 8), "b": {**place.task("bare", 8), "dev": 0}}
    tasks["a"] = {**tasks["a"], "dev": 0, "test": tested}
    place.train(tasks, "beside", phases=[{"fit": "logistic"}], training={"baselines": True})
    report = place.report("beside")
    assert [report["tasks"][name]["result"]["rows"] for name in "ab"] == [6, 0]
    assert report["tasks"]["a"]["result"]["measures"]["scores"]["accuracy"] >= 0.5
    assert report["tasks"]["a"]["result"]["baselines"].keys() == {"majority", "tfidf", "probe"}
    said = verdict(RunRecord.from_dict(report))
    assert said[0].startswith("On the test rows, a ")
    assert any(sentence.startswith("b was not measured") for sentence in said)
    assert read_outcomes(place.folder / "beside" / OUTCOMES).keys() == {"a"}
