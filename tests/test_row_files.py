"""Several training files: a list or a pattern, read as one, with every message about the right file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import weft
from conftest import RunWeft
from weft.config.document import parse_experiment
from weft.data.row_files import RowFiles
from weft.errors import ConfigError, DataError, WeftError
from weft.tasks.base.examples import held_out_lines
from weft.training.faults import Faults
from weft.training.reading import read_files
from weft.training.task_data import Fold, load_data

TASK: dict[str, Any] = {"kind": "classification"}


def table(path: Path, rows: list[tuple[str, str]], header: str = "text,label") -> None:
    path.write_text(f"{header}\n" + "".join(f"{text},{label}\n" for text, label in rows), encoding="utf-8")


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Three files of labelled rows."""
    for number in range(3):
        table(tmp_path / f"part-{number}.csv", [(f"text {number} {n}", "yes" if n % 2 else "no") for n in range(8)])
    return tmp_path


def tasks_of(**options: Any) -> dict[str, Any]:
    return dict(parse_experiment({"tasks": {"t": {**TASK, **options}}}).tasks)


def texts(rows: Any) -> list[str]:
    return [row.texts[0] for row in rows]


@pytest.mark.parametrize("train", [["part-1.csv", "part-0.csv"], ("part-1.csv", "part-0.csv", "part-1.csv")])
def test_a_list_is_read_in_its_order_each_file_once(parts: Path, train: Any) -> None:
    rows = load_data(tasks_of(train=train), parts, 0)["t"].train
    assert texts(rows) == [f"text {number} {n}" for number in (1, 0) for n in range(8)]
    assert len({row.line for row in rows}) == 16


def test_a_pattern_stands_for_the_files_it_matches_by_name(parts: Path) -> None:
    rows = load_data(tasks_of(train="part-*.csv"), parts, 0)["t"].train
    assert texts(rows) == [f"text {number} {n}" for number in range(3) for n in range(8)]
    table(parts / "odd[1].csv", [("a", "x"), ("b", "y")])
    assert texts(load_data(tasks_of(train="odd[1].csv"), parts, 0)["t"].train) == ["a", "b"]  # a file called so


def test_a_pattern_without_a_file_is_one_fault(parts: Path) -> None:
    with pytest.raises(DataError, match=r"tasks\.t\.train: .*nix-\*\.csv: no file matches this pattern"):
        load_data(tasks_of(train="nix-*.csv"), parts, 0)
    with pytest.raises(DataError, match=r"tasks\.t\.train: .*nix\.csv: there is no such file"):
        load_data(tasks_of(train=["part-0.csv", "nix.csv"]), parts, 0)


@pytest.mark.parametrize("train", [[], ["a.csv", 3], ["a.csv", ""], 3])
def test_what_names_no_files_is_refused(train: Any) -> None:
    with pytest.raises((ConfigError, DataError)):
        load_data(tasks_of(train=train), Path(), 0)


def test_faults_name_the_file_and_its_own_line(parts: Path) -> None:
    table(parts / "part-1.csv", [("fine", "yes"), ("  ", "no"), ("secret", "no"), ("", "yes")])
    table(parts / "part-2.csv", [("secret", "yes"), (" ", "no")])
    with pytest.raises(DataError) as caught:
        load_data(tasks_of(train=["part-0.csv", "part-1.csv", "part-2.csv"]), parts, 0)
    assert "part-1.csv, lines 3, 5; part-2.csv, line 3, column 'text': the text is empty;" in str(caught.value)
    table(parts / "part-1.csv", [("secret", "yes,3")])
    with pytest.raises(DataError, match=r"part-1\.csv, line 2: has 3 fields, but the header has 2") as caught:
        load_data(tasks_of(train="part-*.csv"), parts, 0)
    assert "secret" not in str(caught.value)


def test_a_file_with_other_columns_is_named(parts: Path) -> None:
    table(parts / "part-1.csv", [("a", "yes"), ("b", "no")], header="texts,label")
    with pytest.raises(DataError, match=r"part-1\.csv, lines 2, 3: has no column 'text'"):
        load_data(tasks_of(train="part-*.csv"), parts, 0)


def test_two_tasks_with_the_same_files_know_them_both(parts: Path) -> None:
    table(parts / "part-1.csv", [("", "yes")])
    tasks = {**tasks_of(train="part-*.csv"), "u": tasks_of(train="part-*.csv")["t"]}
    faults = Faults()
    read_files(tasks, parts, faults)
    assert [str(fault).count("part-1.csv, line 2") for fault in faults] == [1, 1]


def test_held_out_rows_and_folds_are_drawn_from_all_files(parts: Path) -> None:
    splits = load_data(tasks_of(train="part-*.csv", dev=0.25), parts, 0)["t"]
    assert len(splits.dev) == 6
    assert sorted([*texts(splits.train), *texts(splits.dev)]) == sorted(
        f"text {number} {n}" for number in range(3) for n in range(8)
    )
    answered = [texts(load_data(tasks_of(train="part-*.csv"), parts, 0, Fold(3, fold))["t"].test) for fold in range(3)]
    assert sorted(text for fold in answered for text in fold) == sorted(
        f"text {number} {n}" for number in range(3) for n in range(8)
    )


def test_tasks_that_spell_the_same_files_otherwise_hold_the_same_rows_out(parts: Path) -> None:
    tasks = {
        "t": tasks_of(train=["part-0.csv", "part-1.csv"], dev=0.25)["t"],
        "u": tasks_of(train=["./part-0.csv", "part-1.csv"], dev=0.25)["t"],
    }
    rows = {name: splits["train"].rows for name, splits in read_files(tasks, parts, Faults()).items()}
    held_out = held_out_lines(tasks, rows, 0)
    assert held_out["t"] == held_out["u"]
    assert len(held_out["t"]) == 4


def test_lines_are_found_again_behind_an_empty_file(tmp_path: Path) -> None:
    table(tmp_path / "a.csv", [])
    table(tmp_path / "b.csv", [("x", "1"), ("y", "2")])
    files = RowFiles((tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "b.csv"))
    lines = [row.line for row in files.rows()]
    assert len(set(lines)) == 4
    assert files.by_file(lines[:2]) == {tmp_path / "b.csv": [2, 3]}


def test_a_run_over_several_files_is_trained_checked_and_goes_on_only_with_the_same(
    parts: Path, small_encoder: str, run_weft: RunWeft
) -> None:
    config = parts / "c.toml"
    config.write_text(
        f'phases = [{{}}]\n[encoder]\nfrom = "{small_encoder}"\n[tasks.t]\nkind = "classification"\n'
        'train = "part-*.csv"\n[training]\nepochs = 1\n',
        encoding="utf-8",
    )
    assert run_weft("check", config)[0] == 0
    model = weft.train(config, parts / "model")
    assert model.tasks == ["t"]
    assert 'train = "part-*.csv"' in (parts / "model" / "weft.toml").read_text("utf-8")
    document = {
        "encoder": {"from": small_encoder},
        "phases": [{}],
        "training": {"epochs": 1},
        "tasks": {"t": {**TASK, "train": ["part-0.csv", "part-2.csv"]}},
    }
    weft.train(document, parts / "two", data=parts)
    assert '"part-0.csv", "part-2.csv"' in (parts / "two" / "weft.toml").read_text("utf-8").replace("\n    ", " ")


def test_raw_text_is_named_by_one_name(parts: Path, small_encoder: str) -> None:
    (parts / "a.txt").write_text("the quick fox\n" * 9, encoding="utf-8")
    tasks = {"m": {"kind": "masked_words", "train": ["a.txt", "a.txt"]}}
    with pytest.raises(WeftError, match=r"tasks\.m\.train: raw text is read from one file, a folder or a pattern"):
        weft.train({"encoder": {"from": small_encoder}, "tasks": tasks}, parts / "m", data=parts)
