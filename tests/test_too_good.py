"""`weft train` tells the warnings of `weft check` that explain figures which look better than the model is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import weft
from conftest import RunWeft
from weft.checks.run import run_checks
from weft.checks.too_good import find_too_good
from weft.config.document import parse_experiment
from weft.reports.record import RunRecord, TaskRecord, read_record
from weft.reports.summary import verdict
from weft.training.faults import Faults
from weft.training.prepare import PreparedRun, prepare_with
from weft.training.progress import Callback

QUICK = {"epochs": 1, "baselines": False}


def rows(first: int, count: int = 20) -> list[dict[str, str]]:
    return [
        {"text": f"{'fox' if n % 2 else 'dog'} secret{n}", "label": "ab"[n % 2]} for n in range(first, first + count)
    ]


def prepared(tasks: dict[str, Any]) -> PreparedRun:
    named = {name: {"kind": "classification", **task} for name, task in tasks.items()}
    return prepare_with(parse_experiment({"encoder": {"from": "minilm"}, "tasks": named}), Path(), None, Faults())


class Listening(Callback):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_nothing_is_said_of_rows_that_are_only_measured_on() -> None:
    assert find_too_good(prepared({"a": {"train": rows(0), "dev": rows(20), "test": rows(40)}})) == {}


def test_a_leak_belongs_to_the_task_that_is_measured_on_it_and_is_what_check_finds() -> None:
    tasks = {
        "a": {"train": rows(0), "test": [*rows(100), *rows(3, 2)]},
        "b": {"train": rows(200), "dev": rows(300), "test": rows(5, 5)},  # which are training rows of a
        "c": {"train": rows(400), "dev": rows(500), "test": rows(500)},  # chosen by what is reported: only a note
        "d": {"train": rows(600), "label": "text", "test": rows(700)},
    }
    found = find_too_good(prepared(tasks))
    assert {name: [(one.path, one.fact[:11]) for one in warnings] for name, warnings in found.items()} == {
        "a": [("tasks.a.test", "2 of 22 (9.")],
        "b": [("tasks.b.test", "5 of 5 (100")],
        "d": [("tasks.d", "")],
    }
    checked = run_checks(prepared(tasks)).findings
    assert all(one in checked for warnings in found.values() for one in warnings)


def test_training_warns_of_rows_that_are_learned_from_and_measured_on(small_encoder: str, tmp_path: Path) -> None:
    task = {"kind": "classification", "train": rows(0), "dev": rows(100), "test": [*rows(40), *rows(0, 4)]}
    heard = Listening()
    config = {"encoder": {"from": small_encoder}, "tasks": {"a": task, "b": {**task, "test": rows(60)}}}
    weft.train({**config, "training": QUICK}, tmp_path / "model", device="cpu", callback=heard)
    (said, shared) = (note for note in heard.notes if note.startswith("warning: "))
    assert said.startswith("warning: tasks.a.test: rows ")
    assert "4 of 24 (16.7 %) test rows are also train rows" in said
    assert "training rows of the task 'b'" in shared
    record = read_record(tmp_path / "model")
    assert record.tasks["a"].too_good == tuple(one.removeprefix("warning: ") for one in (said, shared))
    assert record.tasks["b"].too_good == ()
    for page in ("report.html", "README.md"):
        assert "test rows are also train rows" in (tmp_path / "model" / page).read_text("utf-8")
        assert "secret3" not in (tmp_path / "model" / page).read_text("utf-8")


def test_the_command_says_so_before_and_after(small_encoder: str, tmp_path: Path, run_weft: RunWeft) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(0)), "utf-8")
    (tmp_path / "a.toml").write_text(
        f"[encoder]\nfrom = {json.dumps(small_encoder)}\n[training]\nepochs = 1\nbaselines = false\n"
        '[tasks.a]\nkind = "classification"\ntrain = "rows.jsonl"\ntest = "rows.jsonl"\n',
        "utf-8",
    )
    code, out, err = run_weft("train", tmp_path / "a.toml", "--output", tmp_path / "model", "--device", "cpu")
    assert code == 0
    said = "20 of 20 (100.0 %) test rows are also train rows"
    assert f"warning: tasks.a.test: rows.jsonl, lines 1, 2, 3, 4, 5 … and 15 more: {said}" in " ".join(err.split())
    assert said in " ".join(out.split())
    code, _, _ = run_weft("evaluate", tmp_path / "model", "--page", tmp_path / "page.html")
    assert code == 0
    assert said in (tmp_path / "page.html").read_text("utf-8")


def test_the_summary_says_so_right_after_its_first_sentence() -> None:
    task = TaskRecord.model_validate(
        {"name": "a", "too_good": ["why"], "result": {"rows": 3, "metric": "f1", "measures": {"scores": {"f1": 1}}}}
    )
    assert verdict(RunRecord(tasks={"a": task}))[1] == "a may look better than it is: why."


@pytest.mark.parametrize("text", ["[bold]"])
def test_a_warning_is_no_markup(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    from weft.training.progress import ProgressCallback

    ProgressCallback().warn(text)
    assert capsys.readouterr().err == "warning: [bold]\n"
