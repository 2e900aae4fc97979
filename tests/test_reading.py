"""Files are read row by row with their lines, or refused with the place and without the text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.data.formats import Row, read_column, read_rows
from weft.errors import DataError

SECRET = "Geheimnis"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_parquet(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def rows_of(path: Path) -> list[tuple[int, dict[str, Any]]]:
    return [(row.line, row.columns) for row in read_rows(path)]


def fault_of(path: Path, column: str | None = None) -> DataError:
    """The error of reading a file to its end; it names the file and keeps the text to itself."""
    with pytest.raises(DataError) as caught:
        list(read_rows(path) if column is None else read_column(path, column))
    error = caught.value
    assert error.file == path
    assert str(error).startswith(str(path))
    assert SECRET not in str(error)
    return error


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", "id,text\n1,the fox\n2,a dog\n3,été\n"),
        ("rows.tsv", "id\ttext\n1\tthe fox\n2\ta dog\n3\tété\n"),
        ("rows.jsonl", '{"id": "1", "text": "the fox"}\n{"id": "2", "text": "a dog"}\n{"id": "3", "text": "été"}\n'),
        ("rows.CSV", "id,text\r\n1,the fox\r\n2,a dog\r\n3,été"),
    ],
)
def test_every_format_gives_the_same_rows_in_order(tmp_path: Path, name: str, content: str) -> None:
    expected = [{"id": "1", "text": "the fox"}, {"id": "2", "text": "a dog"}, {"id": "3", "text": "été"}]
    path = write(tmp_path, name, content)
    assert [columns for _, columns in rows_of(path)] == expected
    assert list(read_column(path, "text")) == ["the fox", "a dog", "été"]


def test_parquet_rows_come_in_order_and_are_counted_from_1(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(3000)]
    path = write_parquet(tmp_path, {"text": texts, "label": list(range(3000))})
    assert list(read_rows(path))[-1] == Row(3000, {"text": "text 2999", "label": 2999})
    assert list(read_column(path, "text")) == texts


def test_plain_text_is_one_text_per_line_and_an_empty_line_is_an_empty_text(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.txt", "the fox\r\n\n a\tdog \u2028 it\u0085 is")
    assert rows_of(path) == [(1, {"text": "the fox"}), (2, {"text": ""}), (3, {"text": " a\tdog \u2028 it\u0085 is"})]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", "text\nfox\n"),
        ("rows.tsv", "text\nfox\n"),
        ("rows.jsonl", '{"text": "fox"}'),
        ("rows.txt", "fox"),
    ],
)
def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path, name: str, content: str) -> None:
    assert list(read_column(write(tmp_path, name, "\ufeff" + content), "text")) == ["fox"]


def test_csv_rows_carry_the_line_they_begin_on_however_many_they_span(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.csv", 'id,text\r\n1,"two\r\nlines, one ""text"""\r\n\r\n2,""\r\n')
    assert rows_of(path) == [(2, {"id": "1", "text": 'two\r\nlines, one "text"'}), (5, {"id": "2", "text": ""})]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("rows.csv", "\n\ntext,id\n\nfox,1\n\n", 5),
        ("rows.tsv", "\r\ntext\tid\r\n\r\nfox\t1\r\n\r\n", 4),
        ("rows.jsonl", '\n  \n{"text": "fox", "id": "1"}\n\n', 3),
    ],
)
def test_blank_lines_are_skipped_and_counted(tmp_path: Path, name: str, content: str, line: int) -> None:
    assert rows_of(write(tmp_path, name, content)) == [(line, {"text": "fox", "id": "1"})]


def test_a_row_of_empty_fields_is_no_blank_line(tmp_path: Path) -> None:
    assert rows_of(write(tmp_path, "rows.csv", 'text\n""\n')) == [(2, {"text": ""})]
    assert rows_of(write(tmp_path, "rows.tsv", "a\tb\n\t\n")) == [(2, {"a": "", "b": ""})]


def test_quotes_in_tsv_are_text_unless_they_enclose_a_whole_field(tmp_path: Path) -> None:
    path = write(tmp_path, "rows.tsv", 'a\tb\tc\n"say ""hi"""\t5" pipe\t"\n')
    assert rows_of(path) == [(2, {"a": 'say "hi"', "b": '5" pipe', "c": '"'})]


def test_a_field_may_be_longer_than_the_limit_of_the_csv_module(tmp_path: Path) -> None:
    assert list(read_column(write(tmp_path, "rows.csv", "text\n" + "x" * 200_000), "text")) == ["x" * 200_000]


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.txt"])
def test_an_empty_file_has_no_rows(tmp_path: Path, name: str) -> None:
    assert rows_of(write(tmp_path, name, b"")) == []


@pytest.mark.parametrize(("name", "content"), [("rows.csv", "id,text\n"), ("rows.tsv", "id\ttext")])
def test_a_header_alone_has_no_rows(tmp_path: Path, name: str, content: str) -> None:
    assert rows_of(write(tmp_path, name, content)) == []


@pytest.mark.parametrize(
    ("name", "content", "line", "message"),
    [
        ("rows.csv", f'id,text\n1,fine\n2,"{SECRET}\n3,fine\n', 3, "quote that is not closed"),
        ("rows.csv", f'id,text\n1,"a {SECRET}" b"\n', 2, "not doubled"),
        (
            "rows.csv",
            f"id,text\r1,{SECRET}\r",
            1,
            "has a carriage return outside quotes, with which lines end in files of old Macs; save",
        ),
        ("rows.csv", f"id,text\n1,fine\n2,{SECRET},more\n", 3, "has 3 fields, but the header has 2; put a"),
        ("rows.tsv", f"id\ttext\n{SECRET}\n", 2, "has 1 fields, but the header has 2; a field may hold"),
        ("rows.csv", "\nid,text,id\n", 2, "the header gives columns 1 and 3 one name"),
        ("rows.tsv", "id\tid\n", 1, "the header gives columns 1 and 2 one name"),
        ("rows.jsonl", f'{{"text": "fine"}}\n{{"text": "{SECRET}\n', 2, "not valid JSON: .* at position"),
        ("rows.jsonl", f'["{SECRET}"]\n', 1, "holds a list, but must hold an object"),
        ("rows.jsonl", f'\n"{SECRET}"\n', 2, "holds a text, but must hold an object"),
        ("rows.jsonl", '{"text": ' + "1" * 5000 + "}", 1, "too long"),
        ("rows.jsonl", "[" * 100_000, 1, "too deep"),
        ("rows.txt", f"fine\n{SECRET}\0\n", 2, "NUL byte"),
        ("rows.csv", f"id,text\n1,{SECRET}\0\n", 2, "NUL byte"),
        ("rows.csv", "id,text\n".encode("utf-16"), 1, "is UTF-16, not UTF-8; say --encoding utf-16"),
        (
            "rows.txt",
            f"fine\n{SECRET} caf\u00e9\n".encode("latin-1"),
            2,
            "not UTF-8 .byte 0xe9 at position 14.*cp1252",
        ),
        ("rows.txt", b"\xef\xbb\xbfab\xff", 1, "not UTF-8 .byte 0xff at position 3"),
        ("rows.jsonl", b'{"text": "\xff"}', 1, "not UTF-8 .byte 0xff"),
        ("rows.tsv", b"a\tb\n1\t\xc3", 2, "not UTF-8 .byte 0xc3"),
    ],
)
def test_a_broken_row_is_refused_with_its_line(
    tmp_path: Path, name: str, content: str | bytes, line: int, message: str
) -> None:
    error = fault_of(write(tmp_path, name, content))
    assert error.line == line
    assert f"line {line}: " in str(error)
    assert re.search(message, str(error))


def test_rows_before_a_broken_one_are_read(tmp_path: Path) -> None:
    rows = read_rows(write(tmp_path, "rows.csv", "id,text\n1,fox\n2\n"))
    assert next(rows).columns == {"id": "1", "text": "fox"}
    with pytest.raises(DataError, match="line 3"):
        next(rows)


@pytest.mark.parametrize(
    ("name", "content", "line", "found"),
    [
        ("rows.jsonl", '{"text": null}', 1, "has no value"),
        ("rows.jsonl", '{"text": 12}', 1, "has a value of type int"),
        ("rows.jsonl", f'{{"text": ["{SECRET}"]}}', 1, "has a value of type list"),
        ("rows.jsonl", f'{{"text": "{SECRET} \\ud800"}}', 1, "holds half a character"),
    ],
)
def test_a_column_without_text_is_refused_with_line_and_column(
    tmp_path: Path, name: str, content: str, line: int, found: str
) -> None:
    error = fault_of(write(tmp_path, name, content), "text")
    assert (error.line, error.column) == (line, "text")
    assert f", line {line}, column 'text': {found}" in str(error)


def test_a_parquet_value_that_is_no_text_is_refused_with_its_row(tmp_path: Path) -> None:
    error = fault_of(write_parquet(tmp_path, {"text": ["fine", None]}), "text")
    assert (error.line, error.column) == (2, "text")


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    whole = write_parquet(tmp_path, {"text": [SECRET] * 100}).read_bytes()
    for content in (b"", SECRET.encode(), whole[:-5], whole[: len(whole) // 2]):
        fault_of(write(tmp_path, "damaged.parquet", content))
    wrong = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    assert "not a readable Parquet file" in str(fault_of(write_parquet(tmp_path, {"text": wrong})))


def test_parquet_that_names_a_column_twice_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), tmp_path / "rows.parquet")
    assert "columns 1 and 2 one name" in str(fault_of(tmp_path / "rows.parquet"))


def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    error = fault_of(write(tmp_path, "rows.xlsx", b""))
    assert "unknown file type '.xlsx'; allowed: .csv, .tsv, .jsonl, .json, .parquet, .txt" in str(error)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there is no such file" in str(fault_of(tmp_path / "rows.csv"))
    assert "in the folder" not in str(fault_of(tmp_path / "rows.csv"))  # the message begins with it
    monkeypatch.chdir(tmp_path)
    said = str(fault_of(Path("data/rows.csv")))
    assert said == f"data/rows.csv: there is no such file in the folder {tmp_path / 'data'}"
    (tmp_path / "folder.csv").mkdir()
    for folder in (tmp_path, tmp_path / "folder.csv"):
        assert "this is a folder, not a file; name a file in it" in str(fault_of(folder))


def test_a_file_that_may_not_be_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, "rows.csv", "text\n")
    monkeypatch.setattr(Path, "open", deny)
    assert "cannot be opened: Permission denied" in str(fault_of(path))


def test_a_file_without_a_header_does_not_show_its_first_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('"my chest hurts since Tuesday and my brother drove me",urgent\n"all is well",calm\n')
    with pytest.raises(DataError, match="its 2 columns are not shown") as caught:
        list(read_column(path, "text"))
    assert not {"chest", "urgent"} & set(str(caught.value).split())
