"""A comparison's record, its CSV and the Markdown page that is made from the CSV alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.errors import CheckpointError, DataError
from weft.reports.comparison_csv import read_csv, write_csv
from weft.reports.comparison_record import CellRecord, ClassDifference, ComparisonRecord, PairRecord, read_comparison

FIRST_COLUMNS = "task,variant,size,seeds,metric,mean,low,high,difference,p,verdict,seconds,parameters,"


def two_variants() -> ComparisonRecord:
    """Two tasks, the second of which counts downward, with a name that CSV must quote."""
    cells = [
        CellRecord(
            task=task, variant=variant, size=size, seeds=8, metric=metric, mean=0.812345678, low=0.79, high=0.83,
            **({} if base else {"difference": -0.0125, "difference_low": -0.02, "difference_high": -0.001, "p": 0.03}),
            verdict="" if base else "worse", seconds=12.5, parameters=1539, trained_parameters=22713216, rows=500,
            lower_is_better=metric == "mse", equivalence=0.004, is_base=base,
            **({} if base else {"p_seeds": 0.0078125, "p_crossed": 0.03, "p_rows": 0.001}),
        )
        for task, metric in (("urgency", "f1_macro"), ("alike", "mse"))
        for variant, base in (("plain", True), ('a, "b"\nc', False))
        for size in (50, None)
    ]  # fmt: skip
    baselines = {"urgency": {"majority": 0.25, "tfidf": 0.7}, "alike": {"majority": 1.5}}
    return ComparisonRecord(cells=tuple(cells), baselines=baselines, quick=True, unfinished=3, seeds_needed=9)


def test_a_csv_reads_back_as_the_record_to_six_digits_with_baselines_and_marks() -> None:
    record = two_variants()
    rounded = tuple(cell.model_copy(update={"mean": 0.812346}) for cell in record.cells)
    assert read_csv(write_csv(record)) == record.model_copy(update={"cells": rounded})


def test_a_csv_begins_with_the_columns_that_others_rely_on_and_has_the_same_bytes_each_time() -> None:
    text = write_csv(two_variants())
    assert text.startswith(FIRST_COLUMNS)
    assert text.splitlines()[1].startswith("urgency,plain,50,8,f1_macro,0.812346,0.79,0.83,,,,12.5,1539,")
    again = ComparisonRecord.from_dict(json.loads(json.dumps(two_variants().to_dict())))
    assert write_csv(again) == text
    assert "\r" not in text


def test_zero_has_no_minus_and_a_number_that_is_not_finite_is_left_empty() -> None:
    cell = CellRecord(task="a", variant="b", mean=float("nan"), difference=-0.0)
    assert write_csv(ComparisonRecord(cells=(cell,))).splitlines()[1].startswith("a,b,all,0,,,,,0,")


@pytest.mark.parametrize(
    ("column", "words", "said"),
    [
        ("mean", "secret words", "unable to parse string as a number"),
        ("seeds", "2.5", "unable to parse string as an integer"),
        ("verdict", "best", "Input should be '', 'better', 'worse', 'equivalent' or 'cannot tell'"),
        ("lower_is_better", "secret", "unable to interpret input"),
        ("unfinished", "secret", "unable to parse string as an integer"),
        ("baseline_tfidf", "secret", "unable to parse string as a number"),
    ],
)
def test_a_csv_that_cannot_be_read_is_refused_by_line_and_column_without_its_words(
    column: str, words: str, said: str
) -> None:
    lines = write_csv(two_variants()).splitlines()
    at = lines[0].split(",").index(column)
    cells = lines[1].split(",")
    lines[1] = ",".join([*cells[:at], words, *cells[at + 1 :]])
    with pytest.raises(DataError) as caught:
        read_csv("\n".join(lines), "x.csv")
    assert str(caught.value).startswith("x.csv, line 2, ")
    assert f"column {column.removeprefix('baseline_')!r}: " in str(caught.value)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_csv_of_something_else_is_refused_by_the_columns_it_lacks() -> None:
    with pytest.raises(DataError, match=r"x\.csv, line 1: the columns variant, size, .* unfinished are missing"):
        read_csv("task,text\na,b\n", "x.csv")


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    record = two_variants().model_copy(
        update={
            "matrix": (PairRecord(task="urgency", other="alike", difference=0.01, verdict="cannot tell"),),
            "grouping": (("urgency", "alike"),),
        }
    )
    classes = {"per_class": {"low": ClassDifference(mean=0.5, difference=0.1, low=-0.1, high=0.2)}}
    record = record.model_copy(update={"cells": (record.cells[0].model_copy(update=classes), *record.cells[1:])})
    (tmp_path / "compare.json").write_text(json.dumps(record.to_dict()))
    assert read_comparison(tmp_path / "compare.json") == record


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "must be a JSON object"),
        ('{"format": 99}', "has format 99; this weft reads format 1"),
        ('{"format": 1, "cells": [{"task": "a"}]}', "cells.0.variant: Field required"),
    ],
)
def test_a_record_that_cannot_be_read_says_why(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "compare.json").write_text(text)
    with pytest.raises(CheckpointError, match=said.replace(".", r"\.")):
        read_comparison(tmp_path / "compare.json")
