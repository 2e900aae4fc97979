"""A comparison's record, its CSV and the Markdown page that is made from the CSV alone."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from comparisons import base, cell, grid, record
from weft.errors import CheckpointError, DataError
from weft.reports.comparison_csv import read_csv, write_csv
from weft.reports.comparison_markdown import render_markdown
from weft.reports.comparison_record import CellRecord, ClassDifference, ComparisonRecord, PairRecord, read_comparison
from weft.reports.comparison_sentences import sentences
from weft.reports.comparison_terminal import comparison_table

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
    return ComparisonRecord(
        cells=tuple(cells), baselines=baselines, quick=True, unfinished=3, seeds_needed=9, smallest_p=0.03125
    )


def test_a_csv_reads_back_as_the_record_to_six_digits_with_baselines_and_marks() -> None:
    made = two_variants()
    rounded = tuple(one.model_copy(update={"mean": 0.812346}) for one in made.cells)
    assert read_csv(write_csv(made)) == made.model_copy(update={"cells": rounded})


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=4, max_size=4, unique=True))
def test_a_csv_keeps_any_name(names: list[str]) -> None:
    task, metric, first, second = names
    cells = [CellRecord(task=task, variant=name, metric=metric, is_base=name == first) for name in (first, second)]
    assert read_csv(write_csv(ComparisonRecord(cells=tuple(cells)))).cells == tuple(cells)


def test_a_csv_begins_with_the_columns_that_others_rely_on_and_has_the_same_bytes_each_time() -> None:
    text = write_csv(two_variants())
    assert text.startswith(FIRST_COLUMNS)
    assert text.splitlines()[1].startswith("urgency,plain,50,8,f1_macro,0.812346,0.79,0.83,,,,12.5,1539,")
    again = ComparisonRecord.from_dict(json.loads(json.dumps(two_variants().to_dict())))
    assert write_csv(again) == text
    assert "\r" not in text


def test_zero_has_no_minus_and_a_number_that_is_not_finite_is_left_empty() -> None:
    odd = CellRecord(task="a", variant="b", mean=float("nan"), difference=-0.0)
    assert write_csv(ComparisonRecord(cells=(odd,))).splitlines()[1].startswith("a,b,all,0,,,,,0,")


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


def test_a_csv_that_is_broken_is_refused_by_its_line() -> None:
    for text, line in ((write_csv(two_variants()) + "x" * 200_000, 14), ("x" * 200_000, 1)):
        with pytest.raises(DataError, match=rf"x\.csv, line {line}: cannot be read as CSV: field larger than"):
            read_csv(text, "x.csv")


def test_a_csv_of_something_else_is_refused_by_the_columns_it_lacks() -> None:
    with pytest.raises(DataError, match=r"x\.csv, line 1: the columns variant, size, .* unfinished are missing"):
        read_csv("task,text\na,b\n", "x.csv")


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    made = two_variants().model_copy(
        update={
            "matrix": (PairRecord(task="urgency", other="alike", difference=0.01, verdict="cannot tell"),),
            "grouping": (("urgency", "alike"),),
        }
    )
    classes = {"per_class": {"low": ClassDifference(mean=0.5, difference=0.1, low=-0.1, high=0.2)}}
    made = made.model_copy(update={"cells": (made.cells[0].model_copy(update=classes), *made.cells[1:])})
    (tmp_path / "compare.json").write_text(json.dumps(made.to_dict()))
    assert read_comparison(tmp_path / "compare.json") == made


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


def printed(made: ComparisonRecord, width: int) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(comparison_table(made, width))
    return console.export_text()


def test_markdown_is_made_from_the_csv_alone_and_says_what_the_record_says() -> None:
    made = grid(["urgency", "a|b"], ["plain", "label_attention", "`lora`"], [50, None])
    page = render_markdown(read_csv(write_csv(made)), "Methods")
    assert page == render_markdown(made, "Methods")
    assert page.startswith("# Methods\n")
    for sentence in sentences(made).values():
        assert sentence.split(", ", 1)[1].split("(")[0] in page.replace("\\", "")
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(lines) == len(made.cells)
    assert all(line.replace("\\|", "").count("|") == 12 for line in lines)


def test_markdown_shows_the_numbers_the_word_and_the_baselines() -> None:
    page = render_markdown(record(base(), cell(), baselines={"urgency": {"tfidf": 0.61}}))
    numbers = "8 | 0.842 | 0.810 to 0.870 | +2.1 | +0.8 to +3.5 | 0.0078 | **better** | 21.4 | 3,075 |"
    assert f"| `label_attention` | {numbers}" in page
    assert "| `plain` | 8 | 0.821 | 0.790 to 0.850 | – | – | – | base | 18.2 | 3,075 |" in page
    assert "`f1_macro` on 500 rows. Beside it: TF-IDF 0.610." in page
    assert "within ±0.5 points" in page


def test_a_quick_look_and_missing_runs_are_marked_in_markdown_and_terminal() -> None:
    made = record(base(), cell(), quick=True, unfinished=3)
    for output in (render_markdown(made), printed(made, 120)):
        assert "Quick look: few seeds and few rows" in output
        assert "Unfinished: 3 runs are missing" in output
    assert "Quick look" not in render_markdown(record(base(), cell()))


def test_a_terminal_of_80_columns_shows_every_verdict_whole() -> None:
    made = grid(["urgency", "topics"], ["plain", "label_attention", "x" * 60], [50, None])
    wide, narrow = printed(made, 120), printed(made, 80)
    for output in (wide, narrow):
        assert "…" not in output
        assert all(one.verdict in output for one in made.cells)
        assert output.count("x") >= 60 * 4
    assert "95 % interval  difference" in wide
    assert "0.0078" in narrow
    assert max(map(len, narrow.splitlines())) <= 80
