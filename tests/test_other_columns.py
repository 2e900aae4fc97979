"""Rows whose columns are called otherwise than those that a model was trained with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import weft
from conftest import RunWeft
from weft.errors import ConfigError, DataError
from weft.model.embed import load_encoder
from weft.model.folder import save_network
from weft.model.network import Network
from weft.model.other_columns import read_answer_columns, read_text_columns
from weft.spec import parse
from weft.tasks import Task

TEXTS = ["the quick fox", "a lazy dog", "over the lazy dog"]
TASKS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "mood": ({"kind": "classification", "text": "message", "label": "mood"}, ["calm", "angry"]),
    "stars": ({"kind": "regression", "text": "message", "score": "stars"}, [1.0, 5.0]),
    "names": ({"kind": "tagging", "decoder": "constrained"}, [((0, 3, "animal"),)]),
    "links": ({"kind": "relations", "spans_from": "names"}, [(((0, 3), (4, 7), "eases"),)]),
    "same": ({"kind": "pair_classification", "label": "same"}, ["no", "yes"]),
}


@pytest.fixture(scope="module")
def model(small_encoder: str) -> weft.Model:
    source = load_encoder(small_encoder)
    source.encoder.pooler = None
    tasks = {name: parse(Task, options) for name, (options, _) in TASKS.items()}
    torch.manual_seed(3)
    targets = {name: tasks[name].target().fit(golds) for name, (_, golds) in TASKS.items()}
    return weft.Model(Network(source.encoder, source.tokenizer, tasks, targets))


@pytest.fixture(scope="module")
def folder(model: weft.Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    save_network(model.network, place := tmp_path_factory.mktemp("models") / "model")
    return place


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    file = tmp_path / "tickets.csv"
    file.write_text("message\n" + "".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    return file


def answers(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_task_left_out_over_its_column_is_named_with_the_option_that_mends_it(
    run_weft: RunWeft, folder: Path, tickets: Path, tmp_path: Path
) -> None:
    code, _, err = run_weft("predict", folder, "--input", tickets, "--output", tmp_path / "a.jsonl")
    assert code == 0
    said = "left out: tasks 'names', 'links' read the column 'text'; to read another: --column names=NAME"
    assert said in err
    assert ", and so for links" in err
    assert "--column same=NAME,NAME" in err


def test_tasks_that_lack_the_same_column_are_named_at_once_with_the_option_for_all(
    run_weft: RunWeft, folder: Path, tmp_path: Path
) -> None:
    (file := tmp_path / "new.csv").write_text("body,label\nthe quick fox,x\n", encoding="utf-8")
    code, _, err = run_weft("predict", folder, "--input", file, "--task", "mood", "--task", "stars")
    assert code == 1
    assert "new.csv: tasks 'mood', 'stars' read the column 'message'; its columns are: body, label" in err
    assert err.rstrip().endswith("to read another: --column NAME, in Python columns=NAME")


def test_long_says_which_task_was_left_out_over_its_column(
    run_weft: RunWeft, folder: Path, tickets: Path, tmp_path: Path
) -> None:
    code, _, err = run_weft("predict", folder, "--input", tickets, "--long", "--output", tmp_path / "a.csv")
    assert code == 1
    assert err.index("--column names=NAME") < err.index("--long needs a task that marks words")


@pytest.mark.parametrize("option", ["names=message", "message"])
def test_a_column_that_is_named_is_read_as_the_one_that_was_trained_with(
    run_weft: RunWeft, folder: Path, model: weft.Model, tickets: Path, tmp_path: Path, option: str
) -> None:
    place = tmp_path / "a.jsonl"
    code, _, err = run_weft("predict", folder, "--input", tickets, "--column", option, "--output", place)
    assert code == 0, err
    assert "task 'names'" not in err
    assert [row["names"] for row in answers(place)] == model.predict(TEXTS, "names")
    found = [row["mood"]["score"] for row in answers(place)]
    assert found == pytest.approx([one["score"] for one in model.predict(TEXTS, "mood")])


def test_a_column_of_a_task_goes_before_the_column_of_all(model: weft.Model) -> None:
    found = read_text_columns(model.network, ["mood=b", "a", 'same="x, y",z'])
    assert found == {"mood": ("b",), "stars": ("a",), "names": ("a",), "links": ("a",), "same": ("x, y", "z")}


def test_rows_in_memory_are_read_by_other_columns(model: weft.Model) -> None:
    rows = [{"body": text, "left": text, "right": "a fox", "tokens": ["no"], "": "no"} for text in TEXTS]
    assert model.predict(rows, "names", columns={"names": "body"}) == model.predict(TEXTS, "names")
    assert model.predict(rows, "mood", columns="body") == model.predict(TEXTS, "mood")
    pairs = [(text, "a fox") for text in TEXTS]
    assert model.predict(rows, "same", columns={"same": ("left", "right")}) == model.predict(pairs, "same")
    assert model.network.tasks["mood"].text_columns() == ("message",)  # only for these rows


def test_words_in_another_column_are_read_as_words(model: weft.Model) -> None:
    rows = [{"parts": text.split()} for text in TEXTS]
    assert model.predict(rows, "names", columns={"names": "parts"}) == model.predict(
        [{"tokens": text.split()} for text in TEXTS], "names"
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"nobody": "body"}, "no task 'nobody'"),
        ({"same": "body"}, "the task 'same' reads 2 columns, but received 1"),
        ({"mood": ("body", "text")}, "the task 'mood' reads 1 column, but received 2"),
        ({"mood": "bodi"}, "task 'mood' reads the column 'bodi'"),
    ],
)
def test_columns_that_cannot_be_read_are_refused(model: weft.Model, columns: Any, message: str) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        model.predict([{"body": text, "message": text, "text": text} for text in TEXTS], columns=columns)


def test_texts_have_no_columns(model: weft.Model) -> None:
    with pytest.raises(ConfigError, match="columns are of a frame"):
        model.predict(TEXTS, "mood", columns="body")


def test_one_column_is_not_two_texts(model: weft.Model) -> None:
    network = model.network
    same = Network(network.encoder, network.tokenizer, {"same": network.tasks["same"]}, network.targets)
    with pytest.raises(ConfigError, match="all tasks read two; name both: same=NAME,NAME"):
        read_text_columns(same, ["body"])


@pytest.mark.parametrize(
    ("written", "message"),
    [(["a", "b"], "--column is given 2 times without a task"), (["mod=a"], "no task 'mod'.*did you mean 'mood'")],
)
def test_columns_whose_task_is_not_clear_are_refused(model: weft.Model, written: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_text_columns(model.network, written)


@pytest.mark.parametrize("source", [["--text", "fox"], ["--input", "lines.txt"]])
def test_what_has_no_columns_has_none_to_name(
    run_weft: RunWeft, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: list[str]
) -> None:
    (tmp_path / "lines.txt").write_text("fox\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code, _, err = run_weft("predict", folder, *source, "--column", "body")
    assert code == 1
    assert "--column is for a file that has columns" in err


def test_inspect_reads_another_column(run_weft: RunWeft, folder: Path, tickets: Path) -> None:
    options = ["--task", "names", "--input", tickets, "--no-leave-out"]
    assert run_weft("inspect", folder, *options)[0] == 1
    code, out, err = run_weft("inspect", folder, *options, "--column", "message")
    assert code == 0, err
    assert "quick" in out


GOLD = {
    "mood": ["calm", "angry", "calm"],
    "stars": [1, 5, 3],
    "names": [[[4, 9, "animal"]], [], []],
    "links": [[], [], []],
    "same": ["no", "yes", "no"],
}


@pytest.mark.parametrize("task", GOLD)
def test_answers_in_another_column_are_measured_as_those_in_the_tasks_own(model: weft.Model, task: str) -> None:
    texts = [{"message": text, "text": text, "sentence1": text, "sentence2": "a fox"} for text in TEXTS]
    spans = [{"spans": [[0, 1, "x"], [2, 3, "x"]]} if task == "links" else {} for _ in TEXTS]
    own = {"names": "entities", "links": "relations"}.get(task, task)
    rows = [{**one, **more} for one, more in zip(texts, spans, strict=True)]
    trained = [{**row, own: gold} for row, gold in zip(rows, GOLD[task], strict=True)]
    given = [{**row, "gold": gold} for row, gold in zip(rows, GOLD[task], strict=True)]
    expected = model.evaluate(trained, task)[task]
    for label in ({task: "gold"}, "gold"):
        assert model.evaluate(given, task, label=label)[task] == expected


def test_tags_in_another_column_are_known_by_their_looks(model: weft.Model) -> None:
    tags: list[Any] = [None, ["O", "B-animal"], ["O", "B-animal", "O"]]
    rows = [{"tokens": text.split()[: len(tag or "ab")]} for text, tag in zip(TEXTS, tags, strict=True)]
    expected = model.evaluate([{**row, "tags": tag} for row, tag in zip(rows, tags, strict=True)], "names")
    given = [{**row, "ner": tag} for row, tag in zip(rows, tags, strict=True)]
    assert model.evaluate(given, "names", label="ner") == expected
    assert expected["names"].rows == 2
    others = [{**row, "message": "a fox", "mood": "calm"} for row in given]
    assert model.evaluate(others, ["names", "mood"], label={"names": "ner"})["mood"].rows == 3  # none is lost


def test_evaluate_reads_texts_and_answers_in_other_columns(
    run_weft: RunWeft, folder: Path, model: weft.Model, tmp_path: Path
) -> None:
    file, scores = tmp_path / "gold.csv", tmp_path / "scores.json"
    file.write_text("Body,Mood\n" + "".join(f"{t},{m}\n" for t, m in zip(TEXTS, GOLD["mood"], strict=True)), "utf-8")
    measured = ["evaluate", folder, "--data", file, "--task", "mood", "--json", scores]
    code, _, err = run_weft(*measured, "--column", "Body")
    assert code == 1
    assert "task 'mood' has its answers in the column 'mood'" in err
    assert "to read another: --label mood=NAME" in err
    code, _, err = run_weft(*measured, "--column", "Body", "--label", "Mood")
    assert code == 0, err
    rows = [{"message": text, "mood": mood} for text, mood in zip(TEXTS, GOLD["mood"], strict=True)]
    expected = model.evaluate(rows, "mood")["mood"].measures.scores
    assert json.loads(scores.read_text("utf-8")) == {"mood": pytest.approx(expected)}


def test_a_model_is_not_measured_against_its_own_answers(
    run_weft: RunWeft, folder: Path, model: weft.Model, tmp_path: Path
) -> None:
    gold, own = tmp_path / "gold.csv", tmp_path / "own.csv"
    gold.write_text("message,mood\n" + "".join(f"{t},{m}\n" for t, m in zip(TEXTS, GOLD["mood"], strict=True)), "utf-8")
    assert run_weft("predict", folder, "--task", "mood", "--input", gold, "--output", own)[0] == 0
    code, _, err = run_weft("evaluate", folder, "--data", own)
    assert code == 1
    assert (
        "the column 'mood' holds answers of a model to the task 'mood', which would be measured against itself" in err
    )
    assert "to measure on that: --label mood=input.mood, in Python" in err
    rows = [{"message": text, "mood": "calm", "input.mood": "angry"} for text in TEXTS]
    with pytest.raises(DataError, match="measured against itself"):
        model.evaluate(rows)
    scores = tmp_path / "scores.json"
    for asked, expected in ((["--label", "mood=input.mood"], GOLD["mood"]), (["--label", "mood=mood"], None)):
        code, _, err = run_weft("evaluate", folder, "--task", "mood", "--data", own, "--json", scores, *asked)
        assert code == 0, err
        assert "may hold a model's answers" not in err
        found = json.loads(scores.read_text("utf-8"))["mood"]["accuracy"]
        given = [one["label"] for one in model.predict(TEXTS, task="mood")]
        assert found == pytest.approx(sum(a == b for a, b in zip(given, expected or given, strict=True)) / 3)


def test_what_may_be_answers_of_a_model_is_measured_with_a_note(
    run_weft: RunWeft, folder: Path, tickets: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.csv"
    assert run_weft("predict", folder, "--task", "mood", "--input", tickets, "--output", own)[0] == 0
    code, _, err = run_weft("evaluate", folder, "--task", "mood", "--data", own)
    assert code == 0
    said = "mood: 'mood' may hold a model's answers and no gold: mood_score, truncated and empty stand beside"
    assert said in " ".join(err.split())


def test_a_column_of_answers_belongs_to_one_task(model: weft.Model) -> None:
    with pytest.raises(ConfigError, match="'gold' holds the answers of which task"):
        read_answer_columns(model.network, ["gold"], ["mood", "stars"])
    assert read_answer_columns(model.network, ["gold", "stars=points"], ["mood"]) == {"mood": "gold", "stars": "points"}


def test_answers_that_were_asked_for_and_are_not_there_are_an_error(model: weft.Model) -> None:
    rows = [{"message": text, "mood": mood} for text, mood in zip(TEXTS, GOLD["mood"], strict=True)]
    with pytest.raises(DataError, match="no column 'points', which was named for the answers of the task 'stars'"):
        model.evaluate(rows, label={"stars": "points"})


def test_tasks_of_raw_text_have_no_column_of_answers(small_encoder: str) -> None:
    source = load_encoder(small_encoder)
    task = parse(Task, {"kind": "masked_words"})
    network = Network(source.encoder, source.tokenizer, {"words": task}, {"words": task.target().fit([])})
    with pytest.raises(ConfigError, match="makes its own answers"):
        read_answer_columns(network, ["words=gold"], ["words"])
    with pytest.raises(ConfigError, match="has no option 'label'"):
        task.with_answer("gold", "x")


def test_a_kept_model_of_words_is_measured_on_columns_of_ones_own(
    run_weft: RunWeft, small_encoder: str, tmp_path: Path
) -> None:
    file, kept = tmp_path / "topics.csv", tmp_path / "first"
    file.write_text("Abstract,Topic\nthe quick fox,fox\na lazy dog,dog\n", encoding="utf-8")
    asked = ["--labels", "fox, dog", "--input", file, "--column", "label=Abstract", "--save", kept]
    assert run_weft("predict", small_encoder, *asked, "--output", tmp_path / "a.csv")[0] == 0
    code, out, err = run_weft("evaluate", kept, "--data", file, "--label", "Topic")
    assert code == 0, err
    assert "accuracy" in out
    twice = ["--labels", "fox, dog", "--input", file, "--column", "Abstract", "--column", "Topic"]
    code, _, err = run_weft("predict", small_encoder, *twice)
    assert code == 2
    assert "--labels reads one column" in err
