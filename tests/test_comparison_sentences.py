"""What a comparison says in one sentence per task: each verdict, one seed, a quick look, and what would decide."""

from __future__ import annotations

import pytest

from comparisons import base, cell, record
from weft.reports.comparison_record import CellRecord, ComparisonRecord
from weft.reports.comparison_sentences import amount, cautions, decidable, p_words, sentences

BETTER = "On urgency, label_attention is better than plain by 2.1 points (95 % interval 0.8 to 3.5; 8 seeds)."
AROUND = {"difference": 0.006, "difference_low": -0.012, "difference_high": 0.025, "verdict": "cannot tell"}


def said(*cells: CellRecord, **changes: object) -> str:
    return sentences(record(base(), *cells, **changes))["urgency"]


def test_better_and_worse_say_by_how_much_and_how_surely() -> None:
    assert said(cell()) == BETTER
    down = cell(difference=-0.021, difference_low=-0.035, difference_high=-0.008, verdict="worse")
    assert said(down) == BETTER.replace("better", "worse")


def test_equivalent_names_the_region_that_the_interval_lies_in() -> None:
    same = cell(difference=0.001, difference_low=-0.0021, difference_high=0.004, verdict="equivalent")
    assert said(same) == (
        "On urgency, label_attention and plain are equivalent: the difference is +0.1 points"
        " (95 % interval −0.2 to +0.4, within ±0.5; 8 seeds)."
    )


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, "more seeds or more rows to test on may tell"),
        ({"p_seeds": 0.01, "p_rows": 0.2}, "more rows to test on may tell"),
        ({"p_seeds": 0.2, "p_rows": 0.01}, "more seeds may tell"),
        ({"seeds": 5}, "5 seeds are too few for a verdict in a table of this size: it takes 6"),
    ],
)
def test_cannot_tell_says_what_would(changes: dict[str, object], wanted: str) -> None:
    open_cell = cell(**({"p_seeds": 0.3, "p_rows": 0.3, **AROUND} | changes))
    assert said(open_cell) == (
        "On urgency, it cannot be told whether label_attention is better or worse than plain: the difference is"
        f" +0.6 points (95 % interval −1.2 to +2.5; {open_cell.seeds} seeds), and {wanted}."
    )


def test_one_seed_has_numbers_and_no_verdict() -> None:
    one = {"seeds": 1, "verdict": "", "p": None, "difference_low": None, "difference_high": None}
    assert said(cell(**one)) == (
        "On urgency, label_attention lies 2.1 points above plain (0.842 against 0.821), but one seed allows no verdict."
    )
    assert "lies 2.1 points below plain" in said(cell(**one, variant="b", difference=-0.021))  # type: ignore[arg-type]
    assert "b, the most favourable of 2 variants, lies 3.0 points above" in said(
        cell(**one), cell(variant="b", **(one | {"difference": 0.03}))
    )


def test_a_metric_that_counts_downward_keeps_its_units_and_better_its_meaning() -> None:
    lower = {
        "metric": "mse",
        "lower_is_better": True,
        "difference": 0.25,
        "difference_low": 0.1,
        "difference_high": 0.4,
    }
    assert said(cell(**lower)) == (
        "On urgency, label_attention is better than plain by 0.25 mse (95 % interval 0.1 to 0.4; 8 seeds)."
    )
    assert "lies 0.25 mse below plain" in said(cell(**lower, seeds=1, verdict=""))


def test_a_quick_look_and_missing_runs_stand_before_everything() -> None:
    assert said(cell(), quick=True) == BETTER.replace("On", "Quick look: on")
    assert said(cell(), unfinished=3) == BETTER.replace("On", "Unfinished: on")
    assert said(cell(), quick=True, unfinished=3) == BETTER.replace("On", "Quick look and unfinished: on")
    assert [one.split(":")[0] for one in cautions(record(base(), quick=True, unfinished=3))] == [
        "Quick look",
        "Unfinished",
    ]
    assert "1 run is missing" in cautions(record(base(), unfinished=1))[0]
    assert cautions(record(base())) == []


def test_many_variants_are_counted_by_verdict_and_a_few_named() -> None:
    worse = cell(variant="b", difference=-0.021, difference_low=-0.035, difference_high=-0.008, verdict="worse")
    unclear = [cell(variant=f"c{number}", **AROUND) for number in range(5)]
    same = cell(variant="d", difference=0, difference_low=-0.001, difference_high=0.001, verdict="equivalent")
    assert said(cell(), worse, *unclear, same) == (
        "On urgency, of 8 variants held against plain over 8 seeds, 1 is better (label_attention by 2.1 points, 95 %"
        " interval 0.8 to 3.5), 1 is worse (b by 2.1 points, 95 % interval 0.8 to 3.5), 1 is equivalent (d) and for 5"
        " it cannot be told; more seeds or more rows to test on may tell."
    )
    assert said(cell(), worse, unclear[0]) == (
        "On urgency, held against plain over 8 seeds, label_attention is better by 2.1 points (95 % interval 0.8 to"
        " 3.5), b is worse by 2.1 points (95 % interval 0.8 to 3.5) and for c0 it cannot be told; more seeds or more"
        " rows to test on may tell."
    )
    several = [cell(variant=f"c, {number}", difference=0.01 * number) for number in range(1, 5)]
    assert "4 are better (most: “c, 4” by 4.0 points, 95 % interval 0.8 to 3.5)." in said(*several)


def test_the_largest_size_is_spoken_of_and_the_verdicts_of_smaller_ones_named() -> None:
    sizes = [base(size=50), base(), cell(size=50, **AROUND), cell()]
    assert sentences(record(*sizes))["urgency"] == (
        BETTER.replace("urgency", "urgency with all rows")[:-1] + "; of fewer rows: cannot tell with 50."
    )


def test_a_base_alone_has_nothing_to_be_held_against() -> None:
    assert said() == (
        "On urgency, plain reaches f1_macro 0.821 (95 % interval 0.790 to 0.850; 8 seeds); there is nothing to hold it"
        " against yet."
    )


def test_before_the_first_run_nothing_is_known() -> None:
    nothing = base(seeds=0, mean=None, low=None, high=None)
    assert sentences(record(nothing, unfinished=16))["urgency"] == "Unfinished: on urgency, nothing is known yet."


def decided(seeds: int, needed: int) -> ComparisonRecord:
    made = record(base(seeds=seeds), *(cell(variant=str(number), seeds=seeds) for number in range(5)))
    limits = {"seeds": tuple(range(seeds)), "smallest_p": 2 / 2**seeds, "seeds_needed": needed}
    return made.model_copy(update=limits)


def test_what_so_many_seeds_can_decide_is_said() -> None:
    assert decidable(decided(5, 8)) == (
        "5 seeds can never call a difference better or worse in a table of 5 comparisons: the smallest p that 5 seeds"
        " can give is 0.062, before Holm's correction; 8 would do."
    )
    assert decidable(decided(8, 8)).startswith("8 seeds are enough to call a difference better or worse in a table of")
    assert decidable(decided(1, 8)).startswith("One seed: there are numbers but no verdicts")


def test_numbers_are_written_as_people_read_them() -> None:
    assert [amount(cell(), value) for value in (None, 0.0004, -0.0004, 0.021, -0.021)] == [
        "–",
        "0.0",
        "0.0",
        "+2.1",
        "−2.1",
    ]
    assert [p_words(p) for p in (None, 0.0, 0.0078125, 0.0625, 0.0312, 0.3333, 1.0)] == [
        "–",
        "< 0.0001",
        "0.0078",
        "0.062",
        "0.031",
        "0.33",
        "1.00",
    ]
