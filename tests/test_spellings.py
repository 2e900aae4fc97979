"""Other spellings of labels: mapped before anything else sees an answer, wherever rows are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import weft
from checking import check, read_measured
from conftest import RunWeft
from weft.config.document import parse_experiment
from weft.errors import ConfigError
from weft.spec import parse
from weft.tasks import Task
from weft.tasks.base.spellings import respell
from weft.training.reading import read_examples
from weft.training.task_data import load_data

SPELLINGS = {"N/A": "", "pos": "positive", "1": "positive", "neg": "negative"}


@pytest.mark.parametrize(
    ("cell", "separator", "found"),
    [
        ("pos", None, "positive"),
        (" pos ", None, "positive"),
        (1, None, "positive"),
        ("N/A", None, ""),
        ("POS", None, "POS"),
        ("positive", None, "positive"),
        (None, None, None),
        ("pos|neg", None, "pos|neg"),
        ("pos|other", "|", ["positive", "other"]),
        (["neg", "N/A"], "|", ["negative", ""]),
        ("N/A", "|", ""),
        ("a|b", "|", "a|b"),
    ],
)
def test_a_cell_is_respelled(cell: Any, separator: str | None, found: Any) -> None:
    assert respell(cell, SPELLINGS, separator)[0] == found


def rows_file(path: Path, labels: list[str]) -> None:
    path.write_text("text,label\n" + "".join(f"the fox {n},{label}\n" for n, label in enumerate(labels)))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows_file(tmp_path / "train.csv", ["pos", "positive", "N/A", "neg", "1"] * 4)
    rows_file(tmp_path / "dev.csv", ["pos", "negative", "N/A"])
    rows_file(tmp_path / "test.csv", ["1", "neg", "N/A", "positive"])
    return tmp_path


def document(**options: Any) -> dict[str, Any]:
    task = {"kind": "classification", "train": "train.csv", "dev": "dev.csv", "test": "test.csv", "map": SPELLINGS}
    return {"tasks": {"t": {**task, **options}}}


def test_every_split_is_read_in_one_spelling_and_without_what_is_no_answer(files: Path) -> None:
    splits = load_data(parse_experiment(document()).tasks, files, 0)["t"]
    assert [row.gold for row in splits.train] == ["positive", "positive", "negative", "positive"] * 4
    assert [row.gold for row in splits.dev] == ["positive", "negative"]
    assert [row.gold for row in splits.test] == ["positive", "negative", "positive"]


def test_spellings_that_occur_nowhere_are_a_note(files: Path) -> None:
    more = {**SPELLINGS, "n/a": "", "plus": "positive"}
    found = check(parse_experiment(document(map=more)), files)
    notes = [finding for finding in found if finding.path == "tasks.t.map"]
    assert [note.severity for note in notes] == ["note", "note"]
    assert [note.message for note in notes] == [f"{name!r} occurs in none of the files" for name in ("n/a", "plus")]
    (counted,) = [
        finding.message for finding in found if finding.path == "tasks.t.train" and "(map)" in finding.message
    ]
    assert counted == "train.csv: 16 labels are spelled otherwise (map)"
    assert any("4 of 20 (20.0 %) rows have no answer" in finding.message for finding in found)


def test_a_model_keeps_its_spellings_for_evaluation(files: Path, small_encoder: str, run_weft: RunWeft) -> None:
    options = {"encoder": {"from": small_encoder}, "phases": [{}], "training": {"epochs": 1}}
    model = weft.train({**document(), **options}, files / "model", data=files)
    for results in (model.evaluate(files / "test.csv"), weft.load(files / "model").evaluate(files / "test.csv")):
        assert results["t"].rows == 3
    code, out, err = run_weft("evaluate", files / "model")
    assert code == 0, err
    assert "3" in out


def test_pairs_have_spellings_too() -> None:
    task = parse(Task, {"kind": "pair_classification", "map": {"1": "yes"}})
    assert task.respell("1") == ("yes", ["1"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"map": {" ": "x"}}, "a blank cell is no answer already"),
        ({"map": {"pos": "positive"}, "labels": ["good", "bad"]}, "map gives 'positive', which labels does not list"),
        ({"map": {"pos": 3}}, "map"),
        ({"map": "pos"}, "map"),
    ],
)
def test_spellings_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_experiment({"tasks": {"t": {"kind": "classification", "train": "a.csv", **options}}})
    assert message in str(caught.value)


def test_a_blank_cell_says_that_no_label_applies_where_the_config_says_so(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('text,label\na fox,"x|y"\na dog,\nno dog,N/A\n', encoding="utf-8")
    spelled = {"kind": "classification", "multilabel": True, "map": {"N/A": ""}}
    task = parse(Task, {**spelled, "blank": "none"})
    for read in (read_examples, read_measured):  # to learn from, and to measure on
        assert [(row.gold, row.line) for row in read(task, tmp_path / "rows.csv")] == [(("x", "y"), 2), ((), 3)]
        assert [row.gold for row in read(parse(Task, spelled), tmp_path / "rows.csv")] == [("x", "y")]


def test_an_object_without_the_key_has_no_answer_whatever_a_blank_cell_says(tmp_path: Path) -> None:
    rows = '{"text": "a", "label": "x|y"}\n{"text": "b"}\n{"text": "c", "label": null}\n'
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    task = parse(Task, {"kind": "classification", "multilabel": True, "blank": "none"})
    assert [row.line for row in read_examples(task, tmp_path / "rows.jsonl")] == [1, 3]


def test_of_exactly_one_label_a_blank_cell_cannot_say_none() -> None:
    with pytest.raises(ConfigError, match="blank does nothing here: a row has exactly one label"):
        parse(Task, {"kind": "classification", "blank": "none"})
