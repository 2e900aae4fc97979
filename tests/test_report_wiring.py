"""Every figure of a record stands in its own cell of the page, the card and the table, under its own heading."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest
import tomli_w
from rich.console import Console
from rich.table import Table

from weft.reports import card, run_page, summary, terminal
from weft.reports.record import RunRecord, TaskRecord

Record = dict[str, Any]

FITTED = {"fit": "logistic", "tasks": ["mood", "names"]}
CONTRAST = {"tasks": ["mood"], "loss": {"kind": "pairwise_cosine"}, "train_layers": "blocks", "steps": 60}
FEW, FROZEN = 'preset = "few_labels"', "encoder.train_layers = 0 (the encoder stays as it is)"


def render(record: Record) -> str:
    return run_page.render(RunRecord.from_dict(record))


def render_card(record: Record) -> str:
    return card.render_card(RunRecord.from_dict(record))


def results_table(record: Record) -> Table:
    return terminal.results_table(RunRecord.from_dict(record))


def verdict(record: Record) -> list[str]:
    return summary.verdict(RunRecord.from_dict(record))


def tasks_of(record: Record) -> list[TaskRecord]:
    return list(RunRecord.from_dict(record).tasks.values())


def make_task(part: str, metric: str, baseline: str, first: float, rows: int, **details: Any) -> Record:
    """A task of which no two figures are the same; `first` is where its figures begin."""
    metrics = [metric, "other"]
    figures = {
        name: [round(first + 0.1 * turn + 0.011 * place, 3) for turn in range(5)] for place, name in enumerate(metrics)
    }
    return {
        "kind": "pair_classification",
        "metric": metric,
        "rows": {"train": 1000 + rows, "dev": 2000 + rows, "test": 3000 + rows},
        "reported_on": part,
        "result": {
            "metric": metric,
            "rows": rows,
            "measures": {
                "scores": {name: one[3] for name, one in figures.items()},
                "intervals": {name: [one[2], one[4]] for name, one in figures.items()},
                "details": details,
            },
            "baselines": {
                "majority": {name: one[0] for name, one in figures.items()},
                baseline: {name: one[1] for name, one in figures.items()},
            },
        },
    }


def per_class(labels: Sequence[str]) -> Record:
    return {
        label: {
            "precision": 0.101 + place / 50,
            "recall": 0.202 + place / 50,
            "f1": 0.303 + place / 50,
            "support": 7 + place,
        }
        for place, label in enumerate(labels)
    }


@pytest.fixture
def record() -> Record:
    labels = ["a", "b", "c", "d", "e"]
    confusion = [[50, 1, 2, 0, 0], [0, 40, 9, 0, 0], [3, 0, 30, 0, 0], [0, 0, 0, 20, 4], [0, 8, 0, 0, 10]]
    nested = {"inside": 0.123, "outside": 0.456, "flat": 0.789}
    supports = {"inside_support": 11.0, "outside_support": 22.0, "flat_support": 33.0}
    tasks = {
        "mood": make_task(
            "test", "f1_macro", "tfidf", 0.311, 1234, labels=labels, confusion=confusion, per_class=per_class(labels)
        ),
        "names": make_task(
            "dev",
            "f1",
            "lookup",
            0.415,
            567,
            labels=["x", "y"],
            per_class=per_class(["x", "y"]),
            nested=nested | supports,
        ),
    }
    tasks["mood"]["result"]["baselines"]["probe"] = {"f1_macro": 0.599, "other": 0.598}
    history = [
        {
            "step": 10 * turn,
            "dev": {"mood": 0.5 + 0.011 * turn, "names": 0.6 - 0.011 * turn},
            "agreement": {"mood~names": value},
            "weights": {"mood": 1.0 + turn, "names": 2.0 + turn},
        }
        for turn, value in ((1, 0.31), (2, -0.22), (3, 0.12))
    ]
    return {
        "weft": "9.8.7",
        "created": "2031-02-03T04:05:06+00:00",
        "seed": 4321,
        "encoder": {"name": "the-encoder", "layers": 6, "width": 384, "parameters": 22_713_216},
        "conditioning": "the-conditioning",
        "device": "the-device",
        "precision": "the-precision",
        "seconds": 151.2,
        "peak_memory_mib": 1200.5,
        "tokens": 120_960,
        "rows": 4536,
        "padding_saved": 0.55,
        "stopped": "early",
        "best": {"overall": {"step": 20, "value": 0.3}, "mood": {"step": 30}, "names": {"step": 10}},
        "tasks": tasks,
        "history": history,
        "loss_history": [[1, "mood", 0.9], [2, "names", 0.7], [3, "mood", 0.5]],
        "config": "seed = 4321",
    }


def shown(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup.replace("<wbr>", ""))).split())


def cells(markup: str) -> list[list[str]]:
    """The words in each cell of each line of a table, its headings first."""
    lines = re.findall(r"<tr>(.*?)</tr>", markup, re.DOTALL)
    return [[shown(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line, re.DOTALL)] for line in lines]


def table_after(page: str, heading: str) -> list[list[str]]:
    return cells(page.split(f"{heading}</h", 1)[1].split("</table>")[0])


def section(page: str, place: int) -> str:
    return page.split(f'<section id="task-{place}">')[1].split("</section>")[0]


def tips(page: str, chart: str) -> list[str]:
    """What the points of a chart tell when pointed at."""
    drawn = page.split(f'aria-label="{chart}"')[1].split("</svg>")[0]
    return [unescape(one) for one in re.findall(r"<title>(.*?)</title>", drawn)]


# The page


def test_the_table_of_results_has_every_figure_under_its_heading(record: Record) -> None:
    assert table_after(render(record), "Results") == [
        [
            "Task",
            "Metric",
            "Value",
            "95 % interval",
            "Gain over majority class",
            "Baseline",
            "Against baseline",
            "Probe",
            "Rows",
        ],
        [
            "mood",
            "f1_macro",
            "0.611",
            "0.511 to 0.711",
            "+0.300",
            "0.411 TF-IDF",
            "clearly above",
            "0.599",
            "1,234 test",
        ],
        ["names", "f1", "0.715", "0.615 to 0.815", "+0.300", "0.515 lookup", "clearly above", "–", "567 dev"],
    ]


@pytest.mark.parametrize(
    ("baseline", "said", "kind"),
    [
        (0.510, "clearly above", "better"),
        (0.511, "not clear", "unclear"),
        (0.711, "not clear", "unclear"),
        (0.712, "clearly below", "worse"),
    ],
)
def test_a_difference_is_clear_where_the_whole_interval_lies_on_one_side(
    record: Record, baseline: float, said: str, kind: str
) -> None:
    record["tasks"]["mood"]["result"]["baselines"]["tfidf"]["f1_macro"] = baseline
    page = render(record)
    assert table_after(page, "Results")[1][5:7] == [f"{baseline:.3f} TF-IDF", said]
    assert f'<td class="number {kind}"' in page
    assert tasks_of(record)[0].against(baseline) == kind


def test_a_gain_below_zero_is_shown_as_such(record: Record) -> None:
    record["tasks"]["mood"]["result"]["baselines"]["majority"]["f1_macro"] = 0.7
    assert table_after(render(record), "Results")[1][4] == "−0.089"
    assert tasks_of(record)[0].gain == pytest.approx(-0.089)


def test_the_chart_of_results_tells_value_and_baselines_of_each_task(record: Record) -> None:
    told = tips(render(record), "Each task&#x27;s value, interval and baselines")
    mood = ["majority 0.311", "TF-IDF 0.411", "Frozen encoder + logistic regression 0.599", "mood 0.611"]
    assert told == [*mood, "majority 0.415", "lookup 0.515", "names 0.715"]


def test_the_probe_of_a_task_of_numbers_is_no_logistic_regression(record: Record) -> None:
    assert tasks_of(record)[0].probe_name == "Frozen encoder + logistic regression"
    record["tasks"]["mood"]["result"]["baselines"]["probe"] = {"f1_macro": 0.599, "pearson": 0.5}
    assert tasks_of(record)[0].probe_name == "Frozen encoder + ridge regression"
    assert "Frozen encoder + ridge regression 0.599" in tips(
        render(record), "Each task&#x27;s value, interval and baselines"
    )


def test_all_measures_of_a_task_stand_beside_their_baselines(record: Record) -> None:
    page = render(record)
    assert table_after(section(page, 0), "All metrics on 1,234 rows") == [
        ["Metric", "Value", "95 % interval", "Majority", "TF-IDF", "Frozen encoder + logistic regression"],
        ["f1_macro", "0.611", "0.511 to 0.711", "0.311", "0.411", "0.599"],
        ["other", "0.622", "0.522 to 0.722", "0.322", "0.422", "0.598"],
    ]
    assert table_after(section(page, 1), "All metrics on 567 rows") == [
        ["Metric", "Value", "95 % interval", "Majority", "lookup"],
        ["f1", "0.715", "0.615 to 0.815", "0.415", "0.515"],
        ["other", "0.726", "0.626 to 0.826", "0.426", "0.526"],
    ]
    assert re.findall(r'class="number strong">([\d.]+)<', section(page, 0).split("</table>")[0]) == ["0.611"]


def test_a_task_tells_its_kind_and_rows(record: Record) -> None:
    page = render(record)
    assert "pair classification; rows: 2,234 train, 3,234 dev, 4,234 test" in shown(section(page, 0))
    assert "pair classification; rows: 1,567 train, 2,567 dev, 3,567 test" in shown(section(page, 1))


def test_each_label_has_its_own_figures(record: Record) -> None:
    page = render(record)
    assert table_after(section(page, 0), "Per-class metrics")[:3] == [
        ["Label", "Precision", "Recall", "F1", "Support"],
        ["a", "0.101", "0.202", "0.303", "7"],
        ["b", "0.121", "0.222", "0.323", "8"],
    ]
    assert table_after(section(page, 1), "Per-class metrics")[0][-1] == "Support"


def test_of_many_labels_the_ten_weakest_that_occur_are_shown_first(record: Record) -> None:
    labels = [f"label {place}" for place in range(21)]
    table = per_class(labels)
    for place, label in enumerate(labels):
        table[label]["f1"] = 0.9 - place / 30
    table["label 20"]["support"] = 0
    record["tasks"]["mood"]["result"]["measures"]["details"]["per_class"] = table
    page = section(render(record), 0)
    weakest = table_after(page, "Per-class metrics, lowest F1 first")
    assert [line[0] for line in weakest[1:]] == [f"label {place}" for place in range(19, 9, -1)]
    assert "All 21 labels" in page
    del table["label 0"]
    assert "lowest" not in section(render(record), 0)


def test_the_commonest_mistakes_come_first_gold_before_answer(record: Record) -> None:
    assert table_after(section(render(record), 0), "Most frequent confusions") == [
        ["True", "Predicted", "Rows"],
        ["b", "c", "9"],
        ["e", "b", "8"],
        ["d", "e", "4"],
        ["c", "a", "3"],
        ["a", "c", "2"],
        ["a", "b", "1"],
    ]


def test_the_matrix_has_gold_in_rows(record: Record) -> None:
    told = re.findall(r'<td[^>]* title="(.*?)"', section(render(record), 0))
    assert "true b, predicted c: 9 of 49 rows" in told
    assert "true c, predicted a: 3 of 33 rows" in told
    assert len(told) == 11


def test_spans_in_spans_are_told_by_how_they_lie(record: Record) -> None:
    assert table_after(section(render(record), 1), "Recall of nested spans") == [
        ["True spans", "Recall", "Support"],
        ["inside another", "0.123", "11"],
        ["around another", "0.456", "22"],
        ["neither", "0.789", "33"],
    ]


def test_confidence_is_told_with_its_error(record: Record) -> None:
    measures = record["tasks"]["mood"]["result"]["measures"]
    measures["details"]["reliability"] = [[0.61, 0.72, 9], [0.83, 0.94, 5]]
    measures["scores"]["calibration_error"] = 0.077
    page = render(record)
    assert "Expected calibration error 0.077." in section(page, 0)
    assert tips(page, "Confidence against accuracy of mood") == [
        "confidence 0.610, accuracy 0.720, 9 rows",
        "confidence 0.830, accuracy 0.940, 5 rows",
    ]


def test_what_it_took_is_told_tile_by_tile(record: Record) -> None:
    tiles = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", render(record))
    assert {name: shown(more) for name, more in tiles} == {
        "Time": "2 min 31 s 151.2 s",
        "Peak memory": "1,200.5 MiB",
        "Trained on": "3,801 rows 1.2 passes, 30.0 rows/s",
        "Tokens": "120,960 800 tokens/s",
        "Padding saved": "55% of a padded batch",
        "Device": "the-device the-precision",
        "Encoder": "the-encoder 6 layers of 384, 22.7 M weights",
        "Conditioning": "the-conditioning",
        "Ended": "early best overall at step 20",
    }
    record["stopped"], record["seconds"] = "finished", 7384.0
    tiles = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", render(record)))
    assert shown(tiles["Ended"]) == "as planned best overall at step 20"
    assert shown(tiles["Time"]) == "2 h 3 min 7,384.0 s"
    record["seconds"] = 12.34
    assert shown(dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", render(record)))["Time"]) == "12.3 s"


def test_the_curves_have_each_tasks_own_points_and_a_ring_at_its_best(record: Record) -> None:
    page = render(record)
    assert tips(page, "Dev metric of each task at each evaluation") == [
        "mood (f1_macro), 10: 0.511",
        "mood (f1_macro), 20: 0.522",
        "mood (f1_macro), 30: 0.533",
        "names (f1), 10: 0.589",
        "names (f1), 20: 0.578",
        "names (f1), 30: 0.567",
    ]
    chart = page.split('aria-label="Dev metric of each task at each evaluation"')[1].split("</svg>")[0]
    ring = r'<circle cx="([\d.]+)" cy="([\d.]+)" r="8"'
    (mood, names) = re.findall(ring, chart)
    assert re.search(rf'<circle cx="{mood[0]}" cy="{mood[1]}" r="3.6"[^>]*><title>mood \(f1_macro\), 30:', chart)
    assert float(mood[0]) > float(names[0])
    assert tips(page, "Training loss of each task")[-1] == "names, 2: 0.700"
    assert tips(page, "Gradient cosine of each pair of tasks")[1] == "mood and names, 20: -0.220"
    assert tips(page, "Loss weight of each task")[:2] == ["mood, 10: 2.000", "mood, 20: 3.000"]
    for one in record["history"]:
        one["weights"] = {"mood": 1.0, "names": 2.0}
    assert "Loss weight of each task" not in render(record)


def test_the_agreement_of_gradients_is_told_by_mean_lowest_and_last(record: Record) -> None:
    assert cells(render(record).split("Gradient cosine between tasks")[1].split("</table>")[0]) == [
        ["Pair of tasks", "Mean", "Lowest", "Last"],
        ["mood and names", "+0.070", "−0.220", "+0.120"],
    ]


def test_the_head_of_the_page_says_what_when_and_with_which_seed(record: Record) -> None:
    head = shown(render(record).split("<header>")[1].split("</header>")[0])
    assert head.startswith("Training report · 2031-02-03 04:05 · weft 9.8.7 · seed 4321 mood and names ")


def test_samples_tell_how_much_was_found_and_the_page_then_says_that_it_holds_texts(record: Record) -> None:
    assert "contains texts of the data" not in render(record)
    record["tasks"]["names"]["samples"] = [
        {
            "text": "anna met bert",
            "gold": [[0, 4, "x"], [9, 13, "y"]],
            "found": [[0, 4, "x"], [5, 8, "x"], [9, 13, "x"]],
        },
        {"text": "carl slept", "gold": [[0, 4, "x"]], "found": []},
    ]
    page = render(record)
    assert "contains texts of the data" in page
    told = section(page, 1).split('<div class="samples">')[1]
    assert re.findall(r"\d+ of \d+ true spans predicted; \d+ predicted that", told) == [
        "1 of 2 true spans predicted; 2 predicted that",
        "0 of 1 true spans predicted; 0 predicted that",
    ]
    first = told.split('<div class="sample">')[1]
    gold, found = (shown(one) for one in first.split('<p class="which">Predicted</p>'))
    assert gold.startswith("True")
    assert "anna" in gold
    assert "anna" in found
    assert "samples" not in section(page, 0)


# The card and the terminal


def test_the_card_has_every_figure_under_its_heading(record: Record) -> None:
    results = render_card(record).split("## Results\n\n")[1].split("\n\n")[0].splitlines()
    assert results == [
        "| task | metric | value | 95 % interval | majority | baseline | Frozen encoder + logistic regression | rows |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| `mood` | `f1_macro` | 0.611 | 0.511 to 0.711 | 0.311 | 0.411 (TF-IDF) | 0.599 | 1,234 test |",
        "| `names` | `f1` | 0.715 | 0.615 to 0.815 | 0.415 | 0.515 (lookup) | – | 567 dev |",
    ]


def test_the_card_says_what_the_model_is_and_how_it_was_trained(record: Record) -> None:
    card = render_card(record)
    about = "A weft 9.8.7 model: the encoder `the-encoder` (22.7 million weights), trained for 2 tasks."
    assert card.startswith(f"# `mood`, `names`\n\n{about}\n\n## Tasks\n")
    assert "- `mood`: pair classification; 5 labels: `a`, `b`, `c`, `d`, `e`\n" in card
    assert "Measured: `mood` on 1,234 test rows; `names` on 567 dev rows." in card
    assert card.split("## Training\n\n")[1].split("\n\n")[0].splitlines() == [
        "- seed 4321",
        "- encoder `the-encoder`: 6 layers, 384 wide",
        "- conditioning `the-conditioning`",
        "- rows of `mood`: 2,234 train, 3,234 dev, 4,234 test",
        "- rows of `names`: 1,567 train, 2,567 dev, 3,567 test",
        "- 151 s on the-device in the-precision",
        "- 2031-02-03T04:05:06+00:00",
    ]
    assert card.rstrip().endswith("```toml\nseed = 4321\n```")
    assert all(sentence in card.replace("\\", "") for sentence in verdict(record))


def test_the_table_in_the_terminal_has_every_figure_under_its_heading(record: Record) -> None:
    console = Console(width=150, record=True, file=io.StringIO())
    console.print(results_table(record))
    lines = [line.split() for line in console.export_text().splitlines()]
    rows = [
        ["task", "metric", "value", "95 % interval", "majority", "baseline", "probe", "rows"],
        ["mood", "f1_macro", "0.611", "0.511 to 0.711", "0.311", "0.411", "0.599", "1,234 test"],
        ["names", "f1", "0.715", "0.615 to 0.815", "0.415", "0.515", "–", "567 dev"],
    ]
    assert lines == [" ".join(row).split() for row in rows]


@pytest.mark.parametrize(("baseline", "colour"), [(0.4, "green"), (0.6, "yellow"), (0.8, "red")])
def test_a_value_is_green_above_the_baseline_method_and_red_below(record: Record, baseline: float, colour: str) -> None:
    record["tasks"]["mood"]["result"]["baselines"]["tfidf"]["f1_macro"] = baseline
    (value, _) = results_table(record).columns[2].cells
    assert (str(value), value.style) == ("0.611", colour)  # type: ignore[union-attr]


# The sentences


def test_the_sentences_say_on_which_rows_and_against_what(record: Record) -> None:
    first, *cautions = verdict(record)
    assert first == "On rows not trained on, mood lies clearly above TF-IDF; names lies clearly above lookup."
    assert cautions == ["names was measured on the dev rows that also chose the weights: expect less on new texts."]
    record["tasks"]["names"]["reported_on"] = "test"
    assert verdict(record) == ["On the test rows, mood lies clearly above TF-IDF; names lies clearly above lookup."]
    baselines = record["tasks"]["names"]["result"]["baselines"]
    baselines["a coin"] = baselines.pop("lookup")  # of a plugin's kind
    assert verdict(record) == ["On the test rows, mood lies clearly above TF-IDF; names lies clearly above a coin."]


@pytest.mark.parametrize(("probe", "below"), [(0.610, False), (0.611, False), (0.612, True)])
@pytest.mark.parametrize("kind", ["classification", "tagging"])
def test_what_the_encoder_knew_before_is_told_where_learning_lost_it(
    record: Record, probe: float, below: bool, kind: str
) -> None:
    record["tasks"]["mood"]["kind"] = kind
    record["tasks"]["mood"]["result"]["baselines"]["probe"]["f1_macro"] = probe
    few = 'preset = "few_labels", or ' if kind == "classification" else ""
    said = (
        "mood stays below what the encoder knew before (0.612, frozen encoder + logistic regression): try "
        f"{few}encoder.train_layers = 0 (the encoder stays as it is)."
    )
    assert (said in verdict(record)) == below
    assert any("stays below" in sentence for sentence in verdict(record)) == below


@pytest.mark.parametrize(
    ("config", "ways"),
    [
        pytest.param(("all", [FITTED, {}]), ", or ".join([FEW, FROZEN]), id="heads fitted, then all learned"),
        pytest.param(("all", [{**FITTED, "tasks": ["mood"]}, {}]), FROZEN, id="a head that cannot be fitted"),
        pytest.param(("all", [CONTRAST, FITTED]), FROZEN, id="few labels already"),
        pytest.param(("all", [FITTED]), "", id="heads alone already"),
        pytest.param((0, [FITTED, {}]), FEW, id="the encoder frozen already"),
        pytest.param(("all", [FITTED, {"train_layers": 2}]), "", id="phases of one's own"),
    ],
)
def test_nothing_is_advised_that_is_so_already(record: Record, config: Any, ways: str) -> None:
    layers, phases = config
    record["config"] = tomli_w.dumps({"encoder": {"train_layers": layers}, "phases": phases})
    record["tasks"]["mood"]["kind"] = "classification"
    record["tasks"]["mood"]["result"]["baselines"]["probe"]["f1_macro"] = 0.612
    (said,) = [sentence for sentence in verdict(record) if "stays below" in sentence]
    assert said.partition("): try ")[2] == (f"{ways}." if ways else "")
    assert said.endswith(f"{ways or 'logistic regression)'}.")


def test_more_epochs_of_training_are_not_advised_to_a_phase_that_has_its_own(record: Record) -> None:
    values = {1: 0.5, 2: 0.6}
    record["history"] = [
        {**record["history"][0], "phase": 1, "epoch": epoch, "dev": {"mood": value}} for epoch, value in values.items()
    ]
    for own, advice in (({"epochs": 2}, "a phase with more epochs"), ({"steps": 9}, "a phase with more steps")):
        record["config"] = tomli_w.dumps({"phases": [FITTED, own]})
        assert f"mood was still getting better in the last epoch: try {advice}." in verdict(record)
    record["config"] = tomli_w.dumps({"phases": [FITTED, {}]})
    assert "mood was still getting better in the last epoch: try training.epochs = 4." in verdict(record)


def test_dev_rows_that_chose_nothing_are_not_said_to_have_chosen(record: Record) -> None:
    record["tasks"]["names"]["chose_weights"] = False
    said = "names was measured on dev rows, which had no say in which weights were taken."
    assert verdict(record)[1:] == [said]
    assert said in render_card(record)


def test_weights_that_nothing_chose_are_called_the_last(record: Record) -> None:
    assert "A ring marks" in render(record)
    record["best"] = {"overall": {"step": 20}}
    page = render(record)
    assert shown(dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))["Ended"]).endswith(
        "the last weights, of step 20"
    )
    assert "A ring marks" not in page


def test_costs_on_probabilities_that_nothing_calibrated_are_told_with_what_to_do(record: Record) -> None:
    record["tasks"]["mood"]["uncalibrated_costs"] = True
    said = "mood weighs its costs with probabilities that are calibrated on nothing, since there were no dev rows"
    (found,) = [sentence for sentence in verdict(record) if sentence.startswith(said)]
    assert found.endswith("hold some out (tasks.mood.dev = 0.2), and train again.")


@pytest.mark.parametrize(
    ("phases", "values", "rising"),
    [
        pytest.param([1, 1, 1], [0.5, 0.6, 0.62], True, id="by two hundredths"),
        pytest.param([1, 1, 1], [0.5, 0.6, 0.605], False, id="by half a hundredth"),
        pytest.param([1, 1, 1], [0.5, 0.6, 0.55], False, id="getting worse"),
        pytest.param([0, 0, 1], [0.5, 0.6, 0.7], False, id="with the phase"),
        pytest.param([0, 1, 1], [0.7, 0.5, 0.6], True, id="within the phase"),
        pytest.param([], [], False, id="never measured"),
    ],
)
def test_a_task_that_was_still_getting_better_asks_for_more_epochs(
    record: Record, phases: list[int], values: list[float], rising: bool
) -> None:
    record["history"] = [
        {**record["history"][0], "phase": phase, "epoch": epoch, "dev": {"mood": value, "names": 0.5}}
        for epoch, (phase, value) in enumerate(zip(phases, values, strict=True), 1)
    ]
    said = "mood was still getting better in the last epoch: try training.epochs = 6."
    assert (said in verdict(record)) == rising
    assert any("getting better" in sentence for sentence in verdict(record)) == rising


def test_a_task_without_rows_to_report_on_was_not_measured_and_the_sentences_say_so(record: Record) -> None:
    for name in ("mood", "names"):
        record["tasks"][name] |= {"reported_on": "dev", "rows": {"train": 9, "dev": 0, "test": 0}}
        record["tasks"][name]["result"] |= {"rows": 0, "measures": {"scores": {}}, "baselines": {}}
    (said,) = verdict(record)
    assert said.startswith("mood and names were not measured: there is no test file, and all rows were needed to learn")
    assert 'a grid of base = "CONFIG" and folds = 5' in said
    assert "names were" in shown(render(record))
    del record["tasks"]["names"]
    (said,) = verdict(record)
    assert said.startswith("mood was not measured")


@pytest.mark.parametrize(("high", "wide"), [(0.7, False), (0.72, True)])
def test_an_interval_wider_than_a_fifth_is_a_reason_for_caution(record: Record, high: float, wide: bool) -> None:
    record["tasks"]["mood"]["result"]["measures"]["intervals"]["f1_macro"] = [0.511, high]
    said = "mood was measured on only 1,234 rows: its interval, 0.511 to 0.720, is wide."
    assert (said in verdict(record)) == wide


@pytest.mark.parametrize(("error", "off"), [(0.099, False), (0.101, True)])
def test_confidence_that_is_off_by_a_tenth_is_a_reason_for_caution(record: Record, error: float, off: bool) -> None:
    record["tasks"]["mood"]["result"]["measures"]["scores"]["calibration_error"] = error
    assert any("Confidence in mood is off by 0.101" in sentence for sentence in verdict(record)) == off


@pytest.mark.parametrize(("majority", "beaten"), [(0.510, True), (0.6, False), (0.8, False)])
def test_not_beating_the_commonest_answer_is_said(record: Record, majority: float, beaten: bool) -> None:
    record["tasks"]["mood"]["result"]["baselines"]["majority"]["f1_macro"] = majority
    beat = "mood has not been shown to beat one and the same answer for all rows"
    said = f"{beat}: 0.611 (0.511 to 0.711) against {majority:.3f}."
    assert (said not in verdict(record)) == beaten


def test_perplexities_are_told_beside_that_of_counting(record: Record) -> None:
    result = record["tasks"]["mood"]["result"]
    result["measures"]["scores"]["perplexity"] = 12.34
    result["baselines"]["majority"]["perplexity"] = 56.78
    said = "Perplexity of mood at masked words: 12.3; knowing only how common each token is, 56.8."
    assert verdict(record)[:2] == ["On the dev rows, names lies clearly above lookup.", said]
    assert "mood 0.611" not in tips(render(record), "Each task&#x27;s value, interval and baselines")
