"""CoNLL files are read sentence by sentence, every word with its columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.data.formats import Row, read_rows
from weft.errors import DataError

SUFFIXES = (".conll", ".bio", ".iob", ".iob2", ".bioes")


def read(tmp_path: Path, content: str | bytes, suffix: str = ".conll") -> list[Row]:
    path = tmp_path / f"data{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_rows(path))


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".CoNLL"])
def test_a_sentence_is_a_row_with_its_tokens_its_tags_and_all_its_columns(tmp_path: Path, suffix: str) -> None:
    rows = read(tmp_path, "\nEU NNP B-ORG\nrejects VBZ O\n\n\nPeter NNP B-PER\n", suffix)
    assert [row.line for row in rows] == [2, 6]
    assert rows[0].columns == {
        "tokens": ["EU", "rejects"],
        "tags": ["B-ORG", "O"],
        "column1": ["EU", "rejects"],
        "column2": ["NNP", "VBZ"],
        "column3": ["B-ORG", "O"],
    }
    assert rows[1].columns["tokens"] == ["Peter"]


def test_one_column_is_only_tokens(tmp_path: Path) -> None:
    assert [row.columns for row in read(tmp_path, "a\nb\n\nc")] == [{"tokens": ["a", "b"]}, {"tokens": ["c"]}]


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n\r\n", b"  \n\t\n", b"\xef\xbb\xbf", b"-DOCSTART- -X- O O\n\n"])
def test_a_file_without_words_has_no_rows(tmp_path: Path, content: bytes) -> None:
    assert read(tmp_path, content) == []
    assert read(tmp_path, content.replace(b"-DOCSTART-", b"#"), ".conllu") == []


PLAIN = "EU\tB-ORG\nrejects\tO\n\nPeter\tB-PER\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        "\ufeff" + PLAIN.replace("\n", "\r\n"),
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\r\n").rstrip("\r\n"),
        PLAIN.replace("\n", " \n"),
        PLAIN.replace("\t", "  "),
        PLAIN.replace("\n\n", "\n\t \n"),
        PLAIN + "\n\n",
    ],
)
def test_line_ends_byte_order_marks_and_blanks_at_the_end_change_nothing(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == read(tmp_path, PLAIN)
    assert [row.columns["tags"] for row in read(tmp_path, content)] == [["B-ORG", "O"], ["B-PER"]]


def test_document_lines_are_left_out_and_end_a_sentence(tmp_path: Path) -> None:
    rows = read(tmp_path, "-DOCSTART- -X- O O\n\na x O\n-DOCSTART-\nb x O\n\n-DOCSTART- -X- O O\n")
    assert [(row.line, row.columns["tokens"]) for row in rows] == [(3, ["a"]), (5, ["b"])]


def test_a_number_sign_is_a_word(tmp_path: Path) -> None:
    rows = read(tmp_path, "# O\n1 O\n#tag B-x\n")
    assert rows[0].columns["tokens"] == ["#", "1", "#tag"]
    assert rows[0].columns["tags"] == ["O", "O", "B-x"]


def test_between_tabs_a_word_may_hold_blanks_and_any_other_white_space_is_a_character(tmp_path: Path) -> None:
    assert read(tmp_path, "New York\tB-x\n")[0].columns["tokens"] == ["New York"]
    assert read(tmp_path, "\u00a0 O\na\u2003b O\n")[0].columns["tokens"] == ["\u00a0", "a\u2003b"]


def test_a_line_with_other_columns_is_named_without_its_words(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has 3 columns, but the sentence began with 2 in line 3") as caught:
        read(tmp_path, "secret O\n\nsecret O\nsecret x O\n")
    assert caught.value.line == 4
    assert caught.value.file == tmp_path / "data.conll"
    assert "secret" not in str(caught.value)


def test_sentences_before_a_bad_line_are_read(tmp_path: Path) -> None:
    path = tmp_path / "data.bio"
    path.write_text("a O\n\nb O\nc\n")
    rows = read_rows(path)
    assert next(rows).columns["tokens"] == ["a"]
    with pytest.raises(DataError, match="line 4: has 1 columns"):
        next(rows)


UNIVERSAL = """# sent_id = 1
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tV\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_
2.1\tquick\tquick\tADJ\tA\t_\t_\t_\t_\t_
3\t#\t#\tSYM\tS\t_\t1\tobl\t_\t_

# only a comment

1\tmar\tmar\tNOUN\tN\t_\t0\troot\t_\tSpaceAfter=No
"""


@pytest.mark.parametrize("content", [UNIVERSAL, UNIVERSAL.rstrip(), "\ufeff" + UNIVERSAL.replace("\n", "\r\n")])
def test_universal_dependencies_are_read_by_their_columns(tmp_path: Path, content: str) -> None:
    rows = read(tmp_path, content, ".conllu")
    assert [row.line for row in rows] == [4, 11]
    assert rows[0].columns == {
        "tokens": ["vamos", "nos", "#"],
        "tags": ["VERB", "PRON", "SYM"],
        "lemma": ["ir", "nosotros", "#"],
        "upos": ["VERB", "PRON", "SYM"],
        "xpos": ["V", "P", "S"],
    }
    assert rows[1].columns["tokens"] == ["mar"]


def test_a_universal_file_with_too_few_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: has 2 columns, but CoNLL-U has 10, of which the first 5 are needed"):
        read(tmp_path, "word\tO\n", ".conllu")


field = st.text(st.characters(codec="utf-8", exclude_characters="\0\t\n\r "), min_size=1, max_size=6)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sentences=st.lists(st.lists(st.tuples(field, field), min_size=1, max_size=5), max_size=5),
    mark=st.sampled_from("\t "),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_was_written_is_read(tmp_path: Path, sentences: list[list[tuple[str, str]]], mark: str, end: str) -> None:
    lines = [end.join(mark.join(word) for word in sentence) + end for sentence in sentences]
    rows = read(tmp_path, "\ufeff" + end.join(lines))
    assert [list(zip(row.columns["tokens"], row.columns["tags"], strict=True)) for row in rows] == sentences
