"""Costs and urgency from a config to a model folder, its report, `weft evaluate --find` and `weft predict --sort`."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import weft
from conftest import RunWeft
from weft.errors import ConfigError
from weft.metrics.outcomes.costed import CostedOutcomes
from weft.metrics.outcomes.file import read_outcomes
from weft.metrics.sections import CostTable, DecisionTable
from weft.model.inputs import read_inputs
from weft.model.predict import predict_rows
from weft.model.ranking import highest_first, ranked_rows, row_order
from weft.reports.record import ResultRecord, RunRecord, TaskRecord, read_record
from weft.reports.summary import verdict
from weft.training.progress import Callback

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog", "café", "don't", "1234", "naïve"]
COSTS = {"urgent": {"non-urgent": 20.0, "medium": 5.0}}
LABELS = {"fox": "urgent", "dog": "medium"}
Rows = list[dict[str, Any]]
SHORT = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3}


def make_rows(count: int, seed: int) -> Rows:
    """Texts that are urgent where they name a fox, with answers to every task."""
    rng = random.Random(seed)
    texts = list(dict.fromkeys(" ".join(rng.choices(WORDS, k=rng.randint(2, 6))) for _ in range(count)))
    return [
        {
            "text": text,
            "urgency": next((label for word, label in LABELS.items() if word in text), "non-urgent"),
            "length": ("short", "middle", "long")[min(len(text) // 12, 2)],
            "fox": "yes" if "fox" in text else "no",
            "sentence1": text,
            "sentence2": text[::-1],
            "score": len(text) % 6,
            "spans": [[0, len(text.split()[0]), "first"]],
        }
        for text in texts
    ]


def document(encoder: str, **urgency: Any) -> dict[str, Any]:
    files = {"train": "train.jsonl", "dev": "dev.jsonl", "test": "dev.jsonl"}
    tasks: dict[str, Any] = {
        "urgency": {"kind": "classification", "label": "urgency", "costs": COSTS, **urgency},
        "length": {"kind": "classification", "label": "length"},
        "fox": {"kind": "classification", "label": "fox"},
        "near": {"kind": "similarity"},
        "first": {"kind": "spans"},
    }
    return {
        "encoder": {"from": encoder},
        "tasks": {name: {**task, **files} for name, task in tasks.items()},
        "training": SHORT,
    }


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, small_encoder: str) -> Path:
    """A folder with the rows of all tasks, and `model/`, trained on them."""
    folder = tmp_path_factory.mktemp("decisions")
    for name, rows in (("train", make_rows(60, 0)), ("dev", make_rows(40, 1)), ("new", make_rows(20, 2))):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    weft.train(document(small_encoder), folder / "model", data=folder, device="cpu", callback=Callback())
    return folder


def answers(out: str) -> Rows:
    return [json.loads(line) for line in out.splitlines()]


# the folder and its report


def test_costs_are_in_the_model_folder_and_decide_what_it_answers(home: Path) -> None:
    stored = json.loads((home / "model" / "weft.json").read_text(encoding="utf-8"))
    assert stored["tasks"]["urgency"]["costs"] == COSTS
    assert not any("costs" in task for name, task in stored["tasks"].items() if name != "urgency")
    found = weft.load(home / "model").predict([row["text"] for row in make_rows(40, 1)], task="urgency", scores=True)
    for answer in found:
        p = answer["scores"]
        expected = {
            "non-urgent": 20 * p["urgent"] + p["medium"],
            "medium": 5 * p["urgent"] + p["non-urgent"],
            "urgent": p["medium"] + p["non-urgent"],
        }
        assert answer["label"] == min(expected, key=expected.__getitem__)
        assert answer["score"] == p[answer["label"]]
    assert any(answer["label"] != max(answer["scores"], key=answer["scores"].get) for answer in found)


def test_a_run_measures_cost_beside_baselines_and_keeps_what_every_row_cost(home: Path) -> None:
    metrics = json.loads((home / "model" / "metrics.json").read_text(encoding="utf-8"))
    assert [name for name, scores in metrics.items() if "cost" in scores] == ["urgency"]
    task = read_record(home / "model").tasks["urgency"]
    assert task.chosen == "f1_macro"  # costs do not choose weights
    assert task.result.baselines["majority"]["cost"] is not None
    assert task.result.measures.intervals["cost"] is not None
    outcomes = read_outcomes(home / "model" / "outcomes.safetensors")
    assert isinstance(outcomes["urgency"], CostedOutcomes)
    assert outcomes["urgency"].costs.mean() == pytest.approx(metrics["urgency"]["cost"])
    assert not isinstance(outcomes["fox"], CostedOutcomes)


def test_the_report_shows_cost_and_recall_by_workload(home: Path) -> None:
    record = read_record(home / "model")
    tables = [section for section in record.tasks["urgency"].sections if isinstance(section, DecisionTable)]
    assert [table.heading for table in tables] == ["Cost per row", "Recall of urgent by workload"]
    assert tables[0].rows[0][1] == record.tasks["urgency"].result.measures.scores["cost"]
    assert not [s for name in ("length", "fox") for s in record.tasks[name].sections if isinstance(s, DecisionTable)]
    page = (home / "model" / "report.html").read_text(encoding="utf-8")
    for words in ("Cost per row", "the likeliest label of each row", "Recall of urgent by workload", "have to be read"):
        assert page.count(words) == 1


def test_the_cost_stands_beside_those_of_the_baselines_and_the_summary_says_how(home: Path, run_weft: RunWeft) -> None:
    task = read_record(home / "model").tasks["urgency"]
    costs = {name: task.result.baselines[name]["cost"] for name in ("tfidf", "probe")}
    assert task.costs is not None
    shown = {str(row[0]): row[1] for row in task.costs.rows}
    assert (shown["TF-IDF"], shown["frozen encoder + logistic regression"]) == (costs["tfidf"], costs["probe"])
    page = (home / "model" / "report.html").read_text(encoding="utf-8")
    assert "With its costs, a row of urgency costs " in page
    assert "With its costs, a row of fox" not in page
    assert page.count(">frozen encoder + logistic regression<") == 1
    _, own, _ = run_weft("evaluate", home / "model", "--task", "urgency")
    assert f"TF-IDF {costs['tfidf']:.3f}" in " ".join(re.sub("[│┃]", " ", own).split())
    _, other, _ = run_weft("evaluate", home / "model", "--task", "urgency", "--data", home / "new.jsonl")
    assert "Cost per row" in other
    assert "TF-IDF" not in other


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (
            [1.0, 0.8, 1.2],
            "clearly less than always b (1.500) and TF-IDF (1.300); clearly more than the probe (0.700).",
        ),
        ([1.4, 1.3, 1.5], "not clearly different from always b (1.500) and TF-IDF (1.300); clearly more than the"),
        ([0.2, 0.1, 0.3], "clearly less than always b (1.500), TF-IDF (1.300) and the probe (0.700)."),
    ],
)
def test_a_difference_of_costs_is_clear_where_the_whole_interval_lies_on_one_side(
    costs: list[float], said: str
) -> None:
    table = CostTable(
        "Cost per row", ("Decision", "Cost", "95 % from", "to"), [["this model", *costs], ["likely", 0, 0, 0]]
    )
    table = replace(table, rows=[*table.rows, ["always b", 1.5, 1, 2]]).beside({"TF-IDF": 1.3, "the probe": 0.7})
    (sentence,) = verdict(RunRecord(tasks={"a": TaskRecord(name="a", sections=(table,), result=ResultRecord(rows=3))}))[
        1:2
    ]
    low, high = costs[1:]
    assert sentence.startswith(f"With its costs, a row of a costs {costs[0]:.3f} ({low:.3f} to {high:.3f}): {said}")


# weft train and weft check


def test_training_stops_at_a_label_that_is_none_with_the_words_of_check(
    home: Path, small_encoder: str, run_weft: RunWeft, tmp_path: Path
) -> None:
    wrong = document(small_encoder, costs={"urgnt": {"medium": 2}})
    with pytest.raises(ConfigError) as caught:
        weft.train(wrong, tmp_path / "model", data=home, device="cpu", callback=Callback())
    message = "'urgnt' is no label of this task; did you mean 'urgent'?"
    assert caught.value.faults == (f"tasks.urgency.costs: {message}",)
    config = f'[encoder]\nfrom = {json.dumps(small_encoder)}\n[tasks.urgency]\nkind = "classification"\n'
    config += 'train = "train.jsonl"\ndev = "dev.jsonl"\nlabel = "urgency"\ncosts = {urgnt = {medium = 2}}\n'
    (tmp_path / "wrong.toml").write_text(config, encoding="utf-8")
    code, out, _ = run_weft("check", tmp_path / "wrong.toml", "--data", home)
    assert code == 1
    assert message in out


# weft evaluate


def test_evaluate_shows_cost_and_what_it_takes_to_see_the_costliest_label(home: Path, run_weft: RunWeft) -> None:
    code, out, _ = run_weft("evaluate", home / "model", "--json", home / "scores.json")
    assert code == 0
    scores = json.loads((home / "scores.json").read_text(encoding="utf-8"))
    (line,) = (line for line in out.splitlines() if " cost " in line and "urgency" in line)
    assert f"{scores['urgency']['cost']:.3f}" in line
    assert "…" in line
    assert out.count("urgency: Cost per row") == 1
    assert "the likeliest label of each row" in out
    assert out.count("Recall of") == 1
    assert "urgency: Recall of urgent by workload" in out
    assert "Rows are read by their expected cost of answering non-urgent, the highest first. To see 95 % of the" in out


def test_evaluate_finds_the_label_that_is_asked_for_in_every_task_that_has_it(home: Path, run_weft: RunWeft) -> None:
    code, out, _ = run_weft("evaluate", home / "model", "--task", "fox", "--find", "no")
    assert code == 0
    assert "fox: Recall of no by workload" in out
    assert "by their probability of no, the highest first" in out
    assert "Cost per row" not in out
    code, out, _ = run_weft("evaluate", home / "model", "--task", "fox")
    assert (code, "Recall of" in out) == (0, False)
    code, out, err = run_weft("evaluate", home / "model", "--task", "fox", "--task", "length", "--find", "shrt")
    assert (code, out) == (1, "")
    assert "no task that is measured here gives rows the label 'shrt'; there are: " in err
    assert "fox: no, yes; length: long, middle, short; did you mean 'short'?" in err


# weft predict


def urgency_of(row: dict[str, Any]) -> float:
    p = row["urgency"]["scores"]
    return float(20 * p["urgent"] + p["medium"])


@pytest.mark.parametrize(
    ("sort", "rank"),
    [
        ("urgency", urgency_of),
        ("urgency=medium", lambda row: row["urgency"]["scores"]["medium"]),
        ("length=short", lambda row: row["length"]["scores"]["short"]),
        ("fox", lambda row: row["fox"]["scores"]["yes"]),
        ("fox=no", lambda row: row["fox"]["scores"]["no"]),
        ("near", lambda row: row["near"]["score"]),
    ],
)
def test_predict_writes_the_same_rows_with_the_highest_first(
    home: Path, run_weft: RunWeft, sort: str, rank: Callable[[dict[str, Any]], float]
) -> None:
    command = ("predict", home / "model", "--input", home / "new.jsonl", "--scores")
    plain, done = run_weft(*command), run_weft(*command, "--sort", sort)
    assert (plain[0], done[0]) == (0, 0)
    rows = answers(plain[1])
    assert answers(done[1]) == sorted(rows, key=lambda row: -rank(row))
    assert answers(done[1]) != rows
    assert set(rows[0]) >= {"input.urgency", "urgency", "length", "fox", "near", "first", "truncated", "empty"}


def test_sorted_rows_are_written_to_a_file(home: Path, run_weft: RunWeft, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(
        "number,text\n" + "".join(f"{number},{row['text']}\n" for number, row in enumerate(make_rows(20, 2))),
        encoding="utf-8",
    )
    command = ("predict", home / "model", "--input", tmp_path / "new.csv", "--task", "urgency", "--task", "fox")
    code, _, err = run_weft(*command, "--sort", "urgency", "--output", tmp_path / "answers.csv")
    assert code == 0
    assert "20 rows → " in err
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as file:
        numbers = [row["number"] for row in csv.DictReader(file)]
    code, out, _ = run_weft(*command, "--scores")
    assert numbers == [row["number"] for row in sorted(answers(out), key=lambda row: -urgency_of(row))]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--sort", "length"),
            "rows cannot be sorted by 'length': it has more than one label to rank by, and no costs",
        ),
        (
            ("--sort", "length=shrt"),
            "'length': it has no label 'shrt'; its labels are: long, middle, short; did you mean 'short'?",
        ),
        (("--sort", "near=5"), "rows cannot be sorted by 'near': its answers are numbers, and have no labels"),
        (("--sort", "first"), "rows cannot be sorted by 'first': its answers are neither numbers nor labels of whole"),
        (("--sort", "first=first"), "rows cannot be sorted by 'first': its answers are neither numbers nor labels"),
    ],
)
def test_what_cannot_be_sorted_by_is_said_with_what_can(
    home: Path, run_weft: RunWeft, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run_weft("predict", home / "model", "--input", home / "new.jsonl", *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert "can be sorted by: urgency, urgency=LABEL, length=LABEL, fox, fox=LABEL, near\n" in err


def test_only_a_task_that_is_answered_can_be_sorted_by(home: Path, run_weft: RunWeft) -> None:
    some = ("predict", home / "model", "--input", home / "new.jsonl", "--task", "first", "--task", "fox")
    code, out, err = run_weft(*some, "--sort", "urgency")
    assert (code, out) == (1, "")
    assert (
        "rows cannot be sorted by 'urgency', which is not answered here; rows can be sorted by: fox, fox=LABEL" in err
    )
    code, out, err = run_weft(*some[:-2], "--sort", "first")
    assert (code, out) == (1, "")
    assert "rows can be sorted by: no task here" in err
    for wrong in ("urgncy", "urgncy=urgent"):
        code, out, err = run_weft(*some, "--sort", wrong)
        assert (code, out) == (1, "")
        assert (
            "this model has no task 'urgncy'; it has: urgency, length, fox, near, first; did you mean 'urgency'?" in err
        )


def test_rows_of_equal_rank_stay_in_the_order_of_the_file(home: Path) -> None:
    assert highest_first([(1.0, "a"), (2.0, "b"), (1.0, "c"), (2.0, "d"), (0.0, "e")]) == ["b", "d", "a", "c", "e"]
    network = weft.load(home / "model", device="cpu").network
    order = row_order(network, "fox", ["fox"])
    inputs = [read_inputs(network, ["fox"], file=home / "new.jsonl") for _ in range(2)]
    ranked = list(ranked_rows(network, inputs[0], order))
    assert [row for _, row in ranked] == list(predict_rows(network, inputs[1]))


def test_a_label_may_hold_the_sign_that_stands_before_it(small_encoder: str, tmp_path: Path) -> None:
    rows = [
        {"text": f"{word} {n}", "label": label} for n in range(20) for word, label in (("fox", "a=b"), ("dog", "c"))
    ]
    task = {"kind": "classification", "train": rows, "dev": rows}
    config = {"encoder": {"from": small_encoder}, "tasks": {"t": task}, "training": {**SHORT, "baselines": False}}
    network = weft.train(config, tmp_path / "model", device="cpu", callback=Callback()).network
    (answer,) = weft.Model(network).predict(["fox"], task="t", scores=True)
    inputs = read_inputs(network, None, text="fox")
    ((rank, _),) = ranked_rows(network, inputs, row_order(network, "t=a=b", ["t"]))
    assert rank == answer["scores"]["a=b"]


def test_costs_without_dev_rows_are_said_to_weigh_what_nothing_calibrated(
    home: Path, run_weft: RunWeft, small_encoder: str, tmp_path: Path
) -> None:
    said = "urgency weighs its costs with probabilities that are calibrated on nothing, since there were no dev rows"
    code, _, err = run_weft("evaluate", home / "model", "--data", home / "new.jsonl", "--task", "urgency")
    assert code == 0
    assert said not in err
    assert said not in (home / "model" / "README.md").read_text("utf-8")
    tasks = document(small_encoder)
    tasks["tasks"] = {"urgency": {**tasks["tasks"]["urgency"], "dev": 0}}
    weft.train(tasks, tmp_path / "model", data=home, device="cpu", callback=Callback())
    page = tmp_path / "page.html"
    code, _, err = run_weft("evaluate", tmp_path / "model", "--data", home / "new.jsonl", "--page", page)
    assert code == 0
    assert said in err
    for written in (page, tmp_path / "model" / "README.md", tmp_path / "model" / "report.html"):
        assert said in written.read_text("utf-8")
