"""What is said to those who call weft from Python points at their own line and counts as Python does."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import weft
from weft.data.atomic import cannot_write
from weft.data.tables import open_rows
from weft.errors import IN_MEMORY, ConfigError, DataError, warn_caller
from weft.training.folder import RunFolder
from weft.training.reading import Origin


def warned_at(module: str) -> list[str]:
    """The files that a warning points at, given two calls deep in a module of this name."""
    names = {"__name__": module, "warn_caller": warn_caller}
    exec("def inner():\n    warn_caller(weft_warning)\ndef outer():\n    inner()\n", names)  # a module of weft's
    names["weft_warning"] = weft.TruncationWarning("cut")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names["outer"]()  # type: ignore[operator]
    return [one.filename for one in caught]


def test_a_warning_points_at_the_nearest_line_that_is_none_of_wefts() -> None:
    assert warned_at("weft.training.estimator") == [__file__]
    assert warned_at("weftlike") == ["<string>"]


def test_rows_in_memory_are_counted_from_0_whatever_holds_them() -> None:
    assert str(DataError("is empty", file=IN_MEMORY, line=4)) == "the rows given, row 3 (counted from 0): is empty"
    assert str(DataError("is empty", file="rows.csv", line=4)) == "rows.csv, line 4: is empty"
    with pytest.raises(DataError, match=r"the rows given, row 1 \(counted from 0\): is a text"):
        list(open_rows([{"text": "fox"}, "dog"])[1])
    assert Origin("tasks.t.train").where([1, 3]) == "rows 0, 2 (counted from 0) of tasks.t.train"
    assert Origin("rows.csv", Path("rows.csv")).where([1, 3]) == "rows.csv, lines 1, 3"


def test_an_output_that_exists_is_named_for_the_command_and_for_python(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"exists already; name another with --output \(in Python, output=…\)"):
        RunFolder(tmp_path)._check_target()


def test_a_file_that_stands_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("")
    below = tmp_path / "rows.csv" / "model.running.lock"
    message = f"cannot write {below}: {tmp_path / 'rows.csv'} is a file, and no folder; name another place"
    assert str(cannot_write(below, FileExistsError(17, "File exists"))) == message
    other = tmp_path / "none" / "model"
    assert str(cannot_write(other, OSError(28, "No space"))) == f"cannot write {other}: No space; name another place"
