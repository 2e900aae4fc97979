"""Files as people have them: compressed, one list of objects, as Excel writes them, in another encoding."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import RunWeft
from weft.data import delimited
from weft.data.formats import FORMATS, WRITABLE, check_output, read_column, read_rows, write_rows
from weft.data.opening import EncodedFile, check_encoding
from weft.data.tables import open_rows
from weft.errors import ConfigError, DataError

ROWS = [{"text": 'größer, kleiner; "gleich"', "n": "1"}, {"text": "zwei\nZeilen", "n": "2"}]
SECRET = b"text\nsecret words\n"
TEXT = [suffix for suffix in WRITABLE if FORMATS[suffix].text and FORMATS[suffix].shape != "words"]


def rows_of(path: Path, encoding: str = "utf-8") -> list[dict[str, Any]]:
    return [row.columns for row in read_rows(path, encoding)]


def without_line_ends(suffix: str) -> list[dict[str, str]]:
    return [{**row, "text": row["text"].replace("\n", " ") if suffix == ".tsv" else row["text"]} for row in ROWS]


@pytest.mark.parametrize("suffix", TEXT)
def test_what_is_written_compressed_is_read_back_and_the_same_bytes_at_any_time(tmp_path: Path, suffix: str) -> None:
    rows = without_line_ends(suffix)
    for name in ("a", "b"):
        write_rows(tmp_path / f"{name}{suffix}.gz", rows)
    assert rows_of(tmp_path / f"a{suffix}.gz") == rows
    write_rows(tmp_path / f"plain{suffix}", rows)
    packed = (tmp_path / f"a{suffix}.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / f"plain{suffix}").read_bytes()
    assert packed == (tmp_path / f"b{suffix}.gz").read_bytes()


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252"])
@pytest.mark.parametrize("start", [b"PK\3\4", b"\xd0\xcf\x11\xe0"])
def test_a_workbook_under_the_name_of_a_text_is_told_how_to_be_exported(
    tmp_path: Path, start: bytes, encoding: str
) -> None:
    (tmp_path / "in.csv").write_bytes(start + b"\x14\0\x81 secret\n")
    with pytest.raises(DataError, match="is a workbook of Excel or another zip file.*save its sheet as CSV"):
        rows_of(tmp_path / "in.csv", encoding)


@pytest.mark.parametrize("content", [b"\x07\x9d\xfe\x01secret\n", b"secret\0\n"])
def test_bytes_that_are_no_text_are_not_asked_for_their_encoding(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(DataError, match="so this is no text file, or a damaged one; export its rows anew") as caught:
        rows_of(tmp_path / "in.csv")
    assert "encoding" not in str(caught.value)


def test_plain_text_and_conll_are_read_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"eins\nzwei\n"))
    assert list(read_column(tmp_path / "a.txt.gz", "text")) == ["eins", "zwei"]
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(b"# text\n1\tfox\tfox\tNOUN\tNN\n"))
    assert rows_of(tmp_path / "a.conllu.gz")[0]["tags"] == ["NOUN"]


@pytest.mark.parametrize(
    "content", [b"text\nsecret words\n", gzip.compress(b"text\nsecret words\n" * 99, mtime=0)[:40]]
)
def test_a_broken_gz_file_is_one_message(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "in.csv.gz").write_bytes(content)
    with pytest.raises(DataError, match="is no whole .gz file") as caught:
        rows_of(tmp_path / "in.csv.gz")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["x.gz", "x.parquet.gz", "x.docx.gz", "x.csv.zip"])
def test_what_cannot_be_compressed_is_refused_by_its_whole_suffix(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(DataError, match=r"unknown file type .*\.csv, .*and \.gz behind those of text"):
        rows_of(tmp_path / name)
    with pytest.raises(ConfigError, match="unknown output type"):
        check_output(tmp_path / name)


# JSON


def test_a_list_of_objects_is_rows_counted_from_one(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps([{"text": "a", "spans": [[0, 1, "x"]]}, {"text": "b"}], indent=1))
    found = list(read_rows(tmp_path / "in.json"))
    assert [(row.line, row.optional, row.columns["text"]) for row in found] == [(1, True, "a"), (2, True, "b")]
    write_rows(tmp_path / "out.json", iter([{"text": "é", "t": {"label": "x"}}, {"n": 2}]))
    assert json.loads((tmp_path / "out.json").read_text("utf-8")) == [{"text": "é", "t": {"label": "x"}}, {"n": 2}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "secret"}', "holds an object, but must hold a list of objects"),
        ('[{"text": "secret"}, "secret"]', "entry 2 of the list is a text, but must be an object"),
        ('[{"text": "secret"},\n nix]', "in.json, line 2: is not valid JSON"),
        ('{"text": "secret"}\n{"text": "secret"}\n', "with an object in every line is called .jsonl"),
    ],
)
def test_json_that_is_no_list_of_objects_is_one_message(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "in.json").write_text(content)
    with pytest.raises(DataError) as caught:
        rows_of(tmp_path / "in.json")
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


# As Excel has it


@pytest.mark.parametrize(
    "content",
    [
        'id;text\n1;"a;b, c"\n2;d,e\n',
        '"i,d";text\n1;"a;b, c"\n2;d,e\n',
        'sep=;\nid;text\n1;"a;b, c"\n2;d,e\n',
        '\ufeffid;text\r\n1;"a;b, c"\r\n2;d,e\r\n',
    ],
)
@pytest.mark.parametrize("limit", [100, 3])
def test_semicolons_separate_where_the_header_has_them_and_no_comma(tmp_path: Path, content: str, limit: int) -> None:
    (tmp_path / "in.csv").write_text(content, encoding="utf-8", newline="")
    before = csv.field_size_limit(limit)  # longer fields are read by a way of our own
    try:
        found = list(read_rows(tmp_path / "in.csv"))
    finally:
        csv.field_size_limit(before)
    assert [row.columns["text"] for row in found] == ["a;b, c", "d,e"]
    skipped = content.startswith("sep")
    assert [row.line for row in found] == [2 + skipped, 3 + skipped]


@pytest.mark.parametrize("mark", ["\t", "|", ";"])
@pytest.mark.parametrize("limit", [100, 3])
def test_other_marks_separate_where_the_header_has_them_and_no_comma(tmp_path: Path, mark: str, limit: int) -> None:
    other = ";" if mark == "|" else "|"
    (tmp_path / "in.csv").write_text(f'a{mark}text\n1{mark}"2{mark}3"\n{other}{mark}d,e\n', encoding="utf-8")
    before = csv.field_size_limit(limit)
    try:
        assert rows_of(tmp_path / "in.csv") == [{"a": "1", "text": f"2{mark}3"}, {"a": other, "text": "d,e"}]
    finally:
        csv.field_size_limit(before)
    (tmp_path / "in.csv").write_text("text;late|early\nfox;1\n", encoding="utf-8")
    assert rows_of(tmp_path / "in.csv") == [{"text": "fox", "late|early": "1"}]


def test_commas_separate_wherever_the_header_has_one(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a;b,text\n1;2,3\n", encoding="utf-8")
    assert rows_of(tmp_path / "in.csv") == [{"a;b": "1;2", "text": "3"}]


def test_csv_for_excel_is_marked_and_has_the_commas_of_its_reader(tmp_path: Path) -> None:
    rows = [{"text": "größer; kleiner", "score": 0.25, "n": 3, "note": "1.5"}]
    write_rows(tmp_path / "s.csv", rows, excel="semicolon")
    assert (tmp_path / "s.csv").read_bytes() == b"\xef\xbb\xbf" + (
        'text;score;n;note\r\n"größer; kleiner";0,25;3;1.5\r\n'.encode()
    )
    assert rows_of(tmp_path / "s.csv") == [{"text": "größer; kleiner", "score": "0,25", "n": "3", "note": "1.5"}]
    write_rows(tmp_path / "c.csv", rows, excel="comma")
    assert (tmp_path / "c.csv").read_text("utf-8-sig") == "text,score,n,note\ngrößer; kleiner,0.25,3,1.5\n"
    with pytest.raises(ConfigError, match="only .csv can be written for Excel"):
        write_rows(tmp_path / "c.tsv", rows, excel="comma")


# Encodings


def test_a_file_is_read_in_the_encoding_that_is_said(tmp_path: Path) -> None:
    for encoding in ("cp1252", "utf-16", "latin-1", "UTF8"):
        (tmp_path / "in.csv").write_bytes("text,n\ngrößer,1\nkleiner,2\n".encode(encoding))
        source = EncodedFile(tmp_path / "in.csv", encoding)
        assert [(row.line, row.columns["text"]) for row in open_rows(source)[1]] == [(2, "größer"), (3, "kleiner")]
        assert open_rows(source)[0] == tmp_path / "in.csv"


@pytest.mark.parametrize("name", ["marked.csv", "marked.csv.gz"])
def test_a_mark_of_utf8_settles_its_own_file_whatever_is_said_of_others(tmp_path: Path, name: str) -> None:
    content = "text,n\ngrößer,1\n".encode("utf-8-sig")
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert [row.columns for row in read_rows(tmp_path / name, "cp1252")] == [{"text": "größer", "n": "1"}]


def test_a_file_that_is_not_utf8_is_told_its_likely_encoding_and_how_to_say_it(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("text\nsecret größer\n".encode("cp1252"))
    with pytest.raises(DataError) as caught:
        rows_of(tmp_path / "in.csv")
    assert "in.csv, line 2: is not UTF-8 (byte 0xf6 at position 10); probably it is Windows-1252" in str(caught.value)
    assert '--encoding cp1252 (in a config, encoding = "cp1252" of the task)' in str(caught.value)
    assert "secret" not in str(caught.value)
    (tmp_path / "in.csv").write_bytes(b"text\n\x81\x8d\n")  # which Windows-1252 does not have
    with pytest.raises(DataError, match="save the file as UTF-8, or say which encoding"):
        rows_of(tmp_path / "in.csv")


def test_a_dash_as_output_is_told_how_answers_are_printed() -> None:
    with pytest.raises(ConfigError, match="- names no file; to see answers on the screen, .* leave --output out"):
        check_output(Path("-"))


def test_a_wrong_encoding_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("text\nsecret größer\n".encode())
    with pytest.raises(DataError, match=r"in\.csv.*is not ascii, or not from here on") as caught:
        rows_of(tmp_path / "in.csv", "ascii")
    assert "secret" not in str(caught.value)
    for name in ("cp9999", "base64", "secret\0"):
        with pytest.raises(ValueError, match="is no encoding; allowed are such as utf-8, cp1252"):
            check_encoding(name)
    with pytest.raises(DataError, match=r"\.parquet has no encoding to choose"):
        rows_of(tmp_path / "in.parquet", "cp1252")


def test_commands_take_an_encoding(run_weft: RunWeft, tmp_path: Path, small_encoder: str) -> None:
    (tmp_path / "in.csv").write_bytes("text\ngrößer\n".encode("cp1252"))
    arguments = ("embed", small_encoder, "--input", tmp_path / "in.csv", "--output", tmp_path / "out.npy")
    assert "--encoding cp1252" in run_weft(*arguments)[2]
    assert run_weft(*arguments, "--encoding", "cp1252")[0] == 0
    code, _, err = run_weft(*arguments, "--encoding", "nix")
    assert code == 2
    assert "'nix' is no encoding" in err


def test_fields_split_by_hand_know_their_separator() -> None:
    assert delimited.split_record(iter(['a,b;"c;""d";e\n']), ";") == ["a,b", 'c;"d', "e"]
