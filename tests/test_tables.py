"""Rows that are in memory are read like rows of files: frames, tables, and iterables of dicts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from weft.data.formats import Row
from weft.data.tables import IN_MEMORY, open_rows
from weft.errors import DataError


class OldFrame:
    """A frame without Arrow's interface, whose iteration gives column names."""

    columns = ("text", "n")

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return [{"text": "fox", "n": 1.0}, {"text": "dog", "n": math.nan}]

    def __iter__(self) -> Any:
        return iter(self.columns)


def test_tables_and_frames_give_their_rows_counted_from_1() -> None:
    for source in (pa.table({"text": ["fox", "dog"], "n": [1.0, math.nan]}), OldFrame()):
        name, rows = open_rows(source)
        found = list(rows)
        assert name == IN_MEMORY
        assert found == [Row(1, {"text": "fox", "n": 1.0}), Row(2, {"text": "dog", "n": None})]
        assert all(row.tabular for row in found)


def test_dicts_may_come_one_by_one_and_lack_keys() -> None:
    _, rows = open_rows(row for row in ({"text": "fox"}, {"label": "a"}))
    found = list(rows)
    assert found == [Row(1, {"text": "fox"}), Row(2, {"label": "a"})]
    assert not any(row.tabular for row in found)


def test_cells_are_plain_whatever_library_made_them() -> None:
    given = {
        "a": np.int64(3),
        "b": np.bool_(True),
        "c": np.array(["fox", "dog"]),
        "d": ("fox", "dog"),
        "e": np.str_("x"),
    }
    (row,) = open_rows([given])[1]
    assert row.columns == {"a": 3, "b": True, "c": ["fox", "dog"], "d": ["fox", "dog"], "e": "x"}
    assert [type(cell) for cell in row.columns.values()] == [int, bool, list, list, str]


def test_a_path_is_read_as_its_file(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text\nfox\n")
    for source in (tmp_path / "in.csv", str(tmp_path / "in.csv")):
        name, rows = open_rows(source)
        assert (name, list(rows)) == (tmp_path / "in.csv", [Row(2, {"text": "fox"})])


@pytest.mark.parametrize("source", [3, None, b"secret", {"text": "secret"}])
def test_what_are_no_rows_is_refused_without_showing_it(source: Any) -> None:
    with pytest.raises(DataError, match="needs a file's path, a table, or rows as dicts") as caught:
        open_rows(source)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("row", ["secret", ["secret"], ("secret", "label"), 3])
def test_a_row_that_is_no_dict_is_refused_with_its_number(row: Any) -> None:
    _, rows = open_rows([{"text": "fox"}, row])
    with pytest.raises(DataError, match=r"row 1 \(counted from 0\): is a .*, but a row must be a dict") as caught:
        list(rows)
    assert "secret" not in str(caught.value)
