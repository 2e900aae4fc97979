"""Files keep every column of every row, take fields of any length, and change nothing in the process."""

from __future__ import annotations

import csv
import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.data import delimited, parquet
from weft.data.atomic import replacing
from weft.data.delimited import split_record
from weft.data.formats import FORMATS, WRITABLE, read_rows, write_rows
from weft.data.unicode import normalise
from weft.errors import DataError

TABLES = [".csv", ".tsv", ".parquet"]


def written(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert write_rows(path, iter(rows)) == len(rows)
    return [row.columns for row in read_rows(path)]


def text_of(value: Any) -> str:
    return "" if value is None else str(value)


@pytest.mark.parametrize("suffix", TABLES)
def test_a_table_has_the_columns_of_all_rows_in_the_order_they_appear(tmp_path: Path, suffix: str) -> None:
    rows = [{"id": "1"}, {"id": "2", "note": "new"}, {"more": "last", "id": "3"}]
    found = written(tmp_path / f"out{suffix}", rows)
    assert [list(row) for row in found] == [["id", "note", "more"]] * 3
    assert [[text_of(cell) for cell in row.values()] for row in found] == [
        ["1", "", ""],
        ["2", "new", ""],
        ["3", "", "last"],
    ]


def test_json_lines_keep_the_keys_of_each_row(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": 1}, {"note": {"a": [1, None]}}, {}]
    assert written(tmp_path / "out.jsonl", rows) == rows


@pytest.mark.parametrize("suffix", TABLES)
def test_a_column_of_the_last_of_many_rows_is_kept(tmp_path: Path, suffix: str) -> None:
    rows: list[dict[str, Any]] = [*({"id": str(n)} for n in range(3 * parquet._CHUNK)), {"id": "x", "late": "y"}]
    found = written(tmp_path / f"out{suffix}", rows)
    assert len(found) == len(rows)
    assert text_of(found[0]["late"]) == ""
    assert found[-1] == {"id": "x", "late": "y"}


@pytest.mark.parametrize(
    ("first", "later", "kind"),
    [(1, 2.5, "double"), (None, 3, "int64"), (3, None, "int64"), (None, "a", "string"), (None, None, "null")],
)
def test_parquet_columns_have_the_type_that_holds_all_values(
    tmp_path: Path, first: Any, later: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_CHUNK", 2)
    found = written(tmp_path / "out.parquet", [{"x": value} for value in (first, first, later, later)])
    assert [row["x"] for row in found] == [first, first, later, later]
    assert str(pq.read_schema(tmp_path / "out.parquet").field("x").type) == kind


@pytest.mark.parametrize("chunk", [1, 8])
def test_numbers_beside_texts_are_refused_in_parquet_without_quoting_them(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_CHUNK", chunk)
    with pytest.raises(DataError, match="values of several types") as caught:
        write_rows(tmp_path / "out.parquet", [{"x": 1}, {"x": "secret"}])
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_nested_values_become_columns_and_json(tmp_path: Path) -> None:
    rows = [{"a": {"b": 1, "c": {"d": 2}}}, {"a": {"b": 2}, "l": [1, "é"]}]
    found = written(tmp_path / "out.csv", rows)
    assert found[0] == {"a.b": "1", "a.c": '{"d": 2}', "l": ""}
    assert found[1] == {"a.b": "2", "a.c": "", "l": '[1, "é"]'}


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITABLE if FORMATS[suffix].shape != "words"])
def test_what_is_written_in_a_format_is_read_back_from_it(tmp_path: Path, suffix: str) -> None:
    rows = [{"text": 'say "hi", twice', "n": "1"}, {"text": "été", "n": "2"}]
    assert written(tmp_path / f"out{suffix}", rows) == rows


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITABLE if FORMATS[suffix].tabular])
def test_a_table_without_rows_has_a_header_that_is_asked_for_when_all_rows_have_been_seen(
    tmp_path: Path, suffix: str
) -> None:
    seen: list[str] = []

    def rows() -> Iterator[dict[str, str]]:
        seen.extend(["text", "start"])
        yield from ()

    path = tmp_path / f"out{suffix}"
    assert write_rows(path, rows(), header=lambda: seen) == 0
    if suffix == ".parquet":
        assert (pq.read_table(path).column_names, list(read_rows(path))) == (["text", "start"], [])
    else:
        assert path.read_text(encoding="utf-8").split() == (["text,start"] if suffix == ".csv" else ["text", "start"])
    write_rows(path, [{"a": "b"}], header=lambda: seen)
    assert [row.columns for row in read_rows(path)] == [{"a": "b"}]


@pytest.mark.parametrize("suffix", WRITABLE)
def test_no_rows_are_a_file_without_rows(tmp_path: Path, suffix: str) -> None:
    assert written(tmp_path / f"out{suffix}", []) == []


@pytest.mark.parametrize("suffix", WRITABLE)
def test_rows_are_written_as_they_come_and_nothing_stays_of_a_failure(tmp_path: Path, suffix: str) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"text": ["fox"]}
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_rows(tmp_path / f"out{suffix}", rows())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITABLE if FORMATS[suffix].shape == "words"])
def test_words_and_their_tags_are_read_back_and_texts_without_words_left_out(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"tokens": ["the", "fox #1"], "tags": ["O", "B-x"]},
        {"tokens": [], "tags": []},
        {"tokens": ["a"], "b": ["O"]},
    ]
    write_rows(tmp_path / f"out{suffix}", rows)
    found = [(row.columns["tokens"], row.columns["tags"]) for row in read_rows(tmp_path / f"out{suffix}")]
    assert found == [(["the", "fox #1"], ["O", "B-x"]), (["a"], ["O"])]


@pytest.mark.parametrize("word", ["secret\twords", "secret\nwords", ""])
def test_a_word_that_no_line_can_hold_is_refused_without_quoting_it(tmp_path: Path, word: str) -> None:
    with pytest.raises(DataError, match="a tab or a line end") as caught:
        write_rows(tmp_path / "out.conll", [{"tokens": [word], "tags": ["O"]}])
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_half_a_character_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(DataError, match="half a character"):
        write_rows(tmp_path / f"out{suffix}", [{"text": "secret \ud800"}])
    assert list(tmp_path.iterdir()) == []


# long fields


def test_the_limit_of_csv_fields_stays_what_it_is(tmp_path: Path) -> None:
    before, long = csv.field_size_limit(), "x" * 200_000
    assert len(long) > before
    (tmp_path / "in.csv").write_text(f'id,text\n1,{long}\n2,"{long}""\n{long}"\n3,short\n', encoding="utf-8")
    rows = list(read_rows(tmp_path / "in.csv"))
    assert [(row.line, row.columns["text"]) for row in rows] == [(2, long), (3, f'{long}"\n{long}'), (5, "short")]
    assert csv.field_size_limit() == before


def test_a_lower_limit_of_the_process_does_not_hinder_reading(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('id,text\n1,"a longer ""text"""\n', encoding="utf-8")
    before = csv.field_size_limit(5)
    try:
        assert [row.columns for row in read_rows(tmp_path / "in.csv")] == [{"id": "1", "text": 'a longer "text"'}]
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize(
    ("start", "end", "problem"),
    [
        ('"', "\n3,y", "quote that is not closed"),
        ('"', '" y"\n', "quote that is not closed"),
        ("", "\ry\n", "a carriage return outside quotes"),
    ],
)
def test_a_long_row_that_is_broken_is_named_by_the_line_it_begins_on(
    tmp_path: Path, start: str, end: str, problem: str
) -> None:
    (tmp_path / "in.csv").write_text(f"id,text\n\n2,{start}{'x' * 200_000}{end}", encoding="utf-8", newline="")
    with pytest.raises(DataError, match=problem) as caught:
        list(read_rows(tmp_path / "in.csv"))
    assert caught.value.line == 3
    assert "xxx" not in str(caught.value)


@given(st.lists(st.text('a",\r\n ', max_size=12), min_size=1, max_size=4))
def test_records_are_split_as_the_csv_module_splits_them(parts: list[str]) -> None:
    lines = [f"{part}\n" for part in "".join(parts).split("\n")]
    if not lines[0].strip("\r\n"):
        return  # a blank line is no record
    expected: list[str] | str
    try:
        expected = next(csv.reader(iter(lines), strict=True))
    except csv.Error:
        expected = "refused"
    found: list[str] | str
    try:
        found = split_record(iter(lines))
    except csv.Error:
        found = "refused"
    assert found == expected


# the process


def test_a_new_file_has_the_mode_of_any_new_file_and_the_mask_is_never_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda _: pytest.fail("the mask belongs to the whole process"))
            write_rows(tmp_path / "out.jsonl", [{"a": 1}])
        assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_files_written_at_once_do_not_meet(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(20):
            with replacing(tmp_path / "out.txt") as temporary:
                temporary.write_text(str(number) * 1000)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set((tmp_path / "out.txt").read_text())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


# speed


def test_many_columns_and_long_lines_are_read_in_seconds(tmp_path: Path) -> None:
    names = [f"column{number}" for number in range(30_000)]
    cells = ",".join("x" for _ in names)
    (tmp_path / "wide.csv").write_text(",".join(names) + f"\n{cells}\n{cells}\n", encoding="utf-8")
    long = "the patient said. " * 1_100_000  # 20 MB
    (tmp_path / "long.csv").write_text(f'text\n"{long}"\n', encoding="utf-8")
    (tmp_path / "long.jsonl").write_text(json.dumps({"text": long}), encoding="utf-8")
    began = time.process_time()
    assert sum(len(row.columns) for row in read_rows(tmp_path / "wide.csv")) == 60_000
    for suffix in ("csv", "jsonl"):
        assert [row.columns["text"] for row in read_rows(tmp_path / f"long.{suffix}")] == [long]
    assert len(normalise(long)) == len(long) - 2 * 1_100_000 + 1_100_000 - 1
    assert time.process_time() - began < 6


def test_every_format_is_a_module_of_its_own() -> None:
    readers = [format.read.__module__ for format in FORMATS.values()]
    writers = [format.write.__module__ for format in FORMATS.values() if format.write is not None]
    assert set(writers) <= set(readers)
    assert delimited.__name__ in readers
    assert list(chain(WRITABLE)) == [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".conll", ".bio", ".iob2"]
