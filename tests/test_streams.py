"""What goes where: results to standard output, all else to standard error, for every command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import RunWeft
from shared_runs import make_files
from weft.cli.main import app
from weft.tokenization.tokenizer import Tokenizer
from weft.training.run import train

CONFIG = """
encoder.from = "{encoder}"
training.epochs = 1
[tasks.fox]
kind = "classification"
train = "rows.csv"
test = "test.csv"
label = "fox"
"""
GRID = """
base = "fox.toml"
seeds = 2
[variants.plain]
[variants.other]
training.epochs = 2
"""
COMMANDS: Mapping[str, tuple[str, str]] = {  # what is typed, and words of its results; none where all goes to a file
    "check": ("check fox.toml", "'yes'"),
    "compare": ("compare grid.toml --output {new}", "plain"),
    "compare --use": ("compare grid.toml --use other", "[tasks.fox]"),
    "completion": ("completion bash", "_weft()"),
    "demo": ("demo --quick --output {new}", "urgency"),
    "embed": ("embed model --input rows.csv --output {new}.npy", ""),
    "evaluate": ("evaluate model --data test.csv", "f1_macro"),
    "example": ("example", "relations"),
    "example NAME": ("example topic --output {new}", "topic.toml"),
    "info": ("info model", "classification"),
    "init": ("init rows.csv --label fox --output {new}.toml", ""),
    "inspect": ("inspect model --task fox --text fox", "looked at"),
    "kinds": ("kinds", "losses"),
    "predict": ("predict model --input rows.csv", '"score"'),
    "predict --output": ("predict model --input rows.csv --output {new}.csv", ""),
    "schema": ("schema", '"$schema"'),
    "schema --output": ("schema --output {new}.json", ""),
    "train": ("train fox.toml --output {new}", "f1_macro"),
    "vocab": ("vocab rows.csv --size 60 --output {new}", "wordpiece"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, small_encoder: str, tiny_tokenizers: dict[str, Tokenizer]) -> Path:
    """A folder with rows, a config, a grid, and a model."""
    folder = make_files(tmp_path_factory.mktemp("home"), tiny_tokenizers["wordpiece"])
    (folder / "fox.toml").write_text(CONFIG.format(encoder=small_encoder), encoding="utf-8")
    (folder / "grid.toml").write_text(GRID, encoding="utf-8")
    train(folder / "fox.toml", folder / "model")
    return folder


def test_no_command_is_left_out() -> None:
    assert {name.split()[0] for name in COMMANDS} == {str(command.name) for command in app.registered_commands}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_results_go_to_standard_output_and_all_else_can_be_turned_off(
    name: str, home: Path, run_weft: RunWeft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(home)
    typed, words = COMMANDS[name]
    code, out, err = run_weft(*typed.format(new=tmp_path / "first").split())
    assert code == 0, err
    assert words in out
    assert (words == "") == (out == "")
    assert not [line for line in out.splitlines() if line.startswith(("Next:", "wrote ", "reading ", "epoch "))]
    quiet, same, nothing = run_weft("--quiet", *typed.format(new=tmp_path / "second").split())
    assert (quiet, nothing) == (0, "")
    assert _letters(same.replace(str(tmp_path / "second"), str(tmp_path / "first"))) == _letters(out)


def _letters(text: str) -> str:
    """Without figures, for those of time differ from run to run, and with them how wide columns are."""
    return "".join(filter(str.isalpha, text))


def test_answers_in_a_pipe_are_json_lines_and_nothing_else(
    home: Path, run_weft: RunWeft, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    _, out, err = run_weft("predict", "model", "--input", "rows.csv")
    assert all("fox" in json.loads(line) for line in out.splitlines())
    assert "kept as 'input.fox'" in err


def test_of_columns_that_made_way_only_those_that_are_written_are_spoken_of(
    home: Path, run_weft: RunWeft, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(home)
    (tmp_path / "rows.csv").write_text("text,fox,truncated\nthe fox,yes,no\n", encoding="utf-8")
    for columns, spoken in (("fox", ["fox"]), ("input.truncated", ["truncated"]), ("text", [])):
        _, _, err = run_weft("predict", "model", "--input", tmp_path / "rows.csv", "--columns", columns)
        assert [name for name in ("fox", "truncated") if f"kept as 'input.{name}'" in err] == spoken
