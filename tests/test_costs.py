"""Decisions that know what wrong answers cost: the cheapest answer, its measured cost, and which row to read first."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from checking import check
from weft.checks.findings import Finding
from weft.config.document import parse_experiment
from weft.data.predictions import LabelPrediction
from weft.data.records import Example
from weft.errors import ConfigError
from weft.metrics.bootstrap import intervals_of
from weft.metrics.costs import Costs, Urgency, cheapest_answers, cheapest_constant, cost_matrix
from weft.metrics.decisions import cost_table, workload_table
from weft.metrics.outcomes.costed import CostedOutcomes
from weft.metrics.sections import DecisionTable, section_from
from weft.metrics.workload import SHARES, measure_workload
from weft.spec import parse
from weft.targets.label import FittedLabel, LabelTarget
from weft.targets.labels import LabelsTarget
from weft.targets.score import ScoreTarget
from weft.tasks import Task

TRIAGE = ("non-urgent", "medium", "urgent")
URGENT: Costs = {"urgent": {"non-urgent": 20, "medium": 5}}


def fitted(costs: Costs | None, labels: tuple[str, ...] = TRIAGE, **more: Any) -> FittedLabel:
    return FittedLabel(LabelTarget(labels=labels, costs=costs), labels, tuple(range(9, 9 + len(labels))), **more)


def predictions(target: FittedLabel, likely: list[list[float]]) -> list[Any]:
    """What the target says where its model gives these probabilities."""
    return target.decode_rows(torch.tensor(likely, dtype=torch.float32).log())


# the cheapest answer


def test_what_is_not_named_costs_one_and_the_right_answer_nothing() -> None:
    assert cost_matrix(URGENT, TRIAGE).tolist() == [[0, 1, 1], [1, 0, 1], [20, 5, 0]]
    assert cost_matrix({}, ("a", "b")).tolist() == [[0, 1], [1, 0]]
    assert cost_matrix({"a": {"b": 0}}, ("a", "b")).tolist() == [[0, 0], [1, 0]]


@given(
    st.integers(2, 4).flatmap(
        lambda size: st.tuples(
            st.lists(st.lists(st.floats(0, 30), min_size=size, max_size=size), min_size=size, max_size=size),
            st.lists(st.lists(st.floats(0.01, 1), min_size=size, max_size=size), min_size=1, max_size=5),
        )
    )
)
def test_the_answer_given_is_the_one_of_least_expected_cost(drawn: tuple[list[list[float]], list[list[float]]]) -> None:
    costs, weights = drawn
    labels = tuple("abcd"[: len(costs)])
    named = {labels[t]: {labels[a]: costs[t][a] for a in range(len(labels)) if a != t} for t in range(len(labels))}
    target = fitted(named, labels, temperature=1.7)
    for prediction in predictions(target, weights):
        p = prediction.scores
        expected = {a: sum(p[t] * named[t].get(a, 0.0) for t in labels) for a in labels}
        assert expected[prediction.label] <= min(expected.values()) + 1e-9
        assert prediction.score == p[prediction.label]


def test_costs_change_the_answer_and_not_the_probabilities() -> None:
    likely = [[0.7, 0.27, 0.03], [0.94, 0.05, 0.01], [0.7, 0.2, 0.1]]
    plain, costly = (predictions(fitted(costs), likely) for costs in (None, URGENT))
    assert [one.label for one in plain] == ["non-urgent"] * 3
    assert [one.label for one in costly] == ["medium", "non-urgent", "urgent"]
    for one, other in zip(plain, costly, strict=True):
        assert one.scores == other.scores
        assert other.score == other.scores[other.label]


def test_of_equally_cheap_answers_the_first_is_given() -> None:
    assert cheapest_answers(np.array([[0.5, 0.5], [0.25, 0.75]]), cost_matrix({}, ("a", "b"))).tolist() == [0, 1]
    assert cheapest_answers(np.array([[0.25, 0.75]]), cost_matrix({"a": {"b": 3}}, ("a", "b"))).tolist() == [0]


def test_equal_costs_decide_as_no_costs_do() -> None:
    likely = np.random.default_rng(0).dirichlet(np.ones(3), size=200).tolist()
    plain, even = (predictions(fitted(costs), likely) for costs in (None, {}))
    assert [one.label for one in plain] == [one.label for one in even]


def test_with_two_labels_costs_decide_and_no_threshold_is_fitted() -> None:
    draw = np.random.default_rng(0)
    gold = ["b" if row % 5 == 0 else "a" for row in range(200)]
    logits = torch.tensor([[0.0, float(draw.normal() + (2 if one == "b" else -1))] for one in gold])
    plain = fitted(None, ("a", "b")).calibrate_rows(logits, gold, "recall_macro")
    costly = fitted({"b": {"a": 9}}, ("a", "b")).calibrate_rows(logits, gold, "recall_macro")
    assert plain.threshold != 0.5
    assert costly.threshold == 0.5
    assert costly.temperature == plain.temperature != 1
    for prediction in costly.decode_rows(logits):
        assert prediction.gold == ("b" if 9 * prediction.label_scores()["b"] > prediction.label_scores()["a"] else "a")


# what answers cost


def test_the_cost_of_answers_is_their_mean_over_rows_with_its_interval() -> None:
    draw = np.random.default_rng(1)
    target, golds = fitted(URGENT), draw.choice(TRIAGE, size=60).tolist()
    given = predictions(target, draw.dirichlet(np.ones(3), size=60).tolist())
    costs = [
        URGENT.get(gold, {}).get(one.label, float(gold != one.label)) for gold, one in zip(golds, given, strict=True)
    ]
    measured = target.measure(golds, given)
    assert measured.scores["cost"] == pytest.approx(np.mean(costs))
    low, high = measured.intervals["cost"]
    assert low < np.mean(costs) < high
    assert list(measured.scores)[-2:] == ["calibration_error", "cost"]
    assert "cost" in CostedOutcomes.lower_is_better
    assert "cost" not in target.metrics  # more of what is chosen by is better
    assert "cost" not in fitted(None).measure(golds, given).scores
    bare = [LabelPrediction(one.label) for one in given]  # as baselines are
    assert target.measure(golds, bare).scores["cost"] == pytest.approx(np.mean(costs))


def test_the_cost_stands_beside_the_likeliest_label_and_the_best_constant() -> None:
    target = fitted(URGENT)
    likely = [[0.7, 0.27, 0.03], [0.97, 0.02, 0.01], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]
    golds = ["urgent", "non-urgent", "urgent", "medium"]
    table, _ = target.decision_sections(golds, predictions(target, likely))
    assert isinstance(table, DecisionTable)
    assert [row[:2] for row in table.rows] == [
        ("this model", (5 + 0 + 0 + 1) / 4),
        ("the likeliest label of each row", (20 + 0 + 0 + 1) / 4),
        ("always urgent", (0 + 1 + 0 + 1) / 4),  # counts are 9, 10 and 11
    ]
    assert target.decision_sections(golds, predictions(target, likely))[0] == table
    assert target.measure(golds, predictions(target, likely)).intervals["cost"] == table.rows[0][2:]


def test_a_cost_table_takes_the_baselines_that_decided_by_the_same_costs() -> None:
    table = cost_table({"this model": np.ones(4), "the likeliest": np.ones(4), "always a": np.full(4, 2.0)})
    assert (table.model, table.others) == ((1.0, 1.0, 1.0), {"always a": 2.0})
    assert table.beside({}) == table
    more = table.beside({"TF-IDF": 3.0, "a probe": 0.5})
    assert more.others == {"always a": 2.0, "TF-IDF": 3.0, "a probe": 0.5}
    assert list(more.rows[3]) == ["TF-IDF", 3.0, None, None]
    assert more.note == f"{table.note} TF-IDF and a probe decide by the same costs."
    assert section_from(json.loads(json.dumps(more.to_dict()))).to_dict() == json.loads(json.dumps(more.to_dict()))


def test_the_best_constant_is_by_the_rows_of_training() -> None:
    matrix = cost_matrix(URGENT, TRIAGE)
    assert [cheapest_constant(counts, matrix) for counts in ((100, 1, 1), (9, 9, 1), (5, 1, 2))] == [0, 1, 2]


def test_tfidf_decides_by_the_same_costs() -> None:
    said = {
        "calm": ("non-urgent",) * 24,
        "hurry": ("urgent",) * 24,
        "maybe": ("non-urgent", "non-urgent", "urgent") * 8,
    }
    rows = [
        Example((f"{word} {word} {n % 5}",), label, n) for word, all_ in said.items() for n, label in enumerate(all_)
    ]
    rows += [Example((f"so so {n % 5}",), "medium", n) for n in range(24)]
    asked = [Example((f"{word} {word}",), "non-urgent", n) for n, word in enumerate(said)]
    dear = {"non-urgent": {"urgent": 20.0}}
    given = {
        name: [one.gold for one in fitted(costs).baseline(rows, asked)]
        for name, costs in (("none", None), ("urgent", URGENT), ("dear", dear))
    }
    assert given == {
        "none": ["non-urgent", "urgent", "non-urgent"],
        "urgent": ["non-urgent", "urgent", "urgent"],
        "dear": ["non-urgent", "urgent", "non-urgent"],
    }


# which row to read first


def test_a_row_that_nobody_reads_counts_as_the_label_that_is_least_costly_to_miss() -> None:
    urgency = Urgency.of(cost_matrix(URGENT, TRIAGE))
    assert (urgency.label, urgency.unread, urgency.weights.tolist()) == (2, (0,), [0, 1, 20])
    graded = Urgency.of(cost_matrix({"urgent": {"non-urgent": 9, "medium": 9}, "medium": {"non-urgent": 3}}, TRIAGE))
    assert (graded.unread, graded.weights.tolist()) == ((0,), [0, 3, 9])
    even = Urgency.of(cost_matrix({"urgent": {"non-urgent": 6, "medium": 6}}, TRIAGE))
    assert (even.label, even.unread, even.weights.tolist()) == (2, (0, 1), [0.5, 0.5, 6])  # as by the probability
    assert Urgency.of(cost_matrix({}, ("a", "b"))).label == 0


def test_rows_rank_by_the_expected_cost_of_leaving_them_unread() -> None:
    likely = [[0.6, 0.4, 0.0001], [0.97, 0.01, 0.02], [0.2, 0.1, 0.7], [0.98, 0.01, 0.01]]
    target = fitted(URGENT)
    rank, given = target.ranking(), predictions(target, likely)
    for prediction in given:
        p = prediction.scores
        assert rank(prediction) == pytest.approx(20 * p["urgent"] + p["medium"])
    assert np.argsort([-rank(one) for one in given]).tolist() == [2, 1, 0, 3]
    assert [target.ranking("medium")(one) for one in given] == [one.scores["medium"] for one in given]


def test_without_costs_a_label_is_needed_unless_there_are_two_or_a_number() -> None:
    two = fitted(None, ("no", "yes"))
    (given,) = predictions(two, [[0.2, 0.8]])
    assert two.ranking()(given) == given.scores["yes"]
    assert two.ranking("no")(given) == given.scores["no"]
    with pytest.raises(ConfigError, match="more than one label to rank by, and no costs; name a label"):
        fitted(None).ranking()
    with pytest.raises(
        ConfigError, match="it has no label 'urgnt'; its labels are: non-urgent, medium, urgent; did you"
    ):
        fitted(None).ranking("urgnt")
    texts = LabelTarget().fit(f"secret words {row}" for row in range(30))
    with pytest.raises(ConfigError) as caught:
        texts.ranking("urgent")
    assert "secret" not in str(caught.value)
    numbers = ScoreTarget().fit([1.0, 5.0])
    low, high = numbers.decode_rows(torch.tensor([[-1.0], [1.0]]))
    assert numbers.ranking()(high) > numbers.ranking()(low)
    with pytest.raises(ConfigError, match="its answers are numbers, and have no labels"):
        numbers.ranking("urgent")
    several = LabelsTarget().fit([("a",), ("b",)])
    (both,) = several.decode_rows(torch.tensor([[2.0, -1.0]]))
    assert several.ranking("b")(both) == both.label_scores()["b"]


# recall by workload


def plain_recalls(ranks: list[int], wanted: list[bool], read: int) -> float:
    """The recall after so many rows, as the mean over all orders in which rows of equal rank may be read."""
    found = []
    for order in permutations(range(len(ranks))):
        by_rank = sorted(order, key=lambda row: -ranks[row])
        found.append(sum(wanted[row] for row in by_rank[:read]) / sum(wanted))
    return float(np.mean(found))


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=6), st.integers(0, 6))
def test_recall_is_that_of_the_highest_ranks_whatever_the_order_of_equal_ones(
    rows: list[tuple[int, bool]], read: int
) -> None:
    ranks, wanted = [rank for rank, _ in rows], [mark for _, mark in rows]
    read = min(read, len(rows))
    if not any(wanted):
        with pytest.raises(ValueError, match="no row is wanted"):
            measure_workload(ranks, wanted)
        return
    found = measure_workload(ranks, wanted, (read / len(rows),), rounds=3)
    assert found.recalls[read / len(rows)][0] == pytest.approx(plain_recalls(ranks, wanted, read))


@given(st.lists(st.booleans(), min_size=1, max_size=40).filter(any), st.sampled_from([0.3, 0.5, 0.95, 1.0]))
def test_the_least_workload_is_that_of_the_first_row_with_enough_seen(wanted: list[bool], seen: float) -> None:
    found = measure_workload(range(len(wanted), 0, -1), wanted, (0.5,), seen, rounds=3)
    needed = next(n for n in range(len(wanted) + 1) if sum(wanted[:n]) >= seen * sum(wanted) - 1e-9)
    assert found.needed[0] == pytest.approx(needed / len(wanted))


@pytest.mark.parametrize("ties", [False, True])
def test_intervals_are_those_of_rows_drawn_again_and_ranked_anew(ties: bool) -> None:
    draw = np.random.default_rng(3)
    wanted = draw.random(30) < 0.2
    ranks = draw.normal(size=30) + 1.5 * wanted
    ranks = np.round(ranks) if ties else ranks
    found = measure_workload(ranks.tolist(), wanted.tolist(), rounds=200)
    again = np.random.default_rng(0)
    drawn = []
    for _ in range(200):
        rows = again.integers(30, size=30, dtype=np.int64)
        if wanted[rows].any():
            one = measure_workload(ranks[rows].tolist(), wanted[rows].tolist(), rounds=1)
            drawn.append([*(recall[0] for recall in one.recalls.values()), one.needed[0]])
    assert len(drawn) > 190
    lows, highs = np.quantile(drawn, [0.025, 0.975], axis=0)
    np.testing.assert_allclose([one[1:] for one in (*found.recalls.values(), found.needed)], np.stack([lows, highs], 1))


@pytest.mark.parametrize(("last", "untold"), [(7, False), (18, True)])
def test_a_workload_whose_interval_takes_in_half_of_the_rows_is_not_known(last: int, untold: bool) -> None:
    wanted = [row in (0, 1, 2, last) for row in range(20)]
    note = workload_table("urgent", [float(-row) for row in range(20)], wanted, "chance").note
    low, high = (float(end) for end in re.findall(r"interval (\S+) % to (\S+) %", note)[0])
    assert (high - low > 50) is untold
    assert note.endswith("these rows cannot tell it: measure on more that are urgent.") is untold


def test_a_table_says_how_much_must_be_read_to_see_the_label() -> None:
    wanted = [row in (0, 1, 2, 7) for row in range(20)]
    table = workload_table("urgent", [float(-row) for row in range(20)], wanted, "probability of urgent")
    assert table.heading == "Recall of urgent by workload"
    assert [row[:2] for row in table.rows] == [
        ("5 %", 0.25),
        ("10 %", 0.5),
        ("20 %", 0.75),
        ("30 %", 0.75),
        ("50 %", 1.0),
    ]
    assert len(table.rows) == len(SHARES)
    assert all(low <= value <= high for _, value, low, high in table.rows)
    assert "by their probability of urgent, the highest first" in table.note
    assert "To see 95 % of the 4 rows that are urgent, 40.0 % of all 20 have to be read" in table.note
    assert section_from(table.to_dict()).to_dict() == table.to_dict()
    hidden = table.with_labels({"urgent": "label 3"})
    assert "urgent" not in str(hidden.to_dict())
    empty = workload_table("urgent", [1.0, 2.0], [False, False], "probability of urgent")
    assert (list(empty.rows), empty.note) == ([], "None of the 2 rows is urgent.")


def test_the_label_looked_for_is_the_costliest_to_miss_unless_one_is_named() -> None:
    draw = np.random.default_rng(5)
    golds = draw.choice(TRIAGE, size=40).tolist()
    target = fitted(URGENT)
    given = predictions(target, draw.dirichlet(np.ones(3), size=40).tolist())
    for find, label, by in (
        (None, "urgent", "expected cost of answering non-urgent"),
        ("nobody's", "urgent", "expected cost of answering non-urgent"),
        ("medium", "medium", "probability of medium"),
    ):
        _, table = target.decision_sections(golds, given, find)
        assert isinstance(table, DecisionTable)
        assert table.heading == f"Recall of {label} by workload"
        assert f"by their {by}," in table.note
        ranks = [target.ranking(find if find == "medium" else None)(one) for one in given]
        expected = measure_workload(ranks, [gold == label for gold in golds], rounds=1)
        assert [row[1] for row in table.rows] == [recall for recall, _, _ in expected.recalls.values()]
    plain = fitted(None)
    assert plain.decision_sections(golds, given) == []
    (asked,) = plain.decision_sections(golds, given, "urgent")
    assert isinstance(asked, DecisionTable)
    assert asked.heading == "Recall of urgent by workload"


def test_several_labels_of_a_row_are_found_one_at_a_time() -> None:
    several = LabelsTarget().fit([("a",), ("b",)])
    given = several.decode_rows(torch.tensor([[2.0, -1.0], [1.0, 3.0], [0.0, 0.0]]))
    (table,) = several.decision_sections([("a",), ("a", "b"), ()], given, "a")
    assert isinstance(table, DecisionTable)
    assert table.rows[-1][1] == pytest.approx(0.75)  # one row and a half
    assert several.decision_sections([("a",), ("a", "b"), ()], given) == []


def test_the_intervals_of_a_table_of_costs_are_of_the_same_resamples() -> None:
    costs = np.array([0.0, 1, 5, 20, 0, 0, 1, 0])
    table = cost_table({"one": costs, "same": costs, "none": np.zeros(8)})
    one, same, none = table.rows
    assert one[1:] == same[1:]
    assert list(none[1:]) == [0, 0, 0]
    outcomes = CostedOutcomes(
        lines=np.arange(8), scores=costs, labels=("a",), gold=np.zeros(8, int), predicted=np.zeros(8, int), costs=costs
    )
    assert one[2:] == intervals_of(outcomes, ["cost"])["cost"]


# the option


def find(tmp_path: Path, costs: Any, **options: Any) -> list[Finding]:
    lines = [f"fox {row},{TRIAGE[row % 3]}" for row in range(90)]
    for name, part in (("train", lines), ("dev", [line.replace("fox", "dog") for line in lines])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *part]) + "\n", encoding="utf-8")
    task = {"kind": "classification", "train": "train.csv", "dev": "dev.csv", "costs": costs, **options}
    return check(parse_experiment({"tasks": {"urgency": task}}), tmp_path)


def test_costs_without_dev_rows_are_noted_with_the_key_that_holds_some_out(tmp_path: Path) -> None:
    costs = {"urgent": {"medium": 5}}
    (found,) = [one for one in find(tmp_path, costs, dev=0) if one.path == "tasks.urgency.costs"]
    assert found.severity == "note"
    assert "which nothing calibrates: there are no dev rows" in found.message
    assert found.remedy == "dev = 0.2 holds some out"
    for options in ({}, {"dev": 0.2}):
        assert not [one for one in find(tmp_path, costs, **options) if one.path == "tasks.urgency.costs"]
    assert not [one for one in find(tmp_path, None, dev=0) if one.path == "tasks.urgency.costs"]


def test_every_name_that_is_no_label_is_found_at_once_with_the_nearest(tmp_path: Path) -> None:
    wrong = {"urgnt": {"medium": 3}, "urgent": {"non_urgent": 4, "spam": 2, "medium": 5}}
    messages = {
        "'urgnt' is no label of this task; did you mean 'urgent'?",
        "'non_urgent' is no label of this task; did you mean 'non-urgent'?",
        "'spam' is no label of this task; its labels are: medium, non-urgent, urgent",
    }
    found = find(tmp_path, wrong)
    assert {(one.path, one.message) for one in found if one.severity == "error"} == {
        ("tasks.urgency.costs", message) for message in messages
    }
    assert [one for one in find(tmp_path, URGENT) if one.severity == "error"] == []


def test_labels_of_the_options_are_enough_to_find_a_wrong_name(tmp_path: Path) -> None:
    found = find(tmp_path, {"urgnt": {"medium": 3}}, labels=TRIAGE, train="lost.csv")
    assert "tasks.urgency.costs" in {one.path for one in found}
    unread = find(tmp_path, {"urgnt": {"medium": 3}}, train="lost.csv")
    assert "tasks.urgency.costs" not in {one.path for one in unread}


def test_where_not_all_training_rows_can_be_read_no_name_is_called_wrong(tmp_path: Path) -> None:
    find(tmp_path, URGENT)
    (tmp_path / "half.csv").write_text("text,label\nfox,medium\ndog,non-urgent\n,urgent\n", encoding="utf-8")
    task = {"kind": "classification", "train": "half.csv", "dev": "dev.csv", "costs": URGENT}
    paths = {one.path for one in check(parse_experiment({"tasks": {"urgency": task}}), tmp_path)}
    assert "tasks.urgency.train" in paths
    assert "tasks.urgency.costs" not in paths


def test_labels_that_could_be_texts_are_not_listed(tmp_path: Path) -> None:
    lines = [f"fox {row},secret words {row // 2}" for row in range(60)]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *lines]) + "\n", encoding="utf-8")
    task = {"kind": "classification", "train": "rows.csv", "dev": "rows.csv", "costs": {"urgent": {"medium": 5}}}
    found = check(parse_experiment({"tasks": {"urgency": task}}), tmp_path)
    messages = [one.message for one in found if one.path == "tasks.urgency.costs"]
    assert messages == ["'urgent' is no label of this task", "'medium' is no label of this task"]


@pytest.mark.parametrize(
    ("costs", "fault"),
    [
        ({"a": {"b": -1}}, "costs.a.b: input should be greater than or equal to 0; received -1"),
        ({"a": {"b": float("inf")}}, "costs.a.b: input should be a finite number; received inf"),
        ({"a": {"b": float("nan")}}, "costs.a.b: input should be"),
        ({"a": {"a": 2, "b": 3}}, "costs: the right answer costs nothing; remove the cost of 'a' for itself"),
        ({"a": 3}, "costs.a: should be a table; received 3"),
    ],
)
@pytest.mark.parametrize("kind", ["classification", "pair_classification"])
def test_a_cost_is_a_finite_number_that_is_not_negative(kind: str, costs: Any, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(Task, {"kind": kind, "costs": costs})
    assert fault in str(caught.value)


def test_costs_are_stored_with_the_task_and_reach_its_target() -> None:
    for kind in ("classification", "pair_classification"):
        task = parse(Task, {"kind": kind, "costs": URGENT, "labels": TRIAGE})
        assert task.model_options()["costs"] == URGENT
        again = parse(Task, task.model_options()).target().fit(["urgent"])
        assert isinstance(again, FittedLabel)
        np.testing.assert_array_equal(again.costs, cost_matrix(URGENT, TRIAGE))
        assert "costs" not in parse(Task, {"kind": kind}).model_options()


def test_costs_of_a_task_with_any_number_of_labels_are_refused() -> None:
    with pytest.raises(ConfigError, match="costs does nothing here: every label is decided by itself"):
        parse(Task, {"kind": "classification", "multilabel": True, "costs": URGENT})
