"""A config that cannot be read says where and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.config.document import parse_experiment, read_experiment
from weft.errors import ConfigError

TASK = '[tasks.u]\nkind = "classification"\ntrain = "rows.csv"\n'


def refused(folder: Path, content: str | bytes, *overrides: str) -> str:
    path = folder / "run.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as caught:
        read_experiment(path, overrides)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (r'train = "C:\Users\new.csv"', r"in double quotes \ begins a special character: write paths with /, or in"),
        ("kind = classification", 'a text needs plain quotes: kind = "…"'),
        ("text = “message”", 'a text needs plain quotes: text = "…"'),
        ("costs = { urgent = { not urgent = 20 } }", "a name with other signs than letters, digits, _"),
        ("[tasks.my task]", "a name with other signs than letters, digits, _"),
        ("train = ../rows.csv", 'a text needs plain quotes: train = "…"'),
        ("multilabel = True", "write multilabel = true, in small letters"),
        ("[tasks.t]\n[tasks.t]", "it is there twice"),
    ],
)
def test_a_line_that_is_no_toml_comes_with_what_to_write_instead(tmp_path: Path, line: str, hint: str) -> None:
    said = refused(tmp_path, f"[tasks.u]\n{line}\n")
    assert said.startswith("run.toml is not valid TOML: ")
    assert f"(at line {2 + line.count(chr(10))}, " in said
    assert f"); {hint}" in said


@pytest.mark.parametrize("content", ["[tasks.u\n", "= 3\n", 'label = "open\n', "x = ["])
def test_what_a_line_does_not_show_is_left_to_the_parser(tmp_path: Path, content: str) -> None:
    assert refused(tmp_path, content).endswith(")")


def test_a_config_that_is_not_utf8_is_named_with_its_line_and_a_mark_before_it_is_read(tmp_path: Path) -> None:
    latin = f'{TASK}labels = ["höher"]\n'.encode("latin-1")
    assert "line 4 is not UTF-8; save the file as UTF-8" in refused(tmp_path, latin)
    (tmp_path / "run.toml").write_text(TASK, encoding="utf-8-sig")
    assert list(read_experiment(tmp_path / "run.toml").tasks) == ["u"]


@pytest.mark.parametrize("content", ["", "seed = 3\n", "[tasks]\n"])
def test_a_config_without_tasks_shows_what_one_looks_like(tmp_path: Path, content: str) -> None:
    said = refused(tmp_path, content)
    assert said.startswith("run.toml: tasks: ")
    assert '[tasks.urgency] and below it kind = "classification", train = ' in said
    assert said.endswith("weft init messages.csv")


def test_a_fault_of_a_key_names_the_file_unless_it_was_set_from_outside(tmp_path: Path) -> None:
    said = refused(tmp_path, TASK + "lables = []\n[trainning]\n", "training.epochs=many").splitlines()
    assert sorted(said) == [
        "run.toml: tasks.u.lables: unknown key; did you mean 'labels'?",
        "run.toml: trainning: unknown key; did you mean 'training'?",
        "training.epochs: should be a whole number; received 'many'",
    ]
    with pytest.raises(ConfigError, match="^trainning: unknown key"):
        parse_experiment({"tasks": {"u": {"kind": "classification"}}, "trainning": {}})


def test_an_option_of_training_in_another_table_is_told_where_it_belongs(tmp_path: Path) -> None:
    said = refused(tmp_path, "learning_rate = 1e-4\n" + TASK + "batch_size = 8\n", "epochs=3").splitlines()
    place = "unknown key here; it is an option of the table [training]: write training."
    assert sorted(said) == [
        f"epochs: {place}epochs",
        f"run.toml: learning_rate: {place}learning_rate",
        f"run.toml: tasks.u.batch_size: {place}batch_size",
    ]
    assert "did you mean 'epochs'" in refused(tmp_path, TASK + "[training]\nepoch = 3\n")


def test_the_answer_of_another_kind_of_task_is_told_what_its_own_is_called(tmp_path: Path) -> None:
    number = '[tasks.u]\nkind = "regression"\ntrain = "t.csv"\n'
    assert refused(tmp_path, number + 'label = "price"\n') == (
        "run.toml: tasks.u.label: unknown key; a task of this kind names the column of its answers with 'score'"
    )
    assert "answers with 'label'" in refused(tmp_path, TASK + 'score = "price"\n')
    assert "answers" not in refused(tmp_path, number + 'colour = "red"\n')


def test_a_task_that_is_not_there_is_named_with_the_place_that_wants_it(tmp_path: Path) -> None:
    phases = '[[phases]]\ntasks = ["u"]\n[[phases]]\ntasks = ["v"]\n[training]\nchoose_by = "w"\n'
    assert refused(tmp_path, TASK + phases) == (
        "run.toml: phases.1.tasks: there is no task 'v'; training.choose_by: there is no task 'w'; the tasks are: u"
    )
