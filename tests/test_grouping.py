"""Which tasks a comparison would train together."""

from __future__ import annotations

import pytest

from weft.comparison.grouping import choose_groups, pair_records
from weft.reports.comparison_record import CellRecord, Verdict


def cell(task: str, variant: str, difference: float | None, verdict: Verdict = "") -> CellRecord:
    return CellRecord(task=task, variant=variant, difference=difference, verdict=verdict, is_base=difference is None)


def table(*lines: tuple[str, str, float, Verdict]) -> list[CellRecord]:
    tasks = dict.fromkeys(line[0] for line in lines)
    return [cell(task, "alone", None) for task in tasks] + [cell(*line) for line in lines]


def test_tasks_stay_together_where_no_harm_is_shown() -> None:
    cells = table(("a", "together", -0.2, "cannot tell"), ("b", "together", 0.001, "equivalent"))
    assert choose_groups(["a", "b"], cells) == (("a", "b"),)


def test_a_task_that_is_shown_to_suffer_is_trained_alone() -> None:
    cells = table(
        ("a", "with b", 0.02, "better"),
        ("a", "with c", -0.05, "worse"),
        ("a", "together", -0.04, "worse"),
        ("b", "with a", 0.01, "better"),
        ("b", "with c", 0.0, "cannot tell"),
        ("b", "together", 0.0, "cannot tell"),
        ("c", "with a", 0.0, "cannot tell"),
        ("c", "with b", 0.0, "cannot tell"),
        ("c", "together", 0.0, "cannot tell"),
    )
    assert choose_groups(["a", "b", "c"], cells) == (("a", "b"), ("c",))


def test_harm_to_one_is_weighed_against_what_another_gains() -> None:
    def chosen(loss: float) -> object:
        return choose_groups(["a", "b"], table(("a", "together", 0.05, "better"), ("b", "together", loss, "worse")))

    assert chosen(-0.04) == (("a", "b"),)
    assert chosen(-0.06) == (("a",), ("b",))


def test_a_group_of_three_of_four_is_judged_by_the_mean_of_its_pairs() -> None:
    tasks = ["a", "b", "c", "d"]
    lines: list[tuple[str, str, float, Verdict]] = []
    for task in tasks:
        for other in tasks:
            if task != other:
                apart = "d" in (task, other)
                lines.append((task, f"with {other}", -0.1 if apart else 0.03, "worse" if apart else "better"))
        lines.append((task, "together", -0.02, "worse"))
    assert choose_groups(tasks, table(*lines)) == (("a", "b", "c"), ("d",))


def test_the_matrix_holds_every_pair_with_the_agreement_of_their_gradients() -> None:
    cells = table(("a", "with b", 0.02, "better"), ("a", "together", 0.5, "better"), ("b", "with a", -0.01, "worse"))
    cells += [cell("c", "alone", None), cell("c", "with a", 0.0, "cannot tell")]
    found = list(pair_records(cells, {"b~a": 0.25}))
    assert [(pair.task, pair.other, pair.difference, pair.verdict) for pair in found] == [
        ("a", "b", 0.02, "better"),
        ("b", "a", -0.01, "worse"),
        ("c", "a", 0.0, "cannot tell"),
    ]
    assert [pair.agreement for pair in found] == [0.25, 0.25, None]


def test_of_two_tasks_together_is_the_pair() -> None:
    found = list(pair_records(table(("a", "together", 0.1, "better"), ("b", "together", 0.2, "better")), {}))
    assert [(pair.task, pair.other) for pair in found] == [("a", "b"), ("b", "a")]


@pytest.mark.parametrize("tasks", [1, 9, 12])
def test_any_number_of_tasks_gets_an_answer(tasks: int) -> None:
    names = [f"t{index}" for index in range(tasks)]
    assert choose_groups(names, []) == (tuple(names),)
