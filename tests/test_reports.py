"""The page, the terminal table and the card of a run, from records as a run writes them."""

from __future__ import annotations

import copy
import io
import json
import math
import random
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from rich.table import Table

from weft.data.predictions import (
    LabelPrediction,
    LabelsPrediction,
    PredictedSpan,
    Prediction,
    ScorePrediction,
    SpansPrediction,
)
from weft.data.records import Example, Gold
from weft.errors import CheckpointError
from weft.metrics.sections import WrongRows
from weft.model.evaluate import TaskResult, report_sections
from weft.reports import card, run_page, summary, terminal
from weft.reports.card import code
from weft.reports.charts import Dot, Series, dot_chart, line_chart, reliability_diagram
from weft.reports.matrix import confusion_matrix
from weft.reports.record import VERSION, RunRecord, read_record
from weft.reports.summary import listed
from weft.reports.svg import nice_ticks, shorten
from weft.reports.training_section import smooth
from weft.targets import Target
from weft.targets.base.annotations import as_prediction
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.targets.score import ScoreTarget
from weft.targets.spans import SpansTarget

Record = dict[str, Any]
HOSTILE = '<script>alert("&")</script>'
VOID = {"meta", "br", "wbr", "hr", "img", "link", "input"}


def render(record: Record) -> str:
    return run_page.render(RunRecord.from_dict(record))


def render_card(record: Record) -> str:
    return card.render_card(RunRecord.from_dict(record))


def results_table(record: Record) -> Table:
    return terminal.results_table(RunRecord.from_dict(record))


def verdict(record: Record) -> list[str]:
    return summary.verdict(RunRecord.from_dict(record))


def label_task(
    labels: list[str], rows: int, skill: float, seed: int = 0
) -> tuple[Target, list[Gold], list[Prediction]]:
    """A single-label task whose answers are right with probability `skill`, and mostly confident when they are."""
    rng = random.Random(seed)
    golds: list[Gold] = [labels[min(int(rng.expovariate(1.5) * len(labels) / 2), len(labels) - 1)] for _ in range(rows)]
    answers: list[Prediction] = []
    for gold in golds:
        right = rng.random() < skill
        near = labels[(labels.index(str(gold)) + rng.choice((-1, 1, 1, 2))) % len(labels)]
        sure = 1 - (1 - 1 / len(labels)) * rng.betavariate(1.2, 4 if right else 1.6)
        answers.append(LabelPrediction(str(gold) if right else near, sure))
    return LabelTarget(labels=tuple(labels)).fit(golds), golds, answers


def labels_task(labels: list[str], rows: int, skill: float) -> tuple[Target, list[Gold], list[Prediction]]:
    rng = random.Random(1)
    golds: list[Gold] = [tuple(one for one in labels if rng.random() < 0.3) for _ in range(rows)]
    answers = [
        LabelsPrediction(tuple(one for one in labels if (one in gold) == (rng.random() < skill)))  # type: ignore[operator]
        for gold in golds
    ]
    return LabelsTarget(labels=tuple(labels)).fit(golds), golds, answers


def score_task(rows: int, noise: float) -> tuple[Target, list[Gold], list[Prediction]]:
    rng = random.Random(2)
    golds: list[Gold] = [rng.uniform(0, 5) for _ in range(rows)]
    return ScoreTarget().fit(golds), golds, [ScorePrediction(float(gold) + rng.gauss(0, noise)) for gold in golds]  # type: ignore[arg-type]


def spans_task(labels: list[str], rows: int, skill: float) -> tuple[Target, list[Gold], list[Prediction]]:
    """Texts with two spans side by side and a third in the second."""
    rng = random.Random(4)
    golds: list[Gold] = [
        tuple((start, end, rng.choice(labels)) for start, end in ((0, 4), (5, 20), (7, 12))) for _ in range(rows)
    ]
    answers = [
        as_prediction([span for span in gold if rng.random() < skill])  # type: ignore[misc, union-attr]
        for gold in golds
    ]
    return SpansTarget(labels=tuple(labels), max_width=4).fit(golds), golds, answers


def entry(
    kind: str, metric: str, made: tuple[Target, list[Gold], list[Prediction]], majority: float, tfidf: float
) -> Record:
    target, golds, answers = made
    measures = target.measure(golds, answers)
    others = {"majority": {metric: majority}, "tfidf": {metric: tfidf}}
    rows = [Example(("a text",), gold=gold, line=line) for line, gold in enumerate(golds, 2)]
    sections = [one.to_dict() for one in report_sections(target, rows, answers, measures)]
    result = TaskResult(metric, len(golds), measures, others).to_dict()
    sizes = {"train": 3 * len(golds), "dev": len(golds) // 2, "test": len(golds)}
    task = {"kind": kind, "metric": metric, "rows": sizes, "reported_on": "test"}
    return task | {"result": result, "sections": sections}


def make_record(tasks: Record, evaluations: int = 6) -> Record:
    """A record as a run writes it: plain JSON."""
    rng = random.Random(3)
    names = list(tasks)
    pairs = [f"{one}~{two}" for place, one in enumerate(names) for two in names[place + 1 :]]
    history = [
        {
            "step": 20 * (turn + 1),
            "phase": 0,
            "epoch": turn + 1,
            "losses": dict.fromkeys(names, 1 / (turn + 1)),
            "learning_rate": 4e-5,
            "dev": {
                name: 0.8 - 0.3 / (turn + 1) - 0.07 * place + rng.gauss(0, 0.01) for place, name in enumerate(names)
            },
            "overall": 0.3,
            "agreement": {pair: rng.gauss(0.1, 0.12) for pair in pairs},
            "weights": dict.fromkeys(names, 1.0),
        }
        for turn in range(evaluations)
    ]
    loss_history = []
    for step in range(1, 20 * evaluations + 1):
        place = step % len(names)
        loss = (1 + 0.3 * place) * (math.exp(-step / 60) + 0.2) + abs(rng.gauss(0, 0.12))
        loss_history.append([step, names[place], loss])
    best = {name: {"step": 80, "epoch": 4, "value": 0.78, "folder": f"best/{name}"} for name in names}
    record = {
        "weft": "0.1.0",
        "created": "2026-11-15T22:40:00+00:00",
        "seed": 13,
        "encoder": {"name": "minilm", "layers": 6, "width": 384, "parameters": 22713216},
        "conditioning": "none",
        "device": "cpu",
        "precision": "fp32",
        "seconds": 151.2,
        "peak_memory_mib": 1200.5,
        "tokens": 123456,
        "rows": 4321,
        "padding_saved": 0.55,
        "stopped": "finished",
        "best": {"overall": {"step": 60, "epoch": 3, "value": 0.41}, **best},
        "tasks": tasks,
        "history": history,
        "loss_history": loss_history,
        "config": 'seed = 13\n\n[tasks.urgency]\nkind = "classification"\ntrain = "a < b.csv"\n',
    }
    loaded: Record = json.loads(json.dumps(record))
    return loaded


def four_tasks() -> Record:
    topics = ["billing", "delivery", "returns", "praise", "technical problem", "other"]
    many = [f"intent_{place:02d}_{'card_payment_not_recognised' if place % 3 else 'top_up'}" for place in range(77)]
    return {
        "urgency": entry("classification", "f1_macro", label_task(["low", "medium", "high"], 148, 0.8), 0.21, 0.62),
        "topics": entry("classification", "f1_micro", labels_task(topics, 120, 0.85), 0.3, 0.72),
        "alike": entry("similarity", "pearson", score_task(90, 1.5), 0.0, 0.85),
        "intent": entry("classification", "accuracy", label_task(many, 900, 0.85), 0.06, 0.74),
    }


def marked_task(labels: list[str]) -> Record:
    """A task that marks spans, measured against a lookup."""
    task = entry("spans", "f1", spans_task(labels, 60, 0.8), 0.0, 0.5)
    task["result"]["baselines"]["lookup"] = task["result"]["baselines"].pop("tfidf")
    return task


@pytest.fixture(scope="module")
def tasks() -> Record:
    return four_tasks()


class Features(HTMLParser):
    """Checks that tags close in order, and keeps what a browser would show and fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data", "action")
        ]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def drawings(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def shown(svg: str) -> str:
    return " ".join(ElementTree.fromstring(svg).itertext())


@pytest.mark.parametrize(
    "names",
    [
        ["urgency"],
        ["alike"],
        ["topics", "alike"],
        ["urgency", "topics", "alike"],
        ["urgency", "topics", "alike", "intent"],
    ],
)
def test_a_page_is_well_formed_and_fetches_nothing(tasks: Record, names: list[str]) -> None:
    page = render(make_record({name: tasks[name] for name in names}))
    reader = Features(page)
    assert drawings(page)
    assert all(address.startswith("#task-") for address in reader.addresses)
    assert "script" not in reader.tags
    assert "http" not in page
    assert "url(" not in page
    assert "@import" not in page


def test_the_numbers_of_the_page_table_and_card_are_the_records(tasks: Record) -> None:
    record = make_record(tasks)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(results_table(record))
    outputs = [" ".join(Features(render(record)).words), console.export_text(), render_card(record)]
    for task in record["tasks"].values():
        result, metric = task["result"], task["metric"]
        low, high = result["measures"]["intervals"][metric]
        for output in outputs:
            assert f"{result['measures']['scores'][metric]:.3f}" in output
            assert f"{low:.3f} to {high:.3f}" in output
            assert f"{result['baselines']['tfidf'][metric]:.3f}" in output
        gain = result["measures"]["scores"][metric] - result["baselines"]["majority"][metric]
        assert f"{gain:+.3f}" in outputs[0]
        for scores in result["measures"]["details"].get("per_class", {}).values():
            assert f"{scores['f1']:.3f}" in outputs[0]
    for fact in (
        "2 min 31 s",
        "151.2 s",
        "1,200.5 MiB",
        "123,456",
        "3,774 rows",
        f"1.1 passes, {4321 / 151.2:.1f}\u00a0rows/s",
        "55%",
        "seed 13",
    ):
        assert fact in outputs[0]


def test_names_that_look_like_markup_stay_text(tasks: Record) -> None:
    labels = [HOSTILE, "a|b`c", "*x*\x00\x1b[31m\ud800", "日本語"]
    task = entry("classification", "f1_macro", label_task(labels, 60, 0.7), 0.2, 0.3)
    record = make_record({HOSTILE: task, "other": tasks["alike"]})
    record["config"] = f"# {HOSTILE}\n```\nx = 1"
    page = render(record)
    reader = Features(page)
    assert "script" not in reader.tags
    assert HOSTILE in " ".join(reader.words)
    assert drawings(page)
    card = render_card(record)
    assert (page + card).encode()
    assert f"`{HOSTILE}`" in card
    assert "``a|b`c``" not in card  # a code span that ends in its label needs room
    assert "`` a|b`c ``" in card
    assert card.rstrip().endswith("````")
    assert "\\<script\\>" in verdict_of_card(card)


def verdict_of_card(card: str) -> str:
    return card.split("## Results")[1].split("## Use")[0]


def test_a_record_written_down_and_read_again_is_the_same(tasks: Record, tmp_path: Path) -> None:
    record = RunRecord.from_dict(make_record(tasks))
    (tmp_path / "report.json").write_text(json.dumps(record.to_dict()), encoding="utf-8")
    again = read_record(tmp_path)
    assert again == record
    assert json.loads((tmp_path / "report.json").read_text())["version"] == VERSION == 2
    assert again.tasks["urgency"].name == "urgency"


def test_a_report_without_a_version_is_read_as_the_first_one(tasks: Record) -> None:
    old = make_record(tasks)
    assert "version" not in old
    new = {**old, "version": 2, "rows": 3774, "row_passes": 4321}  # version 1 called the passes `rows`
    assert RunRecord.from_dict(old) == RunRecord.from_dict(new)


@pytest.mark.parametrize("version", [0, 3, "2", None])
def test_a_report_of_an_unknown_version_is_refused_by_name(tasks: Record, version: Any) -> None:
    with pytest.raises(CheckpointError, match=r"report.json has version .*; this weft reads versions 1 to 2"):
        RunRecord.from_dict({**make_record(tasks), "version": version}, "report.json")


def test_a_report_that_is_damaged_is_refused_with_the_part_and_without_its_content(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"report.json cannot be read"):
        read_record(tmp_path)
    (tmp_path / "report.json").write_text("[1]")
    with pytest.raises(CheckpointError, match="holds no record of a run"):
        read_record(tmp_path)
    damaged = {"seed": 1, "tasks": {"a": {"rows": {"train": "a patient's words"}}}}
    (tmp_path / "report.json").write_text(json.dumps(damaged))
    with pytest.raises(CheckpointError, match=r"tasks\.a\.rows\.train: ") as refused:
        read_record(tmp_path)
    assert "patient" not in str(refused.value)


@pytest.mark.parametrize(
    "part",
    ["history", "loss_history", "best", "config", "encoder", "seconds", "peak_memory_mib", "tokens", "rows", "created"],
)
def test_a_part_that_is_missing_or_empty_is_left_out(tasks: Record, part: str) -> None:
    whole = make_record({"urgency": tasks["urgency"], "alike": tasks["alike"]})
    for record in ({key: value for key, value in whole.items() if key != part}, {**whole, part: None}):
        Features(render(record))
        assert "## Results" in render_card(record)


def test_the_smallest_record_still_gives_a_page_a_card_and_a_table() -> None:
    record: Record = {"tasks": {"one": {"kind": "classification", "metric": "accuracy"}}}
    Features(render(record))
    assert "`one`" in render_card(record)
    assert results_table(record).row_count == 1
    Features(render({}))
    assert verdict({}) == ["No task was measured."]


def test_numbers_that_are_not_finite_are_shown_as_missing(tasks: Record) -> None:
    record = make_record({"alike": copy.deepcopy(tasks["alike"])})
    record["tasks"]["alike"]["result"]["measures"] = {"scores": {"pearson": math.nan, "mse": math.inf}, "intervals": {}}
    record["loss_history"].append([999, "alike", math.nan])
    record["history"][0]["dev"]["alike"] = None
    page = render(record)
    assert "nan" not in " ".join(Features(page).words).lower()
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL)))
    assert "alike has no finite pearson: training may have diverged." in verdict(record)


def test_hidden_words_are_told_by_their_perplexity_beside_that_of_counting() -> None:
    scores = {"accuracy": 0.15, "perplexity": 94.66, "likelihood": 0.010564}
    measures = {"scores": scores, "intervals": {"likelihood": [0.0101, 0.0111]}}
    counting = {"accuracy": 0.03, "perplexity": 705.6, "likelihood": 0.001417}
    result = {"metric": "likelihood", "rows": 1078, "measures": measures, "baselines": {"majority": counting}}
    record = {"tasks": {"words": {"kind": "masked_words", "reported_on": "test", "result": result}}}
    sentence = "Perplexity of words at masked words: 94.7; knowing only how common each token is, 705.6."
    assert verdict(record) == [sentence]
    words = " ".join(Features(render(record)).words)
    assert sentence in words
    assert "TF-IDF" not in words  # nobody compared with it
    assert "Values with" not in words  # on a scale up to 1 there would be nothing to see
    assert "clearly" not in words
    assert "| 0.011 | 0.010 to 0.011 | 0.00142 |" in render_card(
        record
    )  # where three decimals would show next to nothing


def test_labels_of_marks_have_their_colours_and_spans_in_spans_a_table(tasks: Record) -> None:
    task = marked_task(["DNA", "protein", HOSTILE])
    details = task["result"]["measures"]["details"]
    page = render(make_record({"genes": task, "topics": tasks["topics"]}))
    reader = Features(page)
    assert "script" not in reader.tags
    assert "footer" not in reader.tags  # it holds no texts
    for place, (label, scores) in enumerate(details["per_class"].items()):
        line = next(line for line in page.split("<tr>") if f'<mark class="k k{place}">' in line)
        assert re.findall(r"[\d.]+(?=</td>)", line) == [
            *(f"{scores[name]:.3f}" for name in ("precision", "recall", "f1")),
            f"{scores['support']:.0f}",
        ]
        assert (label in line) == (label != HOSTILE)
    assert page.count("<mark") == 3  # and none for labels that mark nothing
    nested = details["nested"]
    assert (nested["inside_support"], nested["outside_support"], nested["flat_support"]) == (60, 60, 60)
    words = " ".join(reader.words)
    for place, name in (("inside", "inside another"), ("outside", "around another"), ("flat", "neither")):
        assert re.search(rf"{name}\s+{nested[place]:.3f}\s+60", words)
    assert "Recall of nested spans" not in render(make_record({"topics": tasks["topics"]}))
    assert ".k0" not in render(make_record({"topics": tasks["topics"]}))


def test_a_nesting_without_true_spans_has_no_recall() -> None:
    target = SpansTarget(labels=("a",), max_width=4).fit([])
    golds: list[Gold] = [((0, 9, "a"), (2, 4, "a"))]
    task = entry("spans", "f1", (target, golds, [SpansPrediction()]), 0.0, 0.0)
    assert re.search(r"neither\s+–\s+0\s", " ".join(Features(render(make_record({"x": task}))).words))


def test_samples_are_painted_gold_above_found() -> None:
    task = marked_task(["DNA", "protein"])
    text = f"{HOSTILE} שלום 👩‍👧\nIL-2 gene"
    at = text.index("IL-2")
    task["samples"] = [
        {"text": text, "gold": [[at, at + 9, "DNA"], [at, at + 4, "protein"]], "found": [[at, at + 9, "new"]]},
        {"text": "plain", "gold": [], "found": [{"start": 0, "end": 5, "label": "DNA", "score": 0.9}]},
    ]
    page = render(make_record({"genes": task}))
    reader = Features(page)
    assert "script" not in reader.tags
    painted = [re.sub(r"<[^>]*>", "", one) for one in re.findall(r'<p class="text marked".*?</p>', page, re.DOTALL)]
    assert [unescape(one) for one in painted] == [text, text, "plain", "plain"]
    gold, found = (part for part in page.split('<p class="which">')[1:3])
    assert gold.startswith("True")
    assert re.findall('data-label="(.*?)"', gold) == ["DNA", "protein"]
    assert found.startswith("Predicted")
    assert re.findall('data-label="(.*?)"', found) == ["new"]  # a label that no table knows has a look, too
    assert "0 of 2 true spans predicted; 1 predicted that are not true." in page
    assert "contains texts of the data" in page


def test_spans_have_a_table_of_boundary_and_type_errors() -> None:
    target = SpansTarget(labels=("x", "y"), max_width=4).fit([])
    golds: list[Gold] = [((0, 4, "x"), (5, 9, "x"), (10, 14, "y")), ((0, 4, "y"),)]
    answers: list[Prediction] = [
        SpansPrediction((PredictedSpan(0, 4, "x"), PredictedSpan(5, 9, "y"), PredictedSpan(10, 12, "y"))),
        SpansPrediction((PredictedSpan(7, 9, "x"),)),
    ]
    page = render(make_record({"names": entry("spans", "f1", (target, golds, answers), 0.0, 0.0)}))
    shown = " ".join(" ".join(Features(page).words).split())
    assert (
        "Boundary and type errors Label Right Type Boundary Both Missed Spurious x 1 1 0 0 0 1 y 0 0 1 0 1 0 " in shown
    )


@pytest.mark.parametrize("labels", [(), tuple(f"my {i}. complaint" for i in range(30))])
def test_labels_that_could_be_texts_are_numbers_unless_the_config_names_them(labels: tuple[str, ...]) -> None:
    texts: list[Gold] = [f"my {i}. complaint" for i in range(30)]
    answers: list[Prediction] = [LabelPrediction(str(texts[0]), 0.9)] * 30
    target = LabelTarget(labels=labels).fit(texts)
    record = make_record({"t": entry("classification", "accuracy", (target, texts, answers), 0.0, 0.0)})
    for shown in (json.dumps(record["tasks"]["t"]["sections"]), render(record), render_card(record)):
        assert ("my 7. complaint" in shown) == bool(labels)
        assert ("label 8" in shown) == (not labels)


def test_a_long_label_that_few_rows_have_is_a_number_and_the_others_are_shown() -> None:
    long = "a label that is longer than any name would be"
    golds: list[Gold] = ["a", "b"] * 20 + [long]
    target = LabelTarget().fit(golds)
    record = make_record(
        {"t": entry("classification", "accuracy", (target, golds, [LabelPrediction("b")] * 41), 0.0, 0.0)}
    )
    card = render_card(record)
    assert "3 labels: `a`, `label 2`, `b`" in card
    assert long not in card + render(record)


def wrong(target: Target, golds: list[Gold], answers: list[Prediction]) -> Record:
    """The table of wrong rows of answers, in lines from 2 on."""
    fitted = target.fit(golds)
    rows = [Example(("a text",), gold=gold, line=line) for line, gold in enumerate(golds, 2)]
    sections = report_sections(fitted, rows, answers, fitted.measure(golds, answers, intervals=False))
    return next((one.to_dict() for one in sections if one.to_dict().get("heading") == "Wrong rows"), {"rows": []})


def test_wrong_labels_are_listed_most_confident_first_and_no_more_than_twenty() -> None:
    target = LabelTarget(labels=("a", "b", "c"))
    table = wrong(target, ["a", "b", "c"], [LabelPrediction(x, p) for x, p in (("b", 0.4), ("b", 0.9), ("a", 0.7))])
    assert table["rows"] == [(4, "c", "a", 0.7), (2, "a", "b", 0.4)]
    assert table["note"] == "2 of 3 rows are wrong; most confident mistakes first."
    many = wrong(target, ["a"] * 30, [LabelPrediction("b", 0.5 + row / 100) for row in range(30)])
    assert [row[0] for row in many["rows"]] == list(range(31, 11, -1))
    assert many["note"] == "30 of 30 rows are wrong; these are the 20 most confident mistakes."
    assert wrong(target, ["a"], [LabelPrediction("a", 0.4)])["rows"] == []


def test_wrong_label_sets_are_as_sure_as_their_surest_wrong_label() -> None:
    target = LabelsTarget(labels=("a", "b", "c"))
    scores = {"a": 0.9, "b": 0.05, "c": 0.8}
    table = wrong(target, [("a", "b"), ("c", "a"), ()], [LabelsPrediction(("a", "c"), scores)] * 3)
    assert table["rows"] == [(2, "a, b", "a, c", 0.95), (4, "–", "a, c", 0.9)]


def test_wrong_spans_are_told_by_characters_and_label_and_never_by_their_text() -> None:
    target = SpansTarget(labels=("x", "y"), max_width=4)
    span = SpansPrediction((PredictedSpan(4, 9, "x", "secret", 0.7),))
    table = wrong(target, [((4, 9, "y"), (0, 2, "x")), ((4, 9, "x"),), ((1, 2, "x"),)], [span, span, SpansPrediction()])
    assert table["rows"] == [(2, "0–2 x; 4–9 y", "4–9 x", 0.7), (4, "1–2 x", "–", None)]


def test_scores_are_never_just_wrong() -> None:
    assert wrong(ScoreTarget(), [1.0, 2.0], [ScorePrediction(9.0), ScorePrediction(2.0)])["rows"] == []


def test_texts_of_wrong_rows_stand_on_the_page_where_they_were_asked_for_and_it_says_so(tasks: Record) -> None:
    section = WrongRows("Wrong rows", ("Line", "True", "Predicted", "Score"), [(7, "a", "b", 0.9), (3, "b", "a", 0.8)])
    assert section.with_texts({}, 0) == section
    task = copy.deepcopy(tasks["urgency"])
    task["sections"] = [section.with_texts({3: "y" * 300, 7: "x & z"}, 1).to_dict()]
    page = render(make_record({"urgency": task}))
    assert "x &amp; z" in page
    assert "yyy" not in page
    assert "contains texts of the data" in page
    task["sections"] = [section.with_texts({3: "y" * 300, 7: "x & z"}, 2).to_dict()]
    assert f"{'y' * 199}…<" in render(make_record({"urgency": task}))


def test_wrong_rows_stand_on_the_page(tasks: Record) -> None:
    page = render(make_record({"urgency": tasks["urgency"]}))
    (table,) = (one for one in tasks["urgency"]["sections"] if one.get("heading") == "Wrong rows")
    line, true, predicted, score = table["rows"][0]
    shown = " ".join(" ".join(Features(page).words).split())
    assert f"Wrong rows Line True Predicted Score {line} {true} {predicted} {score:.3f}" in shown


def rated(value: float, interval: list[float] | None, tfidf: float | None, **more: Any) -> Record:
    scores = {"accuracy": value, **more.get("scores", {})}
    result = {
        "metric": "accuracy",
        "rows": 40,
        "measures": {"scores": scores, "intervals": {"accuracy": interval} if interval else {}},
        "baselines": {"majority": {"accuracy": 0.2}, **({} if tfidf is None else {"tfidf": {"accuracy": tfidf}})},
    }
    return {"kind": "classification", "metric": "accuracy", "reported_on": more.get("part", "test"), "result": result}


def test_the_verdict_calls_a_difference_clear_only_when_the_interval_excludes_the_baseline() -> None:
    record = {
        "tasks": {
            "up": rated(0.8, [0.75, 0.85], 0.7),
            "same": rated(0.8, [0.75, 0.85], 0.76),
            "edge": rated(0.8, [0.75, 0.85], 0.75),
            "down": rated(0.8, [0.75, 0.85], 0.9),
            "alone": rated(0.8, [0.75, 0.85], None),
        }
    }
    assert verdict(record) == [
        "On the test rows, up lies clearly above TF-IDF; same and edge are not clearly different from TF-IDF;"
        " down lies clearly below TF-IDF; alone was not compared with a baseline."
    ]
    standings = [task.against(task.baseline) for task in RunRecord.from_dict(record).tasks.values()]
    assert standings == ["better", "unclear", "unclear", "worse", "unknown"]


def test_the_verdict_warns_of_what_a_number_alone_hides() -> None:
    record = {
        "tasks": {
            "weak": rated(0.3, [0.15, 0.45], 0.25),
            "sure": rated(0.8, [0.75, 0.85], 0.7, scores={"calibration_error": 0.14}),
            "chosen": rated(0.8, [0.75, 0.85], 0.7, part="dev"),
        }
    }
    assert verdict(record)[0].startswith(
        "On rows not trained on, sure and chosen lie clearly above TF-IDF; weak is not"
    )
    assert verdict(record)[1:] == [
        "weak has not been shown to beat one and the same answer for all rows: 0.300 (0.150 to 0.450) against 0.200.",
        "weak was measured on only 40 rows: its interval, 0.150 to 0.450, is wide.",
        "Confidence in sure is off by 0.140 on average: do not read it as a probability.",
        "chosen was measured on the dev rows that also chose the weights: expect less on new texts.",
    ]


def test_names_are_listed_as_people_do() -> None:
    assert [listed("abc"[:count]) for count in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed("abcdefgh", most=3) == "a, b and 6 more"


def test_a_task_name_is_no_markup_in_the_terminal() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(results_table({"tasks": {"[red]x[/]": rated(0.8, [0.7, 0.9], 0.1)}}))
    assert "[red]x[/]" in console.export_text()


def test_a_matrix_shows_every_count_and_stays_usable_with_77_labels() -> None:
    labels = [f"a_rather_long_label_name_{index}" for index in range(77)]
    counts = [[1000 + row if row == column else (row * column) % 7 // 6 for column in range(77)] for row in range(77)]
    markup = confusion_matrix(labels, counts, "title")
    cells = re.findall(r"<td[^>]*>(\d*)</td>", markup)
    assert cells == [str(count) if count else "" for row in counts for count in row]
    assert markup.count(f'title="{labels[76]}"') == 2  # above its column and beside its line
    assert len(markup) < 1_000_000


def test_a_line_chart_stays_within_its_frame_and_tells_series_apart_without_colour() -> None:
    series = [Series(f"s{place}", [(step, place + step / 9) for step in range(10)]) for place in range(4)]
    tree = ElementTree.fromstring(line_chart(series, "t", "step", "y"))
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    lines = list(tree.iter("polyline"))
    for line in lines:
        for point in line.attrib["points"].split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height
    assert len({line.attrib.get("stroke-dasharray") for line in lines}) == 4


@pytest.mark.parametrize(
    "points", [[], [(5, 0.5)], [(5, 0.5), (5, 0.5)], [(1, math.nan), (2, 1e-9)], [(1, -1e9), (2, 1e9)]]
)
def test_odd_series_still_draw(points: list[tuple[float, float]]) -> None:
    assert "nan" not in shown(line_chart([Series("s", points, points)], "t", "x", "y", zero=True))


def test_a_dot_chart_reaches_below_zero_and_shows_each_baseline() -> None:
    svg = dot_chart(
        [Dot("a", "pearson", -0.25, (-0.4, 0.1), {"majority": 0.0, "TF-IDF": 0.5}), Dot("b", "f1", 0.5)], "t"
    )
    assert all(words in shown(svg) for words in ("−0.5", "-0.250", "majority 0.000", "TF-IDF 0.500", "0.500"))


def test_reliability_discs_lie_where_confidence_and_accuracy_say() -> None:
    tree = ElementTree.fromstring(reliability_diagram([(0.5, 0.5, 10), (0.9, 0.4, 40)], "t"))
    small, large = tree.iter("circle")
    assert float(small.attrib["r"]) < float(large.attrib["r"])
    assert float(small.attrib["cx"]) < float(large.attrib["cx"])
    assert float(small.attrib["cy"]) < float(large.attrib["cy"])


@pytest.mark.parametrize(
    ("low", "high", "whole", "ticks"),
    [
        (0, 1, False, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.61, 0.64, False, [0.61, 0.62, 0.63, 0.64]),
        (-0.3, 0.2, False, [-0.3, -0.2, -0.1, 0, 0.1, 0.2]),
        (1, 3, True, [1, 2, 3]),
        (7, 7, True, [6, 7, 8]),
    ],
)
def test_ticks_are_round_and_cover_the_range(low: float, high: float, whole: bool, ticks: list[float]) -> None:
    assert nice_ticks(low, high, whole=whole) == pytest.approx(ticks)


def test_smoothing_keeps_a_constant_and_follows_a_fall() -> None:
    assert [y for _, y in smooth([(step, 2.0) for step in range(99)])] == pytest.approx([2.0] * 99)
    smoothed = smooth([(step, float(step < 50)) for step in range(100)])
    assert 0 < smoothed[55][1] < 1
    assert smoothed[-1][1] < 0.05


def test_long_names_keep_their_beginning_and_end() -> None:
    assert shorten("card_payment_not_recognised_7", 16) == "card_paymen…ed_7"
    assert shorten("short", 16) == "short"


def test_a_code_span_holds_any_words() -> None:
    assert [code("a"), code("a`b"), code("``")] == ["`a`", "`` a`b ``", "``` `` ```"]
