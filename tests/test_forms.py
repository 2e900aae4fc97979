"""Answers as people want them: plain columns, the likeliest labels, a row per span, words with tags, chosen columns."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from conftest import RunWeft
from weft.data.formats import read_rows
from weft.data.predictions import LabelPrediction, LabelsPrediction, PredictedSpan, ScorePrediction, SpansPrediction
from weft.errors import ConfigError
from weft.model.embed import load_encoder
from weft.model.folder import save_network
from weft.model.inputs import read_inputs
from weft.model.limits import read_limits
from weft.model.network import Network
from weft.model.predict import predict_rows
from weft.spec import parse
from weft.tasks import Task

TEXTS = ["the quick fox", "a lazy dog jumps", "over the brown dog"]
TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "size": ({"kind": "classification"}, ["1", "2", "3"]),
    "topics": ({"kind": "classification", "multilabel": True, "separator": ";"}, [("a",), ("a", "b")]),
    "alike": ({"kind": "similarity"}, [0.0, 5.0]),
    "parts": ({"kind": "tagging", "scheme": "plain", "decoder": "greedy"}, [((0, 3, "noun"), (4, 7, "verb"))]),
    "names": ({"kind": "tagging", "decoder": "constrained"}, [((0, 3, "animal"),)]),
    "inner": ({"kind": "spans", "max_width": 2}, [((0, 3, "x"), (0, 7, "y"))]),
}


@pytest.fixture(scope="module")
def network(small_encoder: str) -> Network:
    source = load_encoder(small_encoder)
    source.encoder.pooler = None
    tasks = {name: parse(Task, options) for name, (options, _) in TASKS.items()}
    torch.manual_seed(3)
    targets = {name: tasks[name].target().fit(golds) for name, (_, golds) in TASKS.items()}
    return Network(source.encoder, source.tokenizer, tasks, targets).eval()


@pytest.fixture(scope="module")
def folder(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    save_network(network, place := tmp_path_factory.mktemp("models") / "model")
    return place


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("id,text\n" + "".join(f"{n},{t}\n" for n, t in enumerate(TEXTS)), encoding="utf-8")
    return tmp_path / "in.csv"


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def nested(network: Network, source: Path, *tasks: str) -> list[dict[str, Any]]:
    return list(predict_rows(network, read_inputs(network, tasks, file=source)))


def spans(rows: list[dict[str, Any]], task: str) -> list[dict[str, Any]]:
    return [{"id": row["id"], **span} for row in rows for span in row[task]]


# Tables


def test_a_table_has_plain_columns(run_weft: RunWeft, folder: Path, network: Network, source: Path) -> None:
    output = source.with_name("out.csv")
    asked = ("--task", "size", "--task", "topics", "--task", "names", "--top", 2, "--scores")
    code, _, err = run_weft("predict", folder, "--input", source, "--output", output, *asked)
    assert code == 0, err
    found, expected = table(output), nested(network, source, "size", "topics", "names")
    named = ["size", "size_score", "size_2", "size_2_score", "size_score_1", "size_score_2", "size_score_3", "topics"]
    assert list(found[0]) == ["id", "text", *named, "topics_score_a", "topics_score_b", "names", "truncated", "empty"]
    assert [row["size"] for row in found] == [row["size"]["label"] for row in expected]
    assert [row["topics"] for row in found] == [";".join(row["topics"]["labels"]) for row in expected]
    assert [json.loads(row["names"]) for row in found] == [row["names"] for row in expected]
    for row in found:
        ranked = sorted("123", key=lambda label: -float(row[f"size_score_{label}"]))
        assert [row["size"], row["size_2"]] == ranked[:2]


def test_json_lines_stay_nested_and_have_the_likeliest_labels_beside(
    run_weft: RunWeft, folder: Path, network: Network, source: Path
) -> None:
    _, out, _ = run_weft("predict", folder, "--input", source, "--task", "size", "--task", "topics")
    assert [json.loads(line) for line in out.splitlines()] == nested(network, source, "size", "topics")
    _, out, _ = run_weft("predict", folder, "--input", source, "--task", "size", "--task", "topics", "--top", 2)
    for row in map(json.loads, out.splitlines()):
        assert {"label": row["size"]["label"], "score": row["size"]["score"]} == row["size"]["top"][0]
        assert len(row["size"]["top"]) == 2
        assert set(row["topics"]) == {"labels"}


def test_a_column_that_is_called_as_a_score_makes_way(run_weft: RunWeft, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,size_score,size_2\nthe fox,mine,mine\n", encoding="utf-8")
    output = tmp_path / "out.csv"
    code, _, err = run_weft("predict", folder, "--input", tmp_path / "in.csv", "--task", "size", "--output", output)
    assert code == 0
    assert "'size_score' is kept as 'input.size_score'" in err
    (row,) = table(output)
    assert (row["input.size_score"], row["size_2"]) == ("mine", "mine")  # without --top nothing else is called so


# Spans


def test_long_is_a_row_per_span(run_weft: RunWeft, folder: Path, network: Network, source: Path) -> None:
    output = source.with_name("out.csv")
    code, _, err = run_weft(
        "predict", folder, "--input", source, "--output", output, "--long", "--task", "names", "--task", "size"
    )
    assert code == 0, err
    rows = nested(network, source, "names", "size")
    expected = spans(rows, "names")
    assert expected
    found = table(output)
    header = ["id", "input.text", "size", "size_score", "truncated", "empty", "start", "end", "text", "label", "score"]
    assert list(found[0]) == header
    assert [{k: str(row[k]) for k in ("id", "start", "end", "text", "label")} for row in expected] == [
        {k: row[k] for k in ("id", "start", "end", "text", "label")} for row in found
    ]
    assert [row["score"] for row in found] == [f"{row['score']:.6g}" for row in expected]
    assert [row["size"] for row in found] == [rows[int(row["id"])]["size"]["label"] for row in found]


def test_long_says_whose_a_span_is_where_several_tasks_mark_some(
    run_weft: RunWeft, folder: Path, network: Network, source: Path
) -> None:
    _, out, _ = run_weft("predict", folder, "--input", source, "--long", "--task", "names", "--task", "parts")
    rows = nested(network, source, "names", "parts")
    found = [json.loads(line) for line in out.splitlines()]
    for task in ("names", "parts"):
        assert len([row for row in found if row["task"] == task]) == len(spans(rows, task))


def test_long_has_its_columns_also_where_no_text_has_a_span(run_weft: RunWeft, folder: Path, source: Path) -> None:
    output, asked = source.with_name("out.csv"), ("--long", "--task", "names", "--task", "size")
    given = ("predict", folder, "--input", source, "--output", output, *asked, "--threshold", "names=1")
    code, _, err = run_weft(*given)
    assert code == 0, err
    assert "0 rows →" in err
    header = "id,input.text,size,size_score,truncated,empty,start,end,text,label,score"
    assert output.read_text(encoding="utf-8").splitlines() == [header]
    code, _, err = run_weft(*given, "--columns", "label,id")
    assert code == 0, err
    assert output.read_text(encoding="utf-8").splitlines() == ["label,id"]
    code, _, err = run_weft(*given, "--columns", "label,ix")
    assert code == 1
    assert "there is no column 'ix' to write" in err


def test_a_table_has_the_columns_of_conll_words_once(run_weft: RunWeft, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in.conll").write_text("the DT O\nfox NN B-animal\n\n", encoding="utf-8")
    output = tmp_path / "out.csv"
    code, _, err = run_weft("predict", folder, "--input", tmp_path / "in.conll", "--output", output, "--task", "names")
    assert code == 0, err
    assert list(table(output)[0]) == ["tokens", "tags", "column2", "names", "truncated", "empty"]


def test_long_needs_a_task_that_marks_something(run_weft: RunWeft, folder: Path, source: Path) -> None:
    code, out, err = run_weft("predict", folder, "--input", source, "--long", "--task", "size")
    assert (code, out) == (1, "")
    assert "--long needs a task that marks words or spans, but the answered ones are: size" in err


@pytest.mark.parametrize("tasks", [("names",), ("parts",), ("parts", "names")])
def test_conll_has_the_words_and_a_column_of_tags_per_task(
    run_weft: RunWeft, folder: Path, network: Network, source: Path, tasks: tuple[str, ...]
) -> None:
    output = source.with_name("out.conll")
    asked = [argument for task in tasks for argument in ("--task", task)]
    code, _, err = run_weft("predict", folder, "--input", source, "--output", output, *asked)
    assert code == 0, err
    rows = nested(network, source, *tasks)
    found = list(read_rows(output))
    assert [row.columns["tokens"] for row in found] == [text.split() for text in TEXTS]
    for number, task in enumerate(tasks, 2):
        for row, answer in zip(found, rows, strict=True):
            tags = row.columns[f"column{number}"]
            if task == "parts":
                assert tags == [span["label"] for span in answer[task]]
            else:
                begins = [tag.startswith("B-") for tag in tags]
                assert sum(begins) == len(answer[task])
                assert tags == ["O" if tag == "O" else f"{tag[:2]}animal" for tag in tags]


def test_conll_keeps_the_words_of_the_data(run_weft: RunWeft, folder: Path, tmp_path: Path) -> None:
    words = [["the", "quick fox", "\u200b", "dog"], ["a"]]  # one of two words, and one without a token
    lines = "".join(json.dumps({"tokens": tokens}) + "\n" for tokens in words)
    (tmp_path / "in.jsonl").write_text(lines, encoding="utf-8")
    output = tmp_path / "out.conll"
    code, _, err = run_weft("predict", folder, "--input", tmp_path / "in.jsonl", "--output", output, "--task", "names")
    assert code == 0, err
    found = list(read_rows(output))
    assert [row.columns["tokens"] for row in found] == words
    assert found[0].columns["tags"][2] == "O"


def test_conll_refuses_what_tags_cannot_say(
    run_weft: RunWeft, folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nested = SpansPrediction((PredictedSpan(0, 3, "x"), PredictedSpan(0, 9, "y")))
    monkeypatch.setattr("weft.targets.spans.FittedSpans.decode", lambda self, scores, rows: [nested for _ in rows])
    output = source.with_name("out.conll")
    code, _, err = run_weft("predict", folder, "--input", source, "--output", output, "--task", "inner")
    assert code == 1
    assert "line 2: the task 'inner' marks spans that overlap" in " ".join(err.split())
    assert not output.exists()
    code, _, err = run_weft("predict", folder, "--input", source, "--output", output, "--task", "names", "--long")
    assert code == 2
    assert "leave out --long" in " ".join(err.split())


# Chosen columns


def test_columns_are_chosen_and_put_in_order(run_weft: RunWeft, folder: Path, source: Path) -> None:
    output = source.with_name("out.csv")
    chosen = ("--task", "size", "--columns", "size, id")
    assert run_weft("predict", folder, "--input", source, "--output", output, *chosen)[0] == 0
    assert list(table(output)[0]) == ["size", "id"]
    _, out, _ = run_weft("predict", folder, "--input", source, *chosen)
    assert [list(json.loads(line)) for line in out.splitlines()] == [["size", "id"]] * 3


def test_a_column_that_is_not_there_is_one_message(run_weft: RunWeft, folder: Path, source: Path) -> None:
    output = source.with_name("out.csv")
    code, _, err = run_weft(
        "predict", folder, "--input", source, "--output", output, "--task", "size", "--columns", "size,texts"
    )
    assert (code, output.exists()) == (1, False)
    assert "there is no column 'texts' to write; its columns are: id, text, size, size_score" in " ".join(err.split())
    for wrong in ("size,,id", "id,id", ""):
        assert run_weft("predict", folder, "--input", source, "--columns", wrong)[0] == 2


def test_objects_may_leave_chosen_columns_out_but_not_all_of_them(
    run_weft: RunWeft, folder: Path, tmp_path: Path
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "a fox"}\n{"text": "a dog", "id": 2}\n', encoding="utf-8")
    _, out, _ = run_weft("predict", folder, "--input", source, "--task", "size", "--columns", "id")
    assert [json.loads(line) for line in out.splitlines()] == [{"id": None}, {"id": 2}]
    code, _, err = run_weft("predict", folder, "--input", source, "--task", "size", "--columns", "ids")
    assert code == 1
    assert "there is no column 'ids' to write: no row has it" in err


# Thresholds

ONE = LabelPrediction("b", 0.4, {"a": 0.35, "b": 0.4, "c": 0.25})


def test_an_answer_below_the_threshold_is_none_and_keeps_its_score() -> None:
    assert ONE.limited(0.4) == ONE
    withheld = ONE.limited(0.41)
    assert withheld.to_dict() == {"label": None, "score": 0.4}
    assert withheld.cells(top=2) == {"": None, "_score": 0.4, "_2": "a", "_2_score": 0.35}
    assert withheld.in_words() == "no answer"


def test_a_label_with_a_threshold_is_given_from_there_on() -> None:
    assert ONE.limited(0.2, "c").to_dict() == {"label": "c", "score": 0.25}
    assert ONE.limited(0.3, "c") == ONE
    assert ONE.limited(0.5, "b").to_dict() == {"label": "a", "score": 0.35}


def test_many_labels_are_given_from_the_threshold_on() -> None:
    many = LabelsPrediction(("a",), {"a": 0.6, "b": 0.4, "c": 0.1}, ";")
    assert many.limited(0.3) == LabelsPrediction(("a", "b"), many.scores, ";")
    assert many.limited(0.7, "a") == LabelsPrediction((), many.scores, ";")
    assert many.limited(0.1, "c") == LabelsPrediction(("a", "c"), many.scores, ";")


def test_spans_below_the_threshold_go() -> None:
    x, y = PredictedSpan(0, 1, "x", "a", 0.5), PredictedSpan(2, 3, "y", "b", 0.9)
    assert SpansPrediction((x, y)).limited(0.6) == SpansPrediction((y,))
    assert SpansPrediction((x, y)).limited(0.95, "x") == SpansPrediction((y,))
    assert ScorePrediction(1.0).limited(2.0) == ScorePrediction(1.0)


def test_thresholds_reach_the_answers(run_weft: RunWeft, folder: Path, source: Path) -> None:
    limits = ("--threshold", "size=1", "--threshold", "topics=0", "--threshold", "names=animal=1")
    tasks = ("--task", "size", "--task", "topics", "--task", "names")
    for more in ((), ("--sort", "size=1")):
        _, out, err = run_weft("predict", folder, "--input", source, *tasks, *limits, *more)
        rows = [json.loads(line) for line in out.splitlines()]
        assert len(rows) == 3, err
        assert all(row["size"]["label"] is None and 0 < row["size"]["score"] < 1 for row in rows)
        assert all(row["topics"]["labels"] == ["a", "b"] and not row["names"] for row in rows)


def test_every_wrong_threshold_is_named(network: Network) -> None:
    wrong = ("size", "size=much", "size=1.5", "sizes=0.5", "size=4=0.5", "alike=0.5", "parts=0.5")
    with pytest.raises(ConfigError) as caught:
        read_limits(network, wrong, ["size", "alike"])
    messages = [
        "must be TASK=NUMBER or TASK=LABEL=NUMBER",
        "must end with a number",
        "1.5 is no probability; allowed: from 0 to 1",
        "no task 'sizes'",
        "'size' has no such label",
        "no probability",
        "'parts' is not answered here",
    ]
    for fault, given, message in zip(caught.value.faults, wrong, messages, strict=True):
        assert fault.startswith(f"--threshold {given}: ")
        assert message in fault
