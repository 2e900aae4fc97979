"""What is said while a command runs: nothing, more, into a file, without colour; now and then where nobody looks."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from rich.console import Console

from conftest import RunWeft
from weft.cli import screen
from weft.cli.main import with_options_first
from weft.errors import WeftError
from weft.model.embed import load_encoder
from weft.model.folder import save_network
from weft.model.network import Network
from weft.reports.status import EVERY, Heartbeat, StatusConsole
from weft.spec import parse
from weft.tasks import Task
from weft.training.progress import ProgressCallback

SECRET = "quick lazy patient words"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock)
    return clock


@pytest.fixture(scope="module")
def folder(small_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = load_encoder(small_encoder)
    source.encoder.pooler = None
    task = parse(Task, {"kind": "classification"})
    torch.manual_seed(0)
    network = Network(source.encoder, source.tokenizer, {"t": task}, {"t": task.target().fit(["a", "b"])})
    save_network(network, place := tmp_path_factory.mktemp("models") / "model")
    return place


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text(f"text,t\n{SECRET},x\n{'fox ' * 99},y\n", encoding="utf-8")
    return tmp_path / "in.csv"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["train", "c.toml", "--quiet"], ["--quiet", "train", "c.toml"]),
        (["--verbose", "predict", "m"], ["--verbose", "predict", "m"]),
        (["predict", "--log-file", "a.log", "m"], ["--log-file", "a.log", "predict", "m"]),
        (["predict", "--log-file=a.log", "m"], ["--log-file=a.log", "predict", "m"]),
        (["predict", "m", "--", "--quiet"], ["predict", "m", "--", "--quiet"]),
        (["predict", "--log-file"], ["predict", "--log-file"]),
    ],
)
def test_options_of_all_commands_may_stand_anywhere(words: list[str], found: list[str]) -> None:
    assert with_options_first(words) == found


def test_quiet_says_nothing_but_results_and_errors(run_weft: RunWeft, folder: Path, source: Path) -> None:
    code, out, err = run_weft("predict", folder, "--input", source)
    assert "'input.t'" in err
    assert "1 of 2 rows were longer" in " ".join(err.split())
    quiet = run_weft("predict", folder, "--input", source, "--quiet")
    assert quiet == (0, out, "")
    code, _, err = run_weft("predict", folder, "--input", source.with_name("nix.csv"), "--quiet")
    assert code == 1
    assert "there is no such file" in err
    assert run_weft("predict", folder, "--input", source)[2] != ""  # the next command speaks again
    assert run_weft("predict", folder, "--input", source, "--quiet", "--verbose")[0] == 2


def test_verbose_says_what_runs(run_weft: RunWeft, folder: Path, source: Path) -> None:
    err = run_weft("predict", folder, "--input", source, "--verbose")[2]
    assert re.search(r"weft \S+ predict, Python 3\.\S+, \d+ cores", err)
    assert screen.console.every < EVERY
    run_weft("predict", folder, "--input", source)
    assert screen.console.every == EVERY


def test_a_log_has_what_is_said_with_times_and_no_texts_also_when_quiet(
    run_weft: RunWeft, folder: Path, source: Path, tmp_path: Path
) -> None:
    log = tmp_path / "logs" / "a.log"
    for more in ((), ("--quiet",)):
        code, out, _ = run_weft("predict", folder, "--input", source, "--log-file", log, *more)
        assert code == 0
        assert len([json.loads(line) for line in out.splitlines()]) == 2
    run_weft("predict", folder, "--text", SECRET, "--task", "nix", "--log-file", log)
    text = log.read_text(encoding="utf-8")
    assert text.count(" predict, Python ") == 3
    assert text.count("'input.t'") == 2
    assert "no task 'nix'" in text
    assert SECRET not in text
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* \S", line) for line in text.splitlines())
    before = log.read_text(encoding="utf-8")
    run_weft("predict", folder, "--input", source)
    assert log.read_text(encoding="utf-8") == before
    code, _, err = run_weft("predict", folder, "--input", source, "--log-file", tmp_path)
    assert code == 1
    assert "cannot write the log" in err


# Progress without a terminal


def plain() -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return StatusConsole(stderr=False, file=file, force_terminal=False, width=200), file


def test_a_line_comes_once_in_so_many_seconds(clock: Clock) -> None:
    console, file = plain()
    heart = Heartbeat(console)
    for _ in range(61):
        clock.now += 1
        heart.beat(lambda: f"[b]at {heart.seconds:.0f} s")
    assert file.getvalue() == "[b]at 30 s\n[b]at 60 s\n"


def test_training_without_a_terminal_is_lines_and_no_bar(clock: Clock) -> None:
    console, file = plain()
    callback = ProgressCallback(console)
    callback.begin(100, 10)
    for _ in range(40):
        clock.now += 1
        callback.step("epoch 1/2", "fox", 0.5, 8)
    callback.end()
    assert file.getvalue() == "step 40 of 100 · epoch 1/2 · fox 0.500 · 8 rows/s\n"
    with callback.reading() as tell:
        clock.now += 31
        tell(2_500_000)
    assert file.getvalue().splitlines()[1:] == ["tokenizing: 2.5 MB, 31 s"]


def test_counted_rows_without_a_terminal_are_lines(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    console, file = plain()
    monkeypatch.setattr(screen, "console", console)
    for _ in screen.counting(range(70), None, "rows"):
        clock.now += 1
    assert file.getvalue() == "31 rows, 30 s\n61 rows, 60 s\n"


def test_in_a_terminal_lines_of_progress_go_to_the_log_alone(clock: Clock, tmp_path: Path) -> None:
    file = io.StringIO()
    console = StatusConsole(stderr=False, file=file, force_terminal=True, width=200)
    console.log_to(tmp_path / "a.log")
    heart = Heartbeat(console)
    clock.now += 31
    heart.beat(lambda: "far")
    console.print("[red]said[/]")
    console.end_log()
    assert "far" not in file.getvalue()
    assert [line.split(" ", 1)[1] for line in (tmp_path / "a.log").read_text().splitlines()] == ["far", "said"]
    with pytest.raises(WeftError, match="cannot write the log"):
        console.log_to(tmp_path)


# Colour


@pytest.mark.parametrize(("value", "coloured"), [(None, True), ("", True), ("1", False)])
def test_errors_have_colour_unless_no_color_is_set(
    run_weft: RunWeft, folder: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    told: list[Any] = []
    monkeypatch.setattr(typer, "secho", lambda text, **options: told.append(options["color"]))
    run_weft("predict", folder, "--text", "a", "--task", "nix")
    assert told == [None if coloured else False]


def test_no_color_holds_for_tables_and_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    file = io.StringIO()
    StatusConsole(stderr=False, file=file, force_terminal=True).print("[red]word[/]")
    assert "\x1b[31m" not in file.getvalue()
