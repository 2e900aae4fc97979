"""Model folders that earlier versions of weft wrote still answer as they did.

Each folder of `stored/format1` was written by the code before format 2, with random weights, together with the
predictions that code gave for a few texts (`predictions.json`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import weft
from conftest import RunWeft
from weft.tasks import Task

STORED = Path(__file__).parent / "stored" / "format1"
FOLDERS = sorted(path.name for path in STORED.iterdir())


def agree(answer: Any, expected: Any) -> bool:
    """Whether an answer says what it said, numbers within 1e-5; what has been added since may be there too."""
    if isinstance(expected, dict):
        return expected.keys() <= answer.keys() and all(agree(answer[key], part) for key, part in expected.items())
    if isinstance(expected, list):
        return len(answer) == len(expected) and all(map(agree, answer, expected))
    return bool(answer == (pytest.approx(expected, abs=1e-5, rel=0) if isinstance(expected, float) else expected))


def document_of(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "weft.json").read_text(encoding="utf-8"))
    return document


def check_predictions(model: weft.Model, stored: Path) -> None:
    expected = json.loads((stored / "predictions.json").read_text(encoding="utf-8"))
    for task, inputs in expected["inputs"].items():
        texts = [tuple(text) if isinstance(text, list) else text for text in inputs]
        assert agree(model.predict(texts, task, scores=True), expected["predictions"][task]), task


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_an_earlier_format_answers_as_it_did_and_is_saved_in_todays(name: str, tmp_path: Path) -> None:
    model = weft.load(STORED / name, device="cpu")
    check_predictions(model, STORED / name)
    model.save(tmp_path / "today")
    assert document_of(tmp_path / "today")["format"] == 3
    again = weft.load(tmp_path / "today", device="cpu")
    assert again.network.targets == model.network.targets
    check_predictions(again, STORED / name)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_the_second_format_answers_as_it_did(name: str, tmp_path: Path) -> None:
    """It had today's names, but its tasks did not say whether vectors are scaled: none were."""
    weft.load(STORED / name, device="cpu").save(tmp_path / "second")
    document = document_of(tmp_path / "second")
    for task in document["tasks"].values():
        (task.get("pooling") or {}).pop("scaled", None)
    text = json.dumps({**document, "format": 2})
    (tmp_path / "second" / "weft.json").write_text(text, encoding="utf-8")
    assert "scaled" not in text
    check_predictions(weft.load(tmp_path / "second", device="cpu"), STORED / name)


def test_relations_stored_before_they_knew_distances_answer_as_they_did(tmp_path: Path) -> None:
    """The third format without an option that came later: it is read as what the model was."""
    weft.load(STORED / "words", device="cpu").save(tmp_path / "third")
    document = document_of(tmp_path / "third")
    assert document["tasks"]["links"].pop("distance") == 0
    (tmp_path / "third" / "weft.json").write_text(json.dumps(document), encoding="utf-8")
    model = weft.load(tmp_path / "third", device="cpu")
    check_predictions(model, STORED / "words")
    model.save(tmp_path / "today")
    assert document_of(tmp_path / "today")["tasks"]["links"]["distance"] == 0


def test_the_stored_folders_hold_every_kind_of_task() -> None:
    tasks = [task for name in FOLDERS for task in document_of(STORED / name)["tasks"].values()]
    assert {document_of(STORED / name)["format"] for name in FOLDERS} == {1}
    assert {task["kind"] for task in tasks} == set(Task.kinds()) - {"regression"}  # which came later


def test_an_unfinished_run_of_an_earlier_version_is_refused_and_stays(tmp_path: Path, run_weft: RunWeft) -> None:
    (tmp_path / "rows.csv").write_text("text,label\nfox,a\ndog,b\n")
    config, running = tmp_path / "run.toml", tmp_path / "out.running"
    config.write_text('tasks.t = {kind = "classification", train = "rows.csv", dev = "rows.csv"}\n')
    running.mkdir()
    (running / "weft.toml").write_text("[training]\naccumulate = 1\nearly_stopping = 3\n")
    (running / "state.json").write_text('{"step": 3, "curve": [], "tensors": "state-3.safetensors"}')
    code, _, error = run_weft("train", config, "--output", tmp_path / "out", "--resume")
    assert code == 1
    assert "was started with another version of weft" in error
    assert (running / "state.json").exists()
