"""Names are shown, and nothing that could be a text."""

from __future__ import annotations

import pytest

from weft.data.header import Naming
from weft.data.redact import common_labels, nearest_name, shown_columns, shown_label, shown_value

TABLE: Naming = "header"
NAMES: Naming = "names"  # by the rows below
CELLS: Naming = "cells"
OBJECTS: Naming = "keys"


def test_a_label_is_shown_where_it_is_a_name_or_a_slip_of_one() -> None:
    names = {"urgent", "calm", "chest pain"}
    assert shown_label("calm", names) == "'calm'"
    assert shown_label("chest pain", names) == "'chest pain'"
    assert shown_label("urgnet", names) == "'urgnet'"
    assert shown_label("hi", names) == "(of 2 characters)"
    assert shown_label("x", names) == "(of 1 character)"
    assert shown_label("my chest hurts", names) == "(of 14 characters)"
    assert shown_label("calm", ()) == "(of 4 characters)"


def test_labels_that_many_rows_have_are_names() -> None:
    assert common_labels({"a": 10, "b": 3, "hi": 1}) == {"a", "b"}
    assert common_labels({"a": 10, "b": 2}) == frozenset()  # so many of so few rows are hardly labels
    assert common_labels({"x" * 41: 10, "a": 3}) == frozenset()
    assert common_labels({}) == frozenset()


def test_a_column_of_texts_has_no_names_although_some_texts_occur_often() -> None:
    texts = {f"text {number}": 1 for number in range(50)}
    assert common_labels({**texts, "hi": 20, "thanks": 9}) == frozenset()


@pytest.mark.parametrize(
    ("columns", "known", "naming", "clause"),
    [
        (["text", "urgency"], ["text", "label"], TABLE, "its columns are: text, urgency"),
        (["id", "urgency"], ["label"], TABLE, "its columns are: id, urgency"),
        (["Text", "urgency"], ["text"], TABLE, "its columns are: Text, urgency; did you mean 'Text'?"),
        (
            ["hi", "calm"],
            ["text", "label"],
            TABLE,
            "its 2 columns are not shown, since they may be texts; is its first",
        ),
        (["body"], ["text"], OBJECTS, "its 1 column is not shown, since it may be a text; look at the keys"),
        (["text", "hi"], ["text", "label"], OBJECTS, "its columns are: text and 1 more"),
        (["text", "x" * 41], ["text"], TABLE, "its columns are: text and 1 more"),
        ([], ["text"], TABLE, "it has no columns"),
        (["message", "urgency"], ["Nachricht"], NAMES, "its columns are: message, urgency"),
        (["my knee", "urgent"], ["urgency"], TABLE, "its columns are: urgent and 1 more; did you mean 'urgent'?"),
        (["hi", "urgent"], ["urgency"], CELLS, "its 2 columns are not shown, since they may be texts; its first line"),
        (["hi"], ["text"], TABLE, "its 1 column is not shown, since it may be a text; is its first"),
    ],
)
def test_columns_are_listed_only_where_a_header_is_known_to_be_one(
    columns: list[str], known: list[str], naming: Naming, clause: str
) -> None:
    said = shown_columns(columns, known, naming)
    assert said.startswith(clause)
    assert "hi" not in said.split()


def test_many_columns_are_counted() -> None:
    said = shown_columns(["text", *(f"c{number}" for number in range(30_000))], ["text"], TABLE)
    assert said.endswith(", c18 and 29,981 more")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("hi", "a text of 2 characters"),
        (None, "no value"),
        (["hi"], "a value of type list of 1"),
        (3, "a value of type int"),
    ],
)
def test_a_value_is_measured_and_not_quoted(value: object, shown: str) -> None:
    assert shown_value(value) == shown


def test_a_slip_is_near_and_no_shorter_than_three_letters() -> None:
    assert nearest_name("txt", ["text"]) == "; did you mean 'text'?"
    assert nearest_name("no", ["not"]) == ""
    assert nearest_name("chest", ["urgent"]) == ""
