"""Numbers with a decimal comma are read where that says one thing, alike by check, train and evaluate."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checking import check
from weft.config.document import parse_experiment
from weft.data.formats import read_rows, write_rows
from weft.data.numbers import read_number, with_decimal_comma
from weft.tasks.regression import Regression
from weft.training.reading import read_examples


def said_of(name: str, folder: Path) -> str:
    """What `weft check` says of a file of numbers."""
    experiment = parse_experiment({"tasks": {"t": {"kind": "regression", "train": name}}})
    return "\n".join(one.message for one in check(experiment, folder))


@pytest.mark.parametrize(
    ("cell", "number"),
    [("2,6", 2.6), (" -0,125 ", -0.125), ("1,5000", 1.5), ("1234,567", 1234.567), ("2.6", 2.6), ("3", 3.0), (4, 4.0)],
)
def test_a_comma_that_can_only_be_decimal_is_read(cell: object, number: float) -> None:
    assert read_number(cell) == number


@pytest.mark.parametrize("cell", ["1,500", "-12,000", "1,2,3", "1.234,5", "1,", ",5", "five", ""])
def test_what_says_two_things_or_none_is_not_read(cell: str) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        read_number(cell)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6).map(lambda x: round(x, 3)))
def test_what_is_written_for_a_spreadsheet_is_read_back(number: float) -> None:
    assert read_number(with_decimal_comma(number)) == number


def test_numbers_with_a_decimal_comma_are_read_as_those_with_a_point_and_it_is_said(tmp_path: Path) -> None:
    numbers = [n / 8 for n in range(40)]  # 1.125 among them
    rows = [{"text": f"the fox {n}", "score": number} for n, number in enumerate(numbers)]
    write_rows(tmp_path / "comma.csv", rows, excel="semicolon")
    assert "1,125" in (tmp_path / "comma.csv").read_text()
    learned = read_examples(Regression(train="comma.csv"), tmp_path / "comma.csv")
    measured = [Regression().read(row) for row in read_rows(tmp_path / "comma.csv")]  # as evaluate reads
    assert [row.gold for row in learned] == [row.gold for row in measured if row is not None] == numbers
    write_rows(tmp_path / "point.csv", rows)
    assert "40 numbers with a decimal comma, read as fractions" in said_of("comma.csv", tmp_path)
    assert "decimal comma" not in said_of("point.csv", tmp_path)
