"""From scores to the figures of a finished run: which rows, which thresholds, which metric, which baseline."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from scipy import stats
from scipy.sparse import csr_array
from sklearn import metrics as sk
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from typer.testing import CliRunner

import weft
from weft.cli import main as cli
from weft.errors import DataError
from weft.metrics.outcomes.file import read_outcomes
from weft.reports.card import render_card
from weft.reports.record import RunRecord
from weft.reports.run_page import render
from weft.training.progress import Callback

Row = dict[str, Any]
Scores = dict[str, float]
SIZES = {"train": 60, "dev": 44, "test": 33}
WORDS = ["the", "quick", "brown", "jumps", "over", "lazy", "café", "don't", "1234", "naïve"]


def draw(size: int, rng: random.Random, often: float) -> list[Row]:
    """Rows with an answer for every kind of task, most of them to be told from the words `fox` and `dog`."""
    found: dict[str, Row] = {}
    while len(found) < size:
        words = rng.choices(WORDS, k=rng.randint(2, 4))
        for animal in ("fox", "dog"):
            if rng.random() < often:
                words.insert(rng.randrange(len(words) + 1), animal)
        text = " ".join(words)
        found.setdefault(text, answers(text, words, rng))
    return list(found.values())


def answers(text: str, words: list[str], rng: random.Random) -> Row:
    def noisy(true: bool) -> bool:
        return true != (rng.random() < 0.15)

    fox, dog = "fox" in words, "dog" in words
    other = " ".join(rng.sample(words, len(words) - 1)) if rng.random() < 0.5 else " ".join(rng.choices(WORDS))
    common = len({*words} & {*other.split()})
    ends = np.cumsum([len(word) + 1 for word in words]).tolist()
    places = [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True)]
    animals = [place for place, word in enumerate(words) if word in ("fox", "dog")]
    marks = [[*places[place], words[place]] for place in animals if noisy(True)]
    return {
        "text": text,
        "mood": "yes" if noisy(fox) else "no",
        "topic": "fox" if noisy(fox) else "dog" if noisy(dog) else "rest",
        "things": [*(["all"] if rng.random() < 0.95 else []), *(n for n in ("dog", "fox") if noisy(n in words))],
        "other": other,
        "same": "yes" if noisy(common > 0) else "no",
        "alike": common + rng.choice([0, 0.5, 1]),
        "words": words,
        "pos": ["A" if (len(word) > 4) != (rng.random() < 0.1) else "B" for word in words],
        "marks": marks,
        "nested": [*marks, [places[0][0], places[1][1], "start"]] if noisy(fox) else marks,
        "listed": [[*places[0], "fox" if fox else "low"], [*places[1], "high"]],
        "links": [[0, 1, "to"]] if noisy(fox) else [[1, 0, "from"]] if dog else [],
    }


KINDS: dict[str, Row] = {
    "mood": {"kind": "classification", "label": "mood", "metric": "accuracy"},
    "topic": {"kind": "classification", "label": "topic"},
    "things": {"kind": "classification", "multilabel": True, "label": "things"},
    "same": {
        "kind": "pair_classification",
        "text": ["text", "other"],
        "label": "same",
        "metric": "f1_macro",
        "encode": "cross",
    },
    "alike": {"kind": "similarity", "text": ["text", "other"], "score": "alike", "metric": "spearman"},
    "pos": {"kind": "tagging", "scheme": "plain", "tokens": "words", "tags": "pos"},
    "marks": {"kind": "tagging", "entities": "marks"},
    "nested": {"kind": "spans", "entities": "nested", "max_width": 3},
    "links": {"kind": "relations", "entities": "listed", "relations": "links", "metric": "recall"},
}
METRICS = {
    "mood": "accuracy",
    "topic": "f1_macro",
    "things": "f1_micro",
    "same": "f1_macro",
    "alike": "spearman",
    "pos": "accuracy",
    "marks": "f1",
    "nested": "f1",
    "links": "recall",
}


FITTED = ("mood", "things", "nested", "links")  # kinds with thresholds, which are also reported on dev rows
PARTS = {"test": "", "dev": "_dev"}  # what is reported on, and how the names of such tasks end
EVERY = [(kind, part) for kind in KINDS for part in PARTS if part == "test" or kind in FITTED]
TASKS = [kind + PARTS[part] for kind, part in EVERY]
DEV_ROWS = 15
ENCODER = {"layers": 2, "width": 32}


def train(folder: Path, encoder: str, tasks: Row, name: str = "run", **more: Any) -> Path:
    """A run of one plain phase with one rate for all, whose weights are chosen by however few rows."""
    given = more.pop("training", {})
    rate = given.get("learning_rate", 1e-3)
    rates = {"learning_rate": rate, "head_learning_rate": rate}
    training = {"epochs": 1, "batch_size": 10, **rates, "choose_from": 1, **given}
    document = {"encoder": {"from": encoder}, "tasks": tasks, "training": training, "phases": [{}], **more}
    weft.train(document, folder / name, data=folder, device="cpu", callback=Callback())
    return folder / name


def predict(model: Path, file: Path, output: Path) -> list[Row]:
    """The rows of a file with the answers of `weft predict`, which replace the columns they are named like."""
    arguments = ["predict", model, "--input", file, "--output", output, "--scores", "--device", "cpu"]
    done = CliRunner().invoke(cli.app, list(map(str, arguments)))
    assert done.exit_code == 0
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


class Finished:
    """A run of every kind of task, once reported on test rows and once, as `…_dev`, on dev rows."""

    def __init__(self, folder: Path, encoder: str, seed: int = 3) -> None:
        rng = random.Random(seed)
        often = {"train": 0.4, "dev": 0.6, "test": 0.7}
        self.rows = {part: draw(size, rng, often[part]) for part, size in SIZES.items()}
        for row in (*self.rows["dev"], *self.rows["test"]):  # a word that training would tag otherwise
            row["pos"] = ["A" if word == "lazy" else tag for word, tag in zip(row["words"], row["pos"], strict=True)]
        for part, rows in self.rows.items():
            write_rows(folder / f"{part}.jsonl", rows)
        files = {part: f"{part}.jsonl" for part in SIZES}
        tasks = {kind + PARTS[part]: {**KINDS[kind], **files} for kind, part in EVERY}
        for kind in FITTED:
            del tasks[f"{kind}_dev"]["test"]
        self.data, self.encoder = folder, encoder
        self.folder = train(folder, encoder, tasks, seed=seed, training={"max_dev_rows": DEV_ROWS})
        self.report = read_json(self.folder / "report.json")
        self.targets = read_json(self.folder / "weft.json")["targets"]
        self.unfitted = unfit(self.folder, folder / "unfitted")
        self.untuned = unfit(self.folder, folder / "untuned", "threshold", "thresholds")
        self.model, self.without_thresholds = (weft.load(one, device="cpu") for one in (self.folder, self.untuned))
        self.say = cache(self._say)

    def _say(self, fitted: bool, part: str) -> list[Row]:
        """What the model answers to the rows of a part, with or without what was fitted on dev rows."""
        folder = self.folder if fitted else self.unfitted
        return predict(folder, self.data / f"{part}.jsonl", self.data / f"{fitted}-{part}.jsonl")

    def answers(self, task: str, part: str, fitted: bool) -> list[Any]:
        return [row[task] for row in self.say(fitted, part)]

    def reported_answers(self, task: str, part: str) -> list[Any]:
        """What was measured: dev rows with the temperature, but without the thresholds that were fitted to them."""
        if part == "test":
            return self.answers(task, part, fitted=True)
        rows = predict(self.untuned, self.data / "dev.jsonl", self.data / "untuned-dev.jsonl")
        return [row[task] for row in rows]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def unfit(folder: Path, output: Path, *fields: str) -> Path:
    """A copy of a model as it was before anything, or one of the fields, was fitted on dev rows."""
    shutil.copytree(folder, output)
    document = read_json(output / "weft.json")
    for target in document["targets"].values():
        plain = {"temperature": 1.0, "threshold": 0.5, "thresholds": [0.5] * len(target.get("thresholds", ()))}
        target |= {key: value for key, value in plain.items() if key in target and key in (fields or plain)}
    (output / "weft.json").write_text(json.dumps(document), encoding="utf-8")
    return output


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, small_encoder: str) -> Finished:
    return Finished(tmp_path_factory.mktemp("measured"), small_encoder)


# The same figures in other words


def measure(kind: str, rows: Sequence[Row], answers: Sequence[Any]) -> Scores:
    """Every metric of answers to rows, by scikit-learn, by scipy or by sets."""
    if kind in ("mood", "topic", "same"):
        scores = label_scores([row[kind] for row in rows], [one["label"] for one in answers])
        if "score" in answers[0]:
            right = [one["label"] == row[kind] for one, row in zip(answers, rows, strict=True)]
            scores["calibration_error"] = calibration_error([one["score"] for one in answers], right)
        return scores
    if kind == "things":
        return set_scores([row[kind] for row in rows], [one["labels"] for one in answers])
    if kind == "alike":
        gold, given = [float(row[kind]) for row in rows], [one["score"] for one in answers]
        error = np.subtract(given, gold)
        constant = len(set(given)) == 1
        return {
            "pearson": 0.0 if constant else float(stats.pearsonr(gold, given)[0]),
            "spearman": 0.0 if constant else float(stats.spearmanr(gold, given)[0]),
            "mse": float((error**2).mean()),
            "mae": float(abs(error).mean()),
        }
    if kind == "pos":
        tags = [tag for row in rows for tag in row["pos"]]
        given = [one["label"] for answer in answers for one in answer]
        return {metric: label_scores(tags, given)[metric] for metric in ("accuracy", "f1_macro")}
    return mark_scores([gold_marks(kind, row) for row in rows], [found_marks(kind, one) for one in answers])


def label_scores(gold: Sequence[str], given: Sequence[str]) -> Scores:
    options: Row = {"average": "macro", "zero_division": 0}
    return {
        "accuracy": sk.accuracy_score(gold, given),
        "f1_macro": sk.f1_score(gold, given, **options),
        "f1_micro": sk.f1_score(gold, given, average="micro"),
        "precision_macro": sk.precision_score(gold, given, **options),
        "recall_macro": sk.recall_score(gold, given, **options),
        "matthews_correlation": sk.matthews_corrcoef(gold, given),
    }


def set_scores(gold: Sequence[Sequence[str]], given: Sequence[Sequence[str]]) -> Scores:
    names = sorted({name for one in (*gold, *given) for name in one})
    true, found = (np.array([[name in one for name in names] for one in sets]) for sets in (gold, given))
    micro: Row = {"average": "micro", "zero_division": 0}
    return {
        "f1_micro": sk.f1_score(true, found, **micro),
        "f1_macro": sk.f1_score(true, found, average="macro", zero_division=0),
        "precision_micro": sk.precision_score(true, found, **micro),
        "recall_micro": sk.recall_score(true, found, **micro),
        "exact_match": sk.accuracy_score(true, found),
    }


def mark_scores(gold: Sequence[set[Any]], found: Sequence[set[Any]]) -> Scores:
    def share(label: str | None) -> tuple[float, float, float]:
        counts = [
            [len([one for one in marks if label in (None, one[-1])]) for marks in (wanted & given, given, wanted)]
            for wanted, given in zip(gold, found, strict=True)
        ]
        right, given, wanted = np.sum(counts, axis=0)
        return 2 * right / max(given + wanted, 1), right / max(given, 1), right / max(wanted, 1)

    labels = sorted({one[-1] for marks in (*gold, *found) for one in marks})
    f1, precision, recall = share(None)
    macro = float(np.mean([share(label)[0] for label in labels]))
    return {"f1": f1, "precision": precision, "recall": recall, "f1_macro": macro}


def gold_marks(kind: str, row: Row) -> set[Any]:
    if kind != "links":
        return {tuple(one) for one in row[kind]}
    return {(tuple(row["listed"][h][:2]), tuple(row["listed"][t][:2]), label) for h, t, label in row[kind]}


def found_marks(kind: str, answer: Sequence[Row]) -> set[Any]:
    def place(one: Row) -> tuple[int, int]:
        return one["start"], one["end"]

    if kind != "links":
        return {(*place(one), one["label"]) for one in answer}
    return {(place(one["head"]), place(one["tail"]), one["label"]) for one in answer}


def calibration_error(sure: Sequence[float], right: Sequence[bool]) -> float:
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, correct in zip(sure, right, strict=True):
        bins.setdefault(math.ceil(confidence * 15), []).append((confidence, correct))
    return sum(abs(sum(c for c, _ in rows) - sum(r for _, r in rows)) for rows in bins.values()) / len(sure)


def evenly(rows: Sequence[Any], limit: int) -> list[Any]:
    return [rows[place * len(rows) // limit] for place in range(limit)]


# What is reported, and on which rows


def test_the_reported_calibration_is_that_of_what_users_receive(finished: Finished) -> None:
    """On dev rows, too: with the temperature that is stored, and not as if there were none."""

    def error(answers: Sequence[Row]) -> float:
        likeliest = [max(one["scores"], key=one["scores"].get) for one in answers]
        right = [label == row["mood"] for label, row in zip(likeliest, finished.rows["dev"], strict=True)]
        return calibration_error([max(one["scores"].values()) for one in answers], right)

    assert finished.targets["mood_dev"]["temperature"] != 1.0
    reported = finished.report["tasks"]["mood_dev"]["result"]["measures"]["scores"]["calibration_error"]
    received, raw = (error(finished.answers("mood_dev", "dev", fitted)) for fitted in (True, False))
    assert reported == pytest.approx(received, rel=1e-4)
    assert reported != pytest.approx(raw, rel=1e-2)
    assert [finished.report["tasks"][name]["calibrated"] for name in ("mood", "mood_dev")] == [True, True]
    assert "Fitted to these rows" in (finished.folder / "report.html").read_text(encoding="utf-8")


def test_wrong_rows_are_listed_by_line_and_without_their_texts(finished: Finished) -> None:
    sections = finished.report["tasks"]["topic"]["sections"]
    (table,) = (one for one in sections if one.get("heading") == "Wrong rows")
    answers = finished.answers("topic", "test", fitted=True)
    pairs = list(enumerate(zip(finished.rows["test"], answers, strict=True), 1))
    wrong = {
        line: (row["topic"], one["label"], one["score"]) for line, (row, one) in pairs if row["topic"] != one["label"]
    }
    listed = {line: (true, predicted, score) for line, true, predicted, score in table["rows"]}
    assert len(listed) == min(20, len(wrong)) > 0
    assert listed == {line: (*wrong[line][:2], pytest.approx(wrong[line][2], rel=1e-4)) for line in listed}
    assert table["note"].startswith(f"{len(wrong)} of {SIZES['test']} rows are wrong")
    scores = [row[3] for row in table["rows"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(max(score for *_, score in wrong.values()), rel=1e-4)


@pytest.mark.parametrize(("kind", "part"), EVERY)
def test_test_rows_are_answered_with_fitted_thresholds_and_dev_rows_without(
    finished: Finished, kind: str, part: str
) -> None:
    name = kind + PARTS[part]
    answers = finished.reported_answers(name, part)
    reported = finished.report["tasks"][name]["result"]["measures"]["scores"]
    assert reported == pytest.approx(measure(kind, finished.rows[part], answers), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(("kind", "part"), EVERY)
def test_the_outcomes_of_every_reported_row_are_kept_and_give_the_scores_of_any_of_them(
    finished: Finished, kind: str, part: str
) -> None:
    name, rows = kind + PARTS[part], finished.rows[part]
    outcomes = read_outcomes(finished.folder / "outcomes.safetensors")[name]
    assert outcomes.lines.tolist() == list(range(1, len(rows) + 1))
    answers = finished.reported_answers(name, part)
    drawn = np.random.default_rng(1).integers(len(rows), size=(5, len(rows)))
    weights = np.stack([np.bincount(one, minlength=len(rows)) for one in drawn]).astype(np.float64)
    expected = [measure(kind, [rows[row] for row in one], [answers[row] for row in one]) for one in drawn]
    assert set(outcomes.metrics) == expected[0].keys()
    for metric in outcomes.metrics:
        wanted = [scores[metric] for scores in expected]
        np.testing.assert_allclose(outcomes.measure(metric, weights), wanted, rtol=1e-4, atol=1e-5)


def test_outcomes_say_how_sure_each_answer_is_and_whether_it_is_right(finished: Finished) -> None:
    kept = read_outcomes(finished.folder / "outcomes.safetensors")
    assert list(kept) == TASKS
    answers = finished.reported_answers("topic", "test")
    assert kept["topic"].scores == pytest.approx([one["score"] for one in answers], abs=1e-5)
    right = [one["label"] == row["topic"] for one, row in zip(answers, finished.rows["test"], strict=True)]
    assert kept["topic"].right.tolist() == right
    for kind in ("marks", "nested", "links"):
        answers = finished.reported_answers(kind, "test")
        sure = [float(np.mean([one["score"] for one in found])) if found else math.nan for found in answers]
        assert kept[kind].scores == pytest.approx(sure, abs=1e-5, nan_ok=True)
        golds = [gold_marks(kind, row) for row in finished.rows["test"]]
        assert kept[kind].right.tolist() == [g == found_marks(kind, a) for g, a in zip(golds, answers, strict=True)]
    sure = [
        float(np.mean([one["scores"][label] for label in one["labels"]])) if one["labels"] else math.nan
        for one in finished.reported_answers("things", "test")
    ]
    assert kept["things"].scores == pytest.approx(sure, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("part", PARTS)
def test_thresholds_matter_for_what_is_reported(finished: Finished, part: str) -> None:
    """Without this the test above could not tell."""

    def value(kind: str, fitted: bool) -> float:
        answers = finished.answers(kind + PARTS[part], part, fitted)
        return measure(kind, finished.rows[part], answers)[METRICS[kind]]

    assert sum(value(kind, True) != value(kind, False) for kind in FITTED) >= 2


@pytest.mark.parametrize("part", PARTS)
def test_the_saved_model_measures_what_the_run_reported_intervals_included(finished: Finished, part: str) -> None:
    model = finished.model if part == "test" else finished.without_thresholds
    files: Row = {kind + PARTS[one]: finished.data / f"{part}.jsonl" for kind, one in EVERY if one == part}
    for name, result in model.evaluate(files).items():
        reported = finished.report["tasks"][name]["result"]
        assert reported["metric"] == result.metric
        assert reported["rows"] == result.rows == SIZES[part]
        assert reported["measures"]["scores"] == pytest.approx(result.measures.scores, rel=1e-4, abs=1e-5)
        assert reported["measures"]["intervals"].keys() == result.measures.intervals.keys()
        for metric, ends in result.measures.intervals.items():
            assert reported["measures"]["intervals"][metric] == pytest.approx(ends, rel=1e-4, abs=1e-5)


def test_metrics_json_holds_the_reported_scores_of_every_task_in_order(finished: Finished) -> None:
    scores = read_json(finished.folder / "metrics.json")
    assert list(scores) == list(finished.report["tasks"]) == TASKS
    assert scores == {n: task["result"]["measures"]["scores"] for n, task in finished.report["tasks"].items()}


@pytest.mark.parametrize(("kind", "part"), EVERY)
def test_the_record_names_kind_metric_rows_and_part_of_each_task(finished: Finished, kind: str, part: str) -> None:
    task = finished.report["tasks"][kind + PARTS[part]]
    assert task["kind"] == KINDS[kind]["kind"]
    assert task["metric"] == task["result"]["metric"] == METRICS[kind]
    assert task["rows"] == {"train": SIZES["train"], "dev": SIZES["dev"], "test": SIZES["test"] * (part == "test")}
    assert task["reported_on"] == part
    assert task["result"]["rows"] == SIZES[part]
    assert task["samples"] == []


def test_the_record_says_with_what_and_how_the_run_went(finished: Finished) -> None:
    report, tasks = finished.report, len(TASKS)
    assert report["seed"] == 3
    assert report["encoder"] | ENCODER == report["encoder"]
    assert report["encoder"]["name"] == finished.encoder
    assert report["encoder"]["parameters"] == sum(p.numel() for p in finished.model.network.encoder.parameters())
    assert (report["conditioning"], report["device"], report["precision"]) == ("none", "cpu", "fp32")
    assert report["rows"] == report["row_passes"] == tasks * SIZES["train"]  # one epoch
    assert len(report["loss_history"]) == tasks * SIZES["train"] // 10
    assert report["stopped"] == "finished"
    assert report["data"] == str(finished.data.resolve())
    assert report["config"] == (finished.folder / "weft.toml").read_text(encoding="utf-8")
    assert 0 <= report["padding_saved"] < 1


@pytest.mark.parametrize("kind", ["mood", "topic", "same"])
def test_the_details_count_gold_by_row_and_answers_by_column(finished: Finished, kind: str) -> None:
    sections = {one["kind"]: one for one in finished.report["tasks"][kind]["sections"]}
    labels, answers = sections["confusion"]["labels"], finished.answers(kind, "test", fitted=True)
    pairs = Counter((row[kind], one["label"]) for row, one in zip(finished.rows["test"], answers, strict=True))
    assert labels == sorted({row[kind] for row in finished.rows["train"]})
    assert sections["confusion"]["counts"] == [[pairs[gold, answer] for answer in labels] for gold in labels]
    for label in labels:
        given = sum(pairs[gold, label] for gold in labels)
        wanted = sum(pairs[label, answer] for answer in labels)
        assert sections["classes"]["classes"][label] == pytest.approx(
            {
                "precision": pairs[label, label] / max(given, 1),
                "recall": pairs[label, label] / max(wanted, 1),
                "f1": 2 * pairs[label, label] / max(given + wanted, 1),
                "support": wanted,
            }
        )
    assert sum(count for *_, count in sections["calibration"]["bins"]) == SIZES["test"]


@pytest.mark.parametrize("kind", ["things", "pos", "marks", "nested", "links"])
def test_the_details_of_labels_and_marks_count_the_gold(finished: Finished, kind: str) -> None:
    sections = finished.report["tasks"][kind]["sections"]
    rows = finished.rows["test"]
    marks = [name for row in rows for name in (row[kind] if kind in ("things", "pos") else [m[2] for m in row[kind]])]
    (table,) = (one["classes"] for one in sections if one["kind"] == "classes")
    assert {label: scores["support"] for label, scores in table.items()} == {name: marks.count(name) for name in table}
    headings = [one.get("heading") for one in sections]
    assert ("Recall of nested spans" in headings) == (kind == "nested")


# What was looked at while training


@pytest.mark.parametrize(("kind", "part"), EVERY)
def test_weights_are_chosen_on_dev_rows_spread_evenly_by_the_metric_of_the_task(
    finished: Finished, kind: str, part: str
) -> None:
    name = kind + PARTS[part]
    rows = evenly(finished.rows["dev"], DEV_ROWS)
    answers = evenly(finished.answers(name, "dev", fitted=False), DEV_ROWS)
    wanted = measure(kind, rows, answers)
    (entry,) = finished.report["history"]
    assert entry["scores"][name] == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    assert entry["dev"][name] == pytest.approx(wanted[METRICS[kind]], rel=1e-4, abs=1e-5)
    assert finished.report["best"][name]["value"] == entry["dev"][name]


def test_the_overall_value_is_the_mean_gain_over_each_tasks_commonest_answer(finished: Finished) -> None:
    (entry,) = finished.report["history"]
    rows = evenly(finished.rows["dev"], DEV_ROWS)
    floors = {kind: measure(kind, rows, commonest(kind, finished.rows["train"], rows))[METRICS[kind]] for kind in KINDS}
    gains = [entry["dev"][kind + PARTS[part]] - floors[kind] for kind, part in EVERY]
    assert entry["overall"] == pytest.approx(sum(gains) / len(TASKS), abs=1e-6)
    assert finished.report["best"]["overall"]["value"] == entry["overall"]
    assert sum(floor > 0 for floor in floors.values()) >= 4


# What was fitted


def log_odds(likely: Row) -> list[float]:
    return [math.log(p / (1 - p)) for p in likely.values()]


def likelihood(kind: str, rows: Sequence[Row], answers: Sequence[Row], temperature: float, doubt: float) -> float:
    """How badly probabilities, made flatter or sharper by a temperature, tell the gold answers, which are doubted."""
    total = 0.0
    for row, answer in zip(rows, answers, strict=True):
        likely: dict[str, float] = answer["scores"]
        if kind == "things":
            for label, odds in zip(likely, log_odds(likely), strict=True):
                wrong = -odds / temperature if label in row[kind] else odds / temperature
                total += (1 - doubt) * math.log1p(math.exp(wrong)) + doubt * math.log1p(math.exp(-wrong))
        else:
            logs = {label: math.log(p) / temperature for label, p in likely.items()}
            share = {label: doubt / (len(logs) - 1) for label in logs} | {row[kind]: 1 - doubt}
            total += math.log(sum(map(math.exp, logs.values()))) - sum(share[label] * logs[label] for label in logs)
    return total


def best_temperature(kind: str, rows: Sequence[Row], answers: Sequence[Row]) -> float:
    tried = np.exp(np.linspace(math.log(0.05), math.log(20), 241)).tolist()  # steps of 2.5 %
    best = min(tried, key=lambda one: likelihood(kind, rows, answers, one, 0.0))
    if best >= 1:
        return best
    return min(tried, key=lambda one: likelihood(kind, rows, answers, one, 1 / (len(rows) + 2)))


@pytest.mark.parametrize("name", ["mood", "mood_dev", "topic", "same", "things", "things_dev"])
def test_the_temperature_is_the_likeliest_on_all_dev_rows(finished: Finished, name: str) -> None:
    kind = name.removesuffix("_dev")
    answers = finished.answers(name, "dev", fitted=False)
    best = best_temperature(kind, finished.rows["dev"], answers)
    assert finished.targets[name]["temperature"] == pytest.approx(best, rel=0.03)


def test_temperatures_tell_dev_rows_from_others(finished: Finished) -> None:
    """Without this the test above could not tell on which rows they were fitted, or whether at all."""
    found = {kind: finished.targets[kind]["temperature"] for kind in ("mood", "topic", "same", "things")}
    assert any(abs(math.log(one)) > 0.1 for one in found.values())
    for part in ("train", "test"):
        rows = finished.rows[part]
        others = {kind: best_temperature(kind, rows, finished.answers(kind, part, fitted=False)) for kind in found}
        assert any(abs(math.log(others[kind] / found[kind])) > 0.1 for kind in found)


@pytest.mark.parametrize("name", ["mood", "mood_dev", "same"])
def test_the_threshold_of_two_labels_is_near_the_best_on_dev_rows_by_the_metric_of_the_task(
    finished: Finished, name: str
) -> None:
    kind = name.removesuffix("_dev")
    rows = finished.rows["dev"]
    likely = [one["scores"]["yes"] for one in finished.answers(name, "dev", fitted=True)]

    def value(threshold: float) -> float:
        gold, given = [row[kind] for row in rows], ["yes" if p >= threshold else "no" for p in likely]
        if METRICS[kind] == "accuracy":
            return float(sk.accuracy_score(gold, given))
        return float(sk.f1_score(gold, given, average="macro", zero_division=0))

    found = finished.targets[name]["threshold"]
    if min(Counter(row[kind] for row in rows).values()) < 10:
        assert found == 0.5
    else:
        check_nearest(found, value, likely, len(rows))


def check_nearest(found: float, value: Callable[[float], float], likely: list[float], answers: int) -> None:
    """Within a standard error of the best, and no other such threshold is clearly nearer to one half."""
    gaps = ((low, high) for low, high in pairwise([0.01, *sorted(set(likely))]) if high - low > 1e-5)
    values = {one: value(one) for one in (0.5, *((low + high) / 2 for low, high in gaps))}
    best = max(values.values())
    least = best - math.sqrt(max(best * (1 - best), 0) / answers)
    assert value(found) >= least - 1e-9
    nearest = min(abs(one - 0.5) for one, reached in values.items() if reached >= least)
    assert abs(found - 0.5) <= nearest + 0.05


def test_the_threshold_of_each_label_is_near_the_best_on_dev_rows_by_its_f1(finished: Finished) -> None:
    thresholds = []
    for name in ("things", "things_dev"):
        answers = finished.answers(name, "dev", fitted=True)
        for label, found in zip(answers[0]["scores"], finished.targets[name]["thresholds"], strict=True):
            gold = [label in row["things"] for row in finished.rows["dev"]]
            check_threshold(found, gold, [one["scores"][label] for one in answers])
            thresholds.append(found)
    assert len(thresholds) > 3
    assert 0.5 in thresholds  # `all` has too few rows without it


def check_threshold(found: float, gold: list[bool], likely: list[float]) -> None:
    def value(threshold: float) -> float:
        return float(sk.f1_score(gold, [p >= threshold for p in likely], zero_division=0))

    if not 10 <= sum(gold) <= len(gold) - 10:
        assert found == 0.5
        return
    check_nearest(found, value, likely, sum(gold))


@pytest.mark.parametrize("kind", ["nested", "links"])
def test_thresholds_of_spans_and_pairs_gain_on_dev_rows(finished: Finished, kind: str) -> None:
    values = [
        measure(kind, finished.rows["dev"], finished.answers(kind, "dev", fitted=fitted))[METRICS[kind]]
        for fitted in (False, True)
    ]
    assert finished.targets[kind]["threshold"] != 0.5
    assert values[1] > values[0]


# What a model has to beat


def commonest(kind: str, train: Sequence[Row], rows: Sequence[Row]) -> list[Any]:
    """The answers of one that always says the same."""
    if kind in ("mood", "topic", "same"):
        return [{"label": first_of_commonest(row[kind] for row in train)} for _ in rows]
    if kind == "things":
        counts = Counter(name for row in train for name in row[kind])
        return [{"labels": [name for name, count in counts.items() if 2 * count > len(train)]} for _ in rows]
    if kind == "alike":
        return [{"score": float(np.mean([row[kind] for row in train]))} for _ in rows]
    if kind == "pos":
        usual = first_of_commonest(tag for row in train for tag in row[kind])
        return [[{"label": usual} for _ in row["words"]] for row in rows]
    return [[] for _ in rows]


def first_of_commonest(names: Iterable[str]) -> str:
    counts = Counter(names)
    return min(counts, key=lambda name: (-counts[name], name))


def without_encoder(kind: str, train: Sequence[Row], rows: Sequence[Row]) -> list[Any]:
    """The answers of scikit-learn, or of a memory of words."""
    if kind in ("mood", "topic", "same"):
        model = LogisticRegression(max_iter=1000, class_weight="balanced")
        model.fit(*features(kind, train, train), [row[kind] for row in train])
        return [{"label": label} for label in model.predict(*features(kind, train, rows))]
    if kind == "things":
        names = sorted({name for row in train for name in row[kind]})
        marks = [
            LogisticRegression(max_iter=1000, class_weight="balanced")
            .fit(*features(kind, train, train), [name in row[kind] for row in train])
            .predict(*features(kind, train, rows))
            for name in names
        ]
        return [{"labels": [n for n, mark in zip(names, row, strict=True) if mark]} for row in zip(*marks, strict=True)]
    if kind == "alike":
        ridge = Ridge().fit(*features(kind, train, train), [row[kind] for row in train])
        return [{"score": float(score)} for score in ridge.predict(*features(kind, train, rows))]
    if kind == "pos":
        tags: dict[str, list[str]] = {}
        for word, tag in ((word, tag) for row in train for word, tag in zip(row["words"], row["pos"], strict=True)):
            tags.setdefault(word, []).append(tag)
        return [[{"label": first_of_commonest(tags[word])} for word in row["words"]] for row in rows]
    if kind == "links":
        return [usual_relations(train, row) for row in rows]
    return [remembered(kind, train, row) for row in rows]


def features(kind: str, train: Sequence[Row], rows: Sequence[Row]) -> tuple[Any]:
    pairs = kind in ("same", "alike")
    texts = [row[column] for row in train for column in (("text", "other") if pairs else ("text",))]
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(texts)
    one, two = (vectors.transform([row[column] for row in rows]).toarray() for column in ("text", "other"))
    if not pairs:
        return (one,)
    both = np.hstack([abs(one - two), one * two, (one * two).sum(1, keepdims=True)])
    return (csr_array(both),)  # which a ridge solves in another way than a dense array


def usual_relations(train: Sequence[Row], row: Row) -> list[Row]:
    """For either order of a row's two spans, what spans with such labels have to do with each other most often."""
    found = []
    for head, tail in ((0, 1), (1, 0)):
        labels = row["listed"][head][2], row["listed"][tail][2]
        like = [one for one in train if (one["listed"][head][2], one["listed"][tail][2]) == labels]
        said = [{(h, t): label for h, t, label in one["links"]}.get((head, tail), "") for one in like]
        if usual := first_of_commonest(said):
            found.append(relation(row, head, tail, usual))
    return found


def relation(row: Row, head: int, tail: int, label: str) -> Row:
    ends = ({"start": row["listed"][place][0], "end": row["listed"][place][1]} for place in (head, tail))
    return {**dict(zip(("head", "tail"), ends, strict=True)), "label": label}


def remembered(kind: str, train: Sequence[Row], row: Row) -> list[Row]:
    """Wordings that are marked in at least half of their occurrences, the longest first."""
    marked: dict[str, Counter[str]] = {}
    for one in train:
        for start, end, label in one[kind]:
            marked.setdefault(one["text"][start:end], Counter())[label] += 1

    def places(wording: str, text: str) -> list[int]:
        return [found.start() for found in re.finditer(rf"(?<![^ ]){re.escape(wording)}(?![^ ])", text)]

    kept = [w for w, c in marked.items() if 2 * c.total() >= sum(len(places(w, one["text"])) for one in train)]
    occurrences = [(-len(wording), start, wording) for wording in kept for start in places(wording, row["text"])]
    found: list[Row] = []
    for size, start, wording in sorted(occurrences):
        end = start - size
        if all(end <= one["start"] or one["end"] <= start for one in found):
            found.append({"start": start, "end": end, "label": first_of_commonest(marked[wording].elements())})
    return found


@pytest.mark.parametrize(("kind", "part"), EVERY)
def test_baselines_learn_from_training_rows_and_are_measured_on_the_reported_ones(
    finished: Finished, kind: str, part: str
) -> None:
    train, rows = finished.rows["train"], finished.rows[part]
    baselines = finished.report["tasks"][kind + PARTS[part]]["result"]["baselines"]
    method = "lookup" if kind in ("pos", "marks", "nested", "links") else "tfidf"
    probed = {"probe"} if kind not in ("nested", "links") else set()  # whose heads cannot be fitted at once
    assert baselines.keys() == {"majority", method} | probed
    for name, answer in (("majority", commonest), (method, without_encoder)):
        assert baselines[name] == pytest.approx(measure(kind, rows, answer(kind, train, rows)), rel=1e-4, abs=1e-5)
    assert baselines[method] != baselines["majority"]


# What else is kept


@pytest.fixture(scope="module")
def opposed(finished: Finished) -> Path:
    """A run of two tasks on one head with opposite answers: what makes one better makes the other worse."""
    for part in ("train", "dev"):
        said = [{"fox", "dog"} <= {*row["words"]} for row in finished.rows[part]]  # seldom: the prior alone tells most
        both = [
            {**row, "mood": "yes" if seldom else "no", "anti": "no" if seldom else "yes"}
            for row, seldom in zip(finished.rows[part], said, strict=True)
        ]
        write_rows(finished.data / f"opposed-{part}.jsonl", both)
    head = {"kind": "linear", "dropout": 0.0, "share": "one"}
    files = {"train": "opposed-train.jsonl", "dev": "opposed-dev.jsonl"}
    options = {"kind": "classification", "metric": "accuracy", "head": head, **files}
    tasks = {name: {**options, "label": name} for name in ("mood", "anti")}
    return train(
        finished.data,
        finished.encoder,
        tasks,
        "opposed",
        phases=[{"tasks": ["mood"], "epochs": 3}, {"tasks": ["anti"], "epochs": 3}],
        training={"choose_by": "mood", "learning_rate": 5e-3, "baselines": False},
    )


@pytest.mark.parametrize("name", ["mood", "anti"])
def test_the_weights_best_for_each_task_are_kept_with_their_own_calibration(
    finished: Finished, opposed: Path, name: str, tmp_path: Path
) -> None:
    report = read_json(opposed / "report.json")
    values = [entry["dev"][name] for entry in report["history"]]
    entry = report["history"][values.index(max(values))]
    folder = opposed if name == "mood" else opposed / "best" / name
    best = {key: entry[key] for key in ("step", "phase", "epoch")} | {"value": max(values)}
    assert report["best"][name] == best | {"folder": folder.relative_to(opposed).as_posix()}
    if name == "mood":
        assert report["best"]["overall"] == best
    plain = unfit(folder, tmp_path / "plain")
    file = finished.data / "opposed-dev.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    answers = [row[name] for row in predict(plain, file, tmp_path / "answers.jsonl")]
    scores = label_scores([row[name] for row in rows], [one["label"] for one in answers])
    assert scores["accuracy"] == pytest.approx(max(values))
    temperature = read_json(folder / "weft.json")["targets"][name]["temperature"]
    assert temperature == pytest.approx(best_temperature(name, rows, answers), rel=0.03)
    assert temperature != 1.0


def test_without_baselines_there_are_none_and_the_gain_is_told_of_no_task(finished: Finished, opposed: Path) -> None:
    report = read_json(opposed / "report.json")
    assert all(task["result"]["baselines"] == {} for task in report["tasks"].values())
    assert (opposed / "report.html").read_text(encoding="utf-8") == render(RunRecord.from_dict(report))
    row = render_card(RunRecord.from_dict(report)).split("## Results")[1].split("\n| `mood` |")[1].split("\n")[0]
    assert row.count("–") == 3


def test_page_and_card_are_those_of_the_record(finished: Finished) -> None:
    assert (finished.folder / "report.html").read_text(encoding="utf-8") == render(RunRecord.from_dict(finished.report))
    assert (finished.folder / "README.md").read_text(encoding="utf-8") == render_card(
        RunRecord.from_dict(finished.report)
    )


def test_weft_evaluate_measures_on_the_test_rows_and_where_there_are_none_on_the_dev_rows(
    finished: Finished, tmp_path: Path
) -> None:
    file = tmp_path / "scores.json"
    arguments = ["evaluate", str(finished.folder), "-t", "mood", "-t", "mood_dev", "--json", str(file)]
    done = CliRunner().invoke(cli.app, [*arguments, "--device", "cpu"])
    assert done.exit_code == 0
    answers = {name: finished.answers(f"mood{end}", name, fitted=True) for name, end in PARTS.items()}
    wanted = {f"mood{end}": measure("mood", finished.rows[part], answers[part]) for part, end in PARTS.items()}
    found = read_json(file)
    assert found.keys() == wanted.keys()
    for name, scores in wanted.items():
        assert found[name] == pytest.approx(scores, rel=1e-4, abs=1e-5)


# What is not told


def secret_rows(part: str) -> list[Row]:
    """Rows in which a word stands that occurs nowhere else; nothing is marked in the first."""
    rows = []
    for number in range(12 if part == "train" else 6):
        words = ["the", "fox" if number % 2 else "dog", f"zq{part}{number}qz"]
        text = " ".join(words)
        marks = [[4, 7, words[1]]] if number else []
        rows.append({"text": text, "other": text[::-1], "label": words[1], "spans": marks})
    return rows


@pytest.fixture
def secretive(tmp_path: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Runs `weft train` on rows with secret words."""
    files = {}
    for part in SIZES:
        files[part] = f"{part}.jsonl"
        write_rows(tmp_path / files[part], secret_rows(part))
    kinds: Row = {
        "what": {"kind": "classification"},
        "pair": {"kind": "pair_classification", "text": ["text", "other"]},
        "tags": {"kind": "tagging"},
        "spans": {"kind": "spans"},
        "tags_dev": {"kind": "tagging"},
    }
    tasks = {name: {**options, **files} for name, options in kinds.items()}
    del tasks["tags_dev"]["test"]
    training = {"epochs": 1, "batch_size": 4}

    def call(**more: Any) -> Path:
        document = {"encoder": {"from": small_encoder}, "tasks": tasks, "training": {**training, **more}}
        (tmp_path / "secret.toml").write_text(tomli_w.dumps(document), encoding="utf-8")
        command = ["weft", "train", tmp_path / "secret.toml", "--output", tmp_path / "run", "--device", "cpu"]
        monkeypatch.setattr("sys.argv", list(map(str, command)))
        with pytest.raises(SystemExit) as caught:
            cli.main()
        assert not caught.value.code
        return tmp_path / "run"

    return call


def secrets(told: bytes) -> list[str]:
    return sorted(set(re.findall(r"zq\w+\d+qz|zq\d+\w+qz", told.decode("utf-8", errors="replace").lower())))


def test_no_text_of_the_data_is_written_or_printed_unless_asked_for(
    secretive: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = secretive()
    printed = "".join(capfd.readouterr())
    assert "tags" in printed
    assert secrets(printed.encode()) == []
    files = [path for path in folder.rglob("*") if path.is_file()]
    told = {"report.html", "report.json", "README.md", "weft.json", "outcomes.safetensors"}
    assert told <= {path.name for path in files}
    assert {path.name: secrets(path.read_bytes()) for path in files} == {path.name: [] for path in files}
    assert b"contains texts of the data" not in (folder / "report.html").read_bytes()


def test_labels_that_could_be_texts_are_numbers_in_the_outcomes(tmp_path: Path, small_encoder: str) -> None:
    rows = [{"text": "the fox", "label": f"zqlabel{number}qz"} for number in range(30)]
    long = "zqlong1qz, a label that is longer than any name would be"
    marks = [{"text": f"the fox {number}", "spans": [[0, 3, "article" if number else long]]} for number in range(30)]
    write_rows(tmp_path / "labels.jsonl", rows)
    write_rows(tmp_path / "spans.jsonl", marks)
    tasks = {
        "t": {"kind": "classification", "train": "labels.jsonl", "dev": "labels.jsonl"},
        "s": {"kind": "spans", "train": "spans.jsonl", "dev": "spans.jsonl"},
    }
    folder = train(tmp_path, small_encoder, tasks, training={"baselines": False})
    assert secrets((folder / "weft.json").read_bytes())  # the model itself must know them
    assert secrets((folder / "outcomes.safetensors").read_bytes()) == []
    kept = read_outcomes(folder / "outcomes.safetensors")
    assert list(kept["t"].per_class()) == list(kept["t"].labels) == [f"label {number}" for number in range(1, 31)]
    assert kept["s"].labels == ("article", "label 2")


def test_as_many_texts_as_asked_for_are_shown_with_what_was_marked_and_found(
    secretive: Callable[..., Path], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = secretive(report_texts=2)
    assert secrets("".join(capfd.readouterr()).encode()) == []
    shown = {path.name: found for path in folder.rglob("*") if path.is_file() and (found := secrets(path.read_bytes()))}
    assert shown.keys() == {"report.json", "report.html"}
    assert shown["report.json"] == shown["report.html"]
    assert b"contains texts of the data" in (folder / "report.html").read_bytes()
    report = read_json(folder / "report.json")
    for name, task in report["tasks"].items():
        rows = [row for one in task["sections"] if one["kind"] == "wrong_rows" for row in one["rows"]]
        texts = {row[0]: row[-1] for row in rows if row[-1]}
        assert len(texts) == min(2, len(rows)), name
        known = secret_rows(task["reported_on"])
        assert all(known[line - 1]["text"] in text for line, text in texts.items()), name
    assert [name for name, task in report["tasks"].items() if task["samples"]] == ["tags", "spans", "tags_dev"]
    for name, part in (("tags", "test"), ("spans", "test"), ("tags_dev", "dev")):
        rows = secret_rows(part)[1:3]
        answers = predict(folder, tmp_path / f"{part}.jsonl", tmp_path / "answers.jsonl")[1:3]
        assert report["tasks"][name]["samples"] == [
            {
                "text": row["text"],
                "gold": row["spans"],
                "found": [[one["start"], one["end"], one["label"]] for one in answer[name]],
            }
            for row, answer in zip(rows, answers, strict=True)
        ]


def test_raw_text_is_measured_in_windows_of_rows(
    tmp_path: Path, small_encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(0)
    for part, size in (("train", 40), ("dev", 30)):
        lines = (" ".join(rng.choices(WORDS, k=9)) + ".\n" for _ in range(size))
        (tmp_path / f"{part}.txt").write_text("".join(lines), encoding="utf-8")
    options = {"kind": "masked_words", "train": "train.txt", "dev": "dev.txt"}
    folder = train(tmp_path, small_encoder, {"t": options})
    report = read_json(folder / "report.json")["tasks"]["t"]["result"]
    assert report["baselines"].keys() == {"majority"}  # nothing without an encoder tells masked words
    assert report["rows"] > 4
    model = weft.load(folder, device="cpu")
    for window in (1, 3, 1024):
        monkeypatch.setattr("weft.model.evaluate.WINDOW", window)
        found = model.evaluate({"t": tmp_path / "dev.txt"})["t"]
        assert found.rows == report["rows"]
        assert found.measures.scores == pytest.approx(report["measures"]["scores"], rel=1e-4)


def test_a_row_is_truncated_where_any_task_did_not_read_all_of_it(tmp_path: Path, small_encoder: str) -> None:
    rows = [{"text": f"the {name} " + "quick " * size, "label": name} for name in ("fox", "dog") for size in (1, 9)]
    write_rows(tmp_path / "rows.jsonl", rows)
    task = {"kind": "classification", "train": "rows.jsonl", "dev": "rows.jsonl"}
    for name, order in (("first", ("short", "long")), ("last", ("long", "short"))):
        tasks = {one: {**task, **({"max_length": 8} if one == "short" else {})} for one in order}
        folder = train(tmp_path, small_encoder, tasks, name, training={"baselines": False})
        answers = predict(folder, tmp_path / "rows.jsonl", tmp_path / "answers.jsonl")
        assert [answer["truncated"] for answer in answers] == [False, True, False, True]


def test_every_task_asked_for_must_be_able_to_read_what_is_given(finished: Finished) -> None:
    asked = ["predict", str(finished.folder), "--text", "the fox", "-t", "mood", "--device", "cpu"]
    assert CliRunner().invoke(cli.app, asked).exit_code == 0
    done = CliRunner().invoke(cli.app, [*asked, "-t", "same"])
    assert isinstance(done.exception, DataError)
    assert "same reads two texts" in str(done.exception)
