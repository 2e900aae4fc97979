"""A task's rows may be in memory: they train as those of a file do, are refused as those are, and are not written."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch

import weft
from recorder import Place, Recorder, interrupt_after
from weft.checks.run import run_checks
from weft.config.document import parse_experiment, read_experiment
from weft.data.tables import RowsInMemory
from weft.errors import ConfigError, WeftError
from weft.training.interrupt import Interrupted
from weft.training.prepare import prepare
from weft.training.progress import Callback
from weft.training.shared import Shared

SECRET = "patientword"
ROWS = [{"text": f"the quick fox number {n} {SECRET}", "label": "ab"[n % 2]} for n in range(16)]
TASK = {"kind": "classification", "dev": 0.25}


class OldFrame:
    """A frame without Arrow's interface."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.columns = rows, list(rows[0])

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        return self.rows


SOURCES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "list": list,
    "iterator": iter,
    "Arrow": pa.Table.from_pylist,
    "frame": OldFrame,
}


@pytest.fixture(scope="module")
def place(small_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("memory"), small_encoder)
    (place.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    place.train({"t": {**TASK, "train": "rows.jsonl", "test": "rows.jsonl"}}, "file")
    return place


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_in_memory_train_the_model_that_a_file_of_them_does(place: Place, kind: str) -> None:
    make = SOURCES[kind]
    place.train({"t": {**TASK, "train": make(ROWS), "test": make(ROWS)}}, kind)
    expected, found = place.weights("file"), place.weights(kind)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert place.report(kind)["tasks"]["t"]["rows"] == place.report("file")["tasks"]["t"]["rows"]


def test_rows_in_memory_are_not_written_anywhere(place: Place) -> None:
    place.train({"t": {**TASK, "train": ROWS, "dev": ROWS, "test": ROWS}}, "silent")
    texts = {file: file.read_bytes() for file in (place.folder / "silent").rglob("*") if file.is_file()}
    assert not [file for file, content in texts.items() if SECRET.encode() in content and file.name != "tokenizer.json"]
    stored = read_experiment(place.folder / "silent" / "weft.toml")
    assert stored.tasks["t"].sources() == {}
    with pytest.raises(ConfigError, match="the task t had no file of its own to measure on; name one with --data"):
        weft.model.folder.gold_files(place.folder / "silent", ["t"])


def test_several_tasks_without_a_file_are_told_as_several(tmp_path: Path) -> None:
    report = {"data": ".", "config": "[tasks.a]\n[tasks.b]\n"}
    (tmp_path / "report.json").write_text(json.dumps(report))
    with pytest.raises(
        ConfigError, match="the tasks a, b had no files of their own to measure on; name one with --data"
    ):
        weft.model.folder.gold_files(tmp_path, ["a", "b"])


def test_rows_that_two_tasks_share_are_gone_through_once_and_held_out_together(place: Place) -> None:
    times = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal times
        times += 1
        yield from ROWS

    class Rows:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return rows()

    shared = Rows()
    document = place.document({name: {**TASK, "train": shared} for name in "tu"}, {})
    data = prepare(parse_experiment(document), place.folder).complete()[0]
    assert times == 1
    assert [row.texts for row in data["t"].dev] == [row.texts for row in data["u"].dev]
    apart = place.document({name: {**TASK, "train": Rows()} for name in "tu"}, {})
    prepare(parse_experiment(apart), place.folder)
    assert times == 3


def test_runs_that_share_what_they_read_share_rows_that_are_the_same_object_alone(place: Place) -> None:
    shared = Shared()

    def texts(tasks: dict[str, Any]) -> dict[str, int]:
        experiment = parse_experiment(place.document(tasks, {}))
        data = prepare(experiment, place.folder, shared=shared).complete()[0]
        return {
            name: len({row.texts for part in (splits.train, splits.dev) for row in part})
            for name, splits in data.items()
        }

    once = iter(ROWS)
    assert texts({"t": {**TASK, "train": ROWS}}) == {"t": 16}
    assert texts({"t": {**TASK, "train": ROWS[:12]}}) == {"t": 12}
    assert texts({"t": {**TASK, "train": once}, "u": {**TASK, "train": once}}) == {"t": 16, "u": 16}


class Stop(Callback):
    def begin(self, steps: int, done: int) -> None:
        raise AssertionError("learning would begin here")


BAD: dict[str, tuple[Any, list[str]]] = {
    "a label that is no word": (
        [*ROWS, {"text": SECRET, "label": [1]}],
        ["tasks.t.train: row 16 (counted from 0) of tasks.t.train, column 'label': a label must be a word or a number"],
    ),
    "empty texts": (
        [*ROWS, {"text": " ", "label": "a"}, {"text": None, "label": "b"}],
        ["rows 16, 17 (counted from 0) of tasks.t.train, column 'text': the text is empty; write a text"],
    ),
    "no text": ([*ROWS, {"label": "a"}], ["row 16 (counted from 0) of tasks.t.train: has no column 'text'"]),
    "no rows": ([], ["tasks.t.train: holds no rows"]),
    "no answers": ([{"text": SECRET}], ["holds no row with an answer in the column 'label'"]),
    "texts alone": ([SECRET], ["row 0 (counted from 0) of tasks.t.train: is a text, but a row must be a dict"]),
    "a broken row": (
        [*ROWS, SECRET],
        ["row 16 (counted from 0) of tasks.t.train: is a text", "what follows was not"],
    ),
    "one answer": (ROWS[::2], ["tasks.t.train: all 6 rows have the same answer"]),
    "a table without labels": (pa.table({"text": [SECRET, "b"]}), ["tasks.t.train: has no column 'label'"]),
    "a table with other columns": (pa.table({SECRET: [SECRET], "b": [1]}), ["has no column 'text'; its 2 columns are"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_the_same_faults_to_check_and_train_by_number_and_never_by_text(place: Place, name: str) -> None:
    rows, messages = BAD[name]
    document = place.document({"t": {**TASK, "train": rows}}, {})
    findings = run_checks(prepare(parse_experiment(document), place.folder)).findings
    faults = [f"{finding.path}: {finding.message}" for finding in findings if finding.severity == "error"]
    with pytest.raises(WeftError) as caught:
        weft.train(document, place.folder / "bad", callback=Stop())
    assert str(caught.value) == "\n".join(faults)
    for message in messages:
        assert message in str(caught.value)
    assert SECRET not in "".join(finding.message for finding in findings)
    assert not list(place.folder.glob("bad*"))


def test_what_check_notes_about_rows_in_memory_names_them(place: Place) -> None:
    rows = [*ROWS, ROWS[3], {"text": "nobody knows"}]
    document = place.document({"t": {**TASK, "train": rows, "dev": ROWS[:2]}}, {})
    found = {finding.message for finding in run_checks(prepare(parse_experiment(document), place.folder)).findings}
    assert any(message.startswith("row 16 (counted from 0) of tasks.t.train: 1 of 17") for message in found)
    assert any(
        message.startswith("row 17 (counted from 0) of tasks.t.train, column 'label': 1 of 18") for message in found
    )
    assert any("are also train rows (rows 0, 1 (counted from 0) of tasks.t.train)" in message for message in found)


def test_a_run_with_rows_in_memory_goes_on_with_the_same_rows_and_no_others(place: Place) -> None:
    settings = {"epochs": 2}
    place.train({"t": {**TASK, "train": ROWS}}, "whole", training=settings)
    with pytest.raises(Interrupted):
        place.train({"t": {**TASK, "train": ROWS}}, "broken", callback=Recorder(interrupt_after(3)), training=settings)
    for other, message in (
        ([{**row, "label": "ba"[n % 2]} for n, row in enumerate(ROWS)], "the training rows of t are not those that"),
        ("rows.jsonl", 'tasks.t.train was not set and is "rows.jsonl" now'),
    ):
        with pytest.raises(ConfigError) as caught:
            place.train({"t": {**TASK, "train": other}}, "broken", resume=True, training=settings)
        assert message in str(caught.value)
        assert SECRET not in str(caught.value)
    place.train({"t": {**TASK, "train": iter(ROWS)}}, "broken", resume=True, training=settings)
    expected, found = place.weights("whole"), place.weights("broken")
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_raw_text_is_read_from_files_alone(place: Place) -> None:
    document = place.document({"w": {"kind": "masked_words", "train": [SECRET], "dev": ROWS}}, {})
    with pytest.raises(ConfigError) as caught:
        weft.train(document, place.folder / "raw", callback=Stop())
    assert [fault.path for fault in caught.value.located] == ["tasks.w.train", "tasks.w.dev"]
    assert "raw text is read from files alone; name a file or a folder" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("wrong", [5, True, {"text": SECRET}, SECRET.encode()])
def test_what_are_no_rows_is_refused_by_its_type(wrong: Any) -> None:
    for split in ("train", "dev", "test"):
        with pytest.raises(ConfigError, match=f"tasks.t.{split}: write the name of a file") as caught:
            parse_experiment({"tasks": {"t": {"kind": "classification", split: wrong}}})
        assert len(caught.value.faults) == 1
        assert SECRET not in str(caught.value)


def test_a_path_object_is_the_name_of_a_file() -> None:
    experiment = parse_experiment({"tasks": {"t": {"kind": "classification", "train": Path("a") / "b.csv"}}})
    assert experiment.tasks["t"].files() == {"train": (str(Path("a") / "b.csv"),)}


def test_rows_stand_in_no_config_file(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(f'[tasks.t]\nkind = "classification"\ntrain = [{{text = "{SECRET}"}}]\n')
    with pytest.raises(ConfigError) as caught:
        read_experiment(tmp_path / "run.toml")
    wanted = "write the name of a file, a pattern such as part-*.csv, or a list"
    assert str(caught.value) == f"{tmp_path / 'run.toml'}: tasks.t.train: {wanted}; received a list of 1"


def test_names_of_files_in_a_list_are_no_rows() -> None:
    experiment = parse_experiment({"tasks": {"t": {"kind": "classification", "train": ["a.csv", Path("b.jsonl.gz")]}}})
    assert experiment.tasks["t"].files() == {"train": ("a.csv", "b.jsonl.gz")}


def test_rows_that_are_sent_to_a_process_again_are_held_once() -> None:
    rows, others = RowsInMemory([{"text": "fox"}]), RowsInMemory([{"text": "fox"}])
    received = [pickle.loads(pickle.dumps(sent)) for sent in (rows, rows, others)]
    assert received[0] is received[1]
    assert received[0].rows == rows.rows
    assert received[2] != received[0]
