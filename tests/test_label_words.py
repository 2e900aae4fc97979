"""What is read of labels before any row has them, and how they are listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.data.label_list import read_labels
from weft.data.label_words import label_texts, label_words
from weft.errors import ConfigError, DataError

SECRET = "my chest hurts since the morning"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("card_lost", "card lost"),
        ("Refund__not_showing_up", "Refund not showing up"),
        ("_private_", "private"),
        ("card-lost", "card lost"),
        ("follow-up-call", "follow up call"),
        ("covid-19", "covid-19"),
        ("-1", "-1"),
        ("a - b", "a - b"),
        ("trailing-", "trailing-"),
        ("CardLost", "Card Lost"),
        ("cardLost", "card Lost"),
        ("NoShow", "No Show"),
        ("PINBlocked", "PIN Blocked"),
        ("lostPIN", "lost PIN"),
        ("ABBR", "ABBR"),
        ("DNAs", "DNAs"),
        ("DNA2x", "DNA2x"),
        ("iPhone", "iPhone"),
        ("mRNA", "mRNA"),
        ("new_iPhone", "new iPhone"),
        ("ÄrgerÜberGebühr", "Ärger Über Gebühr"),
        ("Common Cold", "Common Cold"),
        ("two  blanks\tand a tab", "two blanks and a tab"),
        ("reverted_card_payment?", "reverted card payment?"),
        ("狐狸", "狐狸"),
        ("_", ""),
    ],
)
def test_the_words_in_a_name(name: str, words: str) -> None:
    assert label_words(name) == words


@given(st.text())
def test_words_keep_every_letter_in_its_order_and_case(name: str) -> None:
    words = label_words(name)
    kept = [letter for letter in name if not letter.isspace() and letter not in "_-"]
    assert [letter for letter in words if not letter.isspace() and letter != "-"] == kept
    assert words == " ".join(words.split())


def test_a_description_is_read_as_it_is_and_a_name_without_one_by_its_words() -> None:
    given = [("card_lost", ""), (" pin ", " The PIN_code "), ("x", None), ("_", "")]
    assert label_texts(given) == {"card_lost": "card lost", "pin": "The PIN_code", "x": "x", "_": "_"}


@pytest.mark.parametrize(
    ("labels", "faults"),
    [
        ([], ["received 0 labels; give at least two to choose among"]),
        ([(SECRET, "")], ["received 1 label; give at least two to choose among"]),
        ([("a", ""), ("", "")], ["label 2 is empty; write a name, or take out what separates it"]),
        ([("a", ""), (" ", SECRET)], ["label 2 is empty; write a name, or take out what separates it"]),
        (
            [(SECRET, ""), ("b", ""), (f" {SECRET}", "x"), ("b", "")],
            [
                "label 3 is the same as label 1; name each label once",
                "label 4 is the same as label 2; name each label once",
            ],
        ),
        ([("a", ""), (3, "")], ["label 2 is not a text but a whole number; write it in quotes"]),
        ([("a", ""), ("b", [SECRET])], ["label 2 has a description that is not a text but a list"]),
        ([("a\ud800", ""), ("b", "")], ["label 1 holds half a character (a lone surrogate); write it as UTF-8"]),
        ([("a", "\ud800"), ("b", "")], ["label 1 holds half a character (a lone surrogate); write it as UTF-8"]),
    ],
)
def test_labels_that_cannot_be_are_refused_all_at_once_and_by_number(labels: list[Any], faults: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        label_texts(labels)
    assert list(caught.value.faults) == faults
    assert SECRET not in str(caught.value)


# lists and files


def test_a_list_has_commas() -> None:
    assert read_labels("billing, refund ,card_lost") == {
        "billing": "billing",
        "refund": "refund",
        "card_lost": "card lost",
    }
    with pytest.raises(ConfigError, match="label 2 is empty"):
        read_labels("billing,,refund")
    with pytest.raises(ConfigError, match="label 3 is empty"):
        read_labels("billing, refund,")


@pytest.mark.parametrize("given", ["billing", SECRET, "nowhere.txt", "", "x" * 100_000])
def test_what_is_neither_a_list_nor_a_file_is_refused_without_showing_it(given: str) -> None:
    with pytest.raises(
        ConfigError, match="without a comma, and no file is called so; write .* or name a file"
    ) as caught:
        read_labels(given)
    assert SECRET not in str(caught.value)
    assert ("'nowhere.txt'" in str(caught.value)) == (given == "nowhere.txt")  # called as a file is, so no text


def test_a_text_file_has_a_label_per_line_with_or_without_a_description(tmp_path: Path) -> None:
    lines = ["\ufeffcard_lost", "", "pin: The PIN: forgotten", "a, b\tboth: of them", "at 10:30", "end:", "  "]
    (tmp_path / "labels, all.txt").write_text("\r\n".join(lines), encoding="utf-8")
    assert read_labels(str(tmp_path / "labels, all.txt")) == {
        "card_lost": "card lost",
        "pin": "The PIN: forgotten",
        "a, b": "both: of them",
        "at 10:30": "at 10:30",
        "end": "end",
    }


def test_a_table_has_a_column_of_labels_and_may_have_one_of_descriptions(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('label,description\ncard_lost,\n"a: b","one, two"\n', encoding="utf-8")
    expected = {"card_lost": "card lost", "a: b": "one, two"}
    assert read_labels(str(tmp_path / "a.csv")) == expected
    pq.write_table(pa.table({"label": list(expected), "description": [None, "one, two"]}), tmp_path / "a.parquet")
    assert read_labels(str(tmp_path / "a.parquet")) == expected
    (tmp_path / "a.jsonl").write_text('{"label": 0, "description": "bad"}\n{"label": 1}\n', encoding="utf-8")
    assert read_labels(str(tmp_path / "a.jsonl")) == {"0": "bad", "1": "1"}


def test_a_file_of_something_else_is_refused_without_showing_it(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"text": SECRET}) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows.jsonl, line 1: has no column 'label', which names the labels") as caught:
        read_labels(str(tmp_path / "rows.jsonl"))
    assert SECRET not in str(caught.value)
    (tmp_path / "labels.docx").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"unknown file type '.docx'; allowed: .*\.txt"):
        read_labels(str(tmp_path / "labels.docx"))
    (tmp_path / "texts.txt").write_text(f"{SECRET}\n{SECRET}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="label 2 is the same as label 1") as duplicated:
        read_labels(str(tmp_path / "texts.txt"))
    assert SECRET not in str(duplicated.value)
