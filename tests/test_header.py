"""The rows below a header say whether it holds names or is a row itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.data.formats import read_column, read_rows
from weft.data.header import LOOKED_AT, Naming, judge_header
from weft.errors import DataError

TEXTS = [f"my knee has hurt for {number} days" for number in range(12)]
LABELS = ["calm", "urgent"] * 6


def judged(**columns: list[str]) -> Naming:
    names = list(columns)
    return judge_header([dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True)])


def test_a_name_over_labels_that_none_of_them_is_belongs_to_a_header() -> None:
    assert judged(message=TEXTS, urgency=LABELS) == "names"
    assert judged(urgency=LABELS) == "names"


def test_a_name_that_is_a_label_of_its_column_belongs_to_a_row() -> None:
    assert judged(**{"my chest hurts": TEXTS, "urgent": LABELS}) == "cells"
    assert judged(**{"a text": TEXTS, "3": ["1", "2", "4"] * 4}) == "cells"
    assert judged(**{"x" * 61: TEXTS}) == "cells"


def test_a_name_over_numbers_or_over_longer_texts_belongs_to_a_header() -> None:
    assert judged(message=TEXTS[:3], stars=["1", "2.5", "4"]) == "names"
    assert judged(message=TEXTS) == "names"


@pytest.mark.parametrize(
    "columns",
    [
        {"hi": ["thanks", "my knee", *TEXTS]},  # texts of one word are among the others
        {"hi": TEXTS[:9]},  # too few rows to know
        {"calm": ["urgent", "fine"]},
        {"my knee hurts": TEXTS, "other": [f"x{number}" for number in range(12)]},
        {"It hurts. Help!": TEXTS, "stars": [str(number) for number in range(12)]},  # a sentence beside numbers
        {"hi": ["a", "b", "c", "d"] * 3 + ["once"]},  # so may a label of the first row occur once
        {},
    ],
)
def test_rows_that_could_be_like_the_first_line_say_nothing_of_it(columns: dict[str, list[str]]) -> None:
    assert judged(**columns) == "header"


def test_rows_carry_what_their_table_says_of_its_header_and_objects_their_own_keys(tmp_path: Path) -> None:
    rows = "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))
    for name, content, naming in [
        ("names.csv", f"message,urgency\n{rows}", "names"),
        ("cells.csv", rows, "cells"),
        ("few.csv", "message,urgency\nhi,calm\n", "header"),
        ("rows.jsonl", '{"message": "hi"}\n', "keys"),
    ]:
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert {row.naming for row in read_rows(tmp_path / name)} == {naming}


def test_what_is_broken_in_the_rows_read_ahead_is_raised_where_it_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("message,urgency\nmy knee,calm\nmy chest,urgent\none,field,more\n", encoding="utf-8")
    rows: Iterator[object] = read_rows(path)
    assert [next(rows), next(rows)]
    with pytest.raises(DataError, match="line 4: has 3 fields"):
        next(rows)


def test_no_row_behind_those_read_ahead_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text\n" + "".join(f"text {number}\n" for number in range(2 * LOOKED_AT)), encoding="utf-8")
    assert [row.line for row in read_rows(path)] == list(range(2, 2 * LOOKED_AT + 2))


def test_a_column_that_no_row_has_is_said_once_with_the_option_that_names_another(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = "".join(f"{label},{text}\n" for text, label in zip(TEXTS, LABELS, strict=True))
    path.write_text(f"urgency,the message\n{rows}", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(read_column(path, "text"))
    problem = "has no column 'text'; its columns are: urgency, the message"
    assert str(caught.value) == f"{path}: {problem}; say --column 'the message' (in a config, text = \"the message\")"


def test_an_object_without_the_column_is_named_by_its_line_and_shows_no_key(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "fine"}\n{"my knee": "hurts"}\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 2: has no column 'text'; its 1 column is not shown") as caught:
        list(read_column(path, "text"))
    assert "knee" not in str(caught.value)
    assert "--column" not in str(caught.value)
