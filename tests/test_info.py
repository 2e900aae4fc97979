"""`weft info`: a model in one screen, or as JSON; kind errors for what is none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import weft
from conftest import RunWeft, tiny_tokenizer
from shared_runs import FOX, TAGS, make_files, runner
from weft.reports.model_info import read_model_info
from weft.reports.model_info_terminal import info_screen
from weft.reports.record import read_record

COSTS = {"yes": {"no": 7.0}}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, small_encoder: str) -> Path:
    """A model of a task with costs and of tagged words, with label attention."""
    folder = make_files(tmp_path_factory.mktemp("info"), tiny_tokenizer("wordpiece"))
    fox = {**FOX, "test": "test.csv", "costs": COSTS}
    config = {"tasks": {"fox": fox, "words": TAGS}, "conditioning": "label_attention", "training": {"epochs": 1}}
    return runner(folder, small_encoder)(config)


def test_a_model_is_told_as_json_as_its_record_has_it(trained: Path, run_weft: RunWeft) -> None:
    code, out, _ = run_weft("info", trained, "--json")
    told, record = json.loads(out), read_record(trained)
    fox = told["tasks"]["fox"]
    assert code == 0
    assert (fox["kind"], fox["labels"], fox["metric"], fox["costs"]) == (
        "classification",
        ["no", "yes"],
        "f1_macro",
        COSTS,
    )
    assert (fox["value"], tuple(fox["interval"])) == (record.tasks["fox"].value, record.tasks["fox"].interval)
    assert (fox["rows"], fox["reported_on"], fox["calibrated"]) == (32, "test", True)
    assert told["tasks"]["words"]["labels"] == ["x"]
    assert told["conditioning"] == "label_attention"
    assert (told["weft"], told["created"], told["seed"]) == (weft.__version__, record.created, record.seed)
    assert record.encoder is not None
    assert (told["encoder"]["parameters"], told["added_parameters"]) == (
        record.encoder.parameters,
        record.added_parameters,
    )
    assert told["bytes"] == sum(path.stat().st_size for path in trained.iterdir() if path.is_file())


def test_a_screen_says_the_same(trained: Path, run_weft: RunWeft) -> None:
    code, out, _ = run_weft("info", trained)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert code == 0
    assert lines[0] == f"{trained}: a model of 2 tasks"
    assert any(line.startswith("fox classification f1_macro") and line.endswith("32 test") for line in lines)
    assert "labels of fox no, yes" in lines
    assert "costs of fox yes as no 7" in lines
    assert "conditioning label_attention" in lines
    assert any(line.startswith("trained 20") and f"by weft {weft.__version__} in" in line for line in lines)


def test_a_model_without_a_record_says_what_is_not_known(trained: Path, run_weft: RunWeft, tmp_path: Path) -> None:
    weft.load(trained).save(tmp_path / "copy")
    _, out, _ = run_weft("info", tmp_path / "copy")
    assert "not known: the folder has no record of a run" in out
    told = json.loads(run_weft("info", tmp_path / "copy", "--json")[1])
    assert (told["tasks"]["fox"]["value"], told["tasks"]["fox"]["calibrated"], told["created"]) == (None, None, None)
    assert told["tasks"]["fox"]["metric"] == "f1_macro"


def test_labels_that_could_be_texts_have_other_names(run_weft: RunWeft, tmp_path: Path, small_encoder: str) -> None:
    folder = make_files(tmp_path, tiny_tokenizer("wordpiece"))
    rows = [f"the fox {number},the patient said that it hurts since {number} days" for number in range(24)]
    (folder / "rows.csv").write_text("\n".join(["text,fox", *rows, *rows]) + "\n", encoding="utf-8")
    trained = runner(folder, small_encoder)({"tasks": {"fox": {**FOX, "dev": 0}}, "training": {"epochs": 1}})
    assert "patient" not in run_weft("info", trained)[1]
    assert "patient" not in run_weft("info", trained, "--json")[1]


def test_an_encoder_has_no_tasks_and_says_so(run_weft: RunWeft, small_encoder: str) -> None:
    code, out, _ = run_weft("info", small_encoder)
    assert (code, out.splitlines()[0]) == (0, f"{small_encoder}: an encoder; it has no tasks")
    told = json.loads(run_weft("info", small_encoder, "--json")[1])
    assert (told["tasks"], told["conditioning"], told["encoder"]["family"]) == ({}, None, "bert")


def test_few_weights_beside_the_encoder_are_told_in_full(small_encoder: str) -> None:
    info = read_model_info(small_encoder)
    for added, words in ((770, "and 770 beside;"), (1_250_000, "and 1.25 million beside;")):
        with (console := Console(width=200)).capture() as told:
            console.print(info_screen(replace(info, added_parameters=added)))
        assert words in told.get()


def test_whatever_is_no_model_gets_one_message(run_weft: RunWeft, tmp_path: Path) -> None:
    (tmp_path / "triage.toml").write_text("seed = 1\n", encoding="utf-8")
    for place, message in (
        (tmp_path / "triage.toml", "is a file, but a model is a folder; name a folder that `weft train` wrote"),
        (tmp_path, "is no model: it has neither weft.json (a model of weft) nor config.json (an encoder), but "),
        (tmp_path / "nowhere", "there is no folder"),
    ):
        code, out, err = run_weft("info", place)
        assert (code, out) == (1, "")
        assert message in err
