"""Losses of pairs of rows against double loops, and batches that give them something to compare."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from weft.config.training import Batching
from weft.losses import Loss
from weft.losses.pairwise_cosine import PairwiseCosine
from weft.losses.supervised_contrastive import SupervisedContrastive
from weft.training.balanced import balanced_batch

# The loss


def shared(one: Tensor, other: Tensor) -> float:
    """How much of two rows' labels is the same: all or nothing for one label, else intersection over union."""
    if one.ndim == 0:
        return float(one == other)
    mine, theirs = ({i for i, has in enumerate(row.tolist()) if has} for row in (one, other))
    return len(mine & theirs) / len(mine | theirs) if mine | theirs else 0.0


def cosine(u: list[float], v: list[float]) -> float:
    product = sum(a * b for a, b in zip(u, v, strict=True))
    return product / (math.hypot(*u) * math.hypot(*v))


def squared_errors(vectors: list[list[float]], targets: Tensor) -> float:
    """The squared errors of cosines, pair by pair: the mean of those that share a label and of those that do not."""
    halves: dict[bool, list[float]] = {True: [], False: []}
    for i, u in enumerate(vectors):
        for j, v in enumerate(vectors):
            if i != j:
                asked = shared(targets[i], targets[j])
                halves[asked > 0].append((cosine(u, v) - asked) ** 2)
    return sum(sum(half) / len(half) for half in halves.values()) / 2


def by_pairs(vectors: list[list[float]], targets: Tensor, temperature: float) -> float:
    """The loss, row by row and pair by pair, in plain numbers."""

    rows = range(len(vectors))
    losses = []
    for i in rows:
        others = [j for j in rows if j != i]
        weights = {j: shared(targets[i], targets[j]) for j in others}
        total = sum(math.exp(cosine(vectors[i], vectors[j]) / temperature) for j in others)
        if not sum(weights.values()):
            continue
        chances = {j: math.exp(cosine(vectors[i], vectors[j]) / temperature) / total for j in others}
        losses.append(-sum(weights[j] * math.log(chances[j]) for j in others) / sum(weights.values()))
    return sum(losses) / len(losses) if losses else 0.0


KINDS = [SupervisedContrastive, PairwiseCosine]
LABELS = torch.tensor([0, 1, 0, 2, 1, 0, 3])
MANY = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]], dtype=torch.float32)


@pytest.mark.parametrize("targets", [LABELS, MANY], ids=["one label per row", "several labels per row"])
@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
def test_the_loss_is_that_of_a_double_loop_over_the_rows(targets: Tensor, temperature: float) -> None:
    torch.manual_seed(3)
    features = torch.randn(len(targets), 5) * torch.tensor([1.0, 2.0, 0.1, 5.0, 1.0, 3.0, 0.5]).unsqueeze(1)
    loss = SupervisedContrastive(temperature=temperature).build()
    assert loss(features, targets).item() == pytest.approx(by_pairs(features.tolist(), targets, temperature), rel=1e-4)


@pytest.mark.parametrize("targets", [LABELS, MANY], ids=["one label per row", "several labels per row"])
def test_cosines_are_held_against_what_labels_share_pairs_that_do_and_do_not_counting_alike(targets: Tensor) -> None:
    torch.manual_seed(3)
    features = torch.randn(len(targets), 5) * torch.tensor([1.0, 2.0, 0.1, 5.0, 1.0, 3.0, 0.5]).unsqueeze(1)
    found = PairwiseCosine().build()(features, targets).item()
    assert found == pytest.approx(squared_errors(features.tolist(), targets), rel=1e-4)


def test_cosines_that_are_as_asked_cost_nothing_and_rows_of_one_label_alone_only_come_together() -> None:
    features, loss = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 1.0]]), PairwiseCosine().build()
    assert loss(features, torch.tensor([0, 0, 1, 1])) == 0
    assert loss(features, torch.tensor([0, 0, 0, 0])).item() == pytest.approx(8 / 12 / 2)


def test_the_temperature_is_a_tenth_unless_it_is_named() -> None:
    torch.manual_seed(0)
    features = torch.randn(7, 4)
    found = SupervisedContrastive().build()(features, LABELS).item()
    assert found == pytest.approx(by_pairs(features.tolist(), LABELS, 0.1), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_only_directions_count_not_lengths(kind: type[Loss]) -> None:
    torch.manual_seed(0)
    features = torch.randn(7, 4)
    loss = kind().build(())
    longer = features * torch.tensor([1.0, 9.0, 0.2, 3.0, 1.0, 0.5, 7.0]).unsqueeze(1)
    torch.testing.assert_close(loss(features, LABELS), loss(longer, LABELS))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_one_label_are_brought_together_and_others_apart(kind: type[Loss]) -> None:
    torch.manual_seed(0)
    features = torch.randn(6, 4, requires_grad=True)
    targets = torch.tensor([0, 0, 0, 1, 1, 1])
    loss, optimizer = kind().build(()), torch.optim.SGD([features], 0.2)
    for _ in range(200):
        optimizer.zero_grad()
        loss(features, targets).backward()
        optimizer.step()
    near = torch.nn.functional.normalize(features.detach(), dim=1)
    near = near @ near.T
    same = targets[:, None] == targets[None, :]
    assert near[same].min() > near[~same].max() + 0.4


CASES: dict[str, tuple[list[list[float]], list[Any]]] = {
    "duplicates of one label": ([[1.0, 2.0]] * 4, [0, 0, 0, 0]),
    "duplicates of two labels": ([[1.0, 2.0]] * 4, [0, 1, 0, 1]),
    "a single row": ([[1.0, 2.0]], [0]),
    "no two of one label": ([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]], [0, 1, 2]),
    "opposite rows of one label": ([[1.0, 2.0], [-1.0, -2.0]], [0, 0]),
    "a row of zeros": ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0, 0, 1]),
    "no labels at all": ([[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]),
    "a label beside none": ([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_the_loss_and_its_gradient_are_numbers_whatever_the_rows(case: str, kind: type[Loss]) -> None:
    vectors, targets = CASES[case]
    features = torch.tensor(vectors, requires_grad=True)
    value = kind().build(())(features, torch.tensor(targets))
    value.backward()
    assert value.isfinite()
    assert features.grad is not None
    assert features.grad.isfinite().all()
    if case in ("a single row", "no two of one label", "no labels at all"):
        assert value == 0
        assert not features.grad.any()


@pytest.mark.parametrize("made", [SupervisedContrastive(temperature=0.01), PairwiseCosine()])
def test_half_precision_is_computed_in_full(made: Loss) -> None:
    torch.manual_seed(0)
    features = torch.randn(7, 64, dtype=torch.bfloat16)
    loss = made.build(())
    torch.testing.assert_close(loss(features, LABELS), loss(features.float(), LABELS))


# Batches

ROWS, TOKENS = 40, 9


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    """The arguments of `balanced_batch`: rows with one label or more each, of all lengths, and some limits."""
    labels = draw(st.integers(1, 8))
    rows = draw(st.integers(1, ROWS))
    several = draw(st.booleans())
    groups: list[list[int]] = [[] for _ in range(labels)]
    for row in range(rows):
        most = labels if several else 1
        for label in draw(st.sets(st.integers(0, labels - 1), min_size=1, max_size=most)):
            groups[label].append(row)
    limits = draw(
        st.sampled_from(
            [{"batch_size": 1}, {"batch_size": 4}, {"batch_size": 9}, {"batch_size": 16}, {"batch_size": 64}]
        )
    )
    if draw(st.booleans()):
        limits = {**limits, "batch_tokens": draw(st.integers(1, 200))}
    return {
        "groups": [group for group in groups if group],
        "lengths": draw(st.lists(st.integers(3, TOKENS), min_size=rows, max_size=rows)),
        "batching": Batching(**limits),
        "seed": draw(st.integers(0, 5)),
        "number": draw(st.integers(0, 5)),
    }


@given(batches())
def test_a_batch_holds_different_rows_and_no_more_than_it_may_beyond_the_first_four(given_: dict[str, Any]) -> None:
    batch, lengths, limits = balanced_batch(**given_), given_["lengths"], given_["batching"]
    assert len(set(batch)) == len(batch) >= 1
    assert set(batch) <= {row for group in given_["groups"] for row in group}
    if len(batch) > 4:
        assert len(batch) <= limits.batch_size
        assert sum(lengths[row] for row in batch) <= (limits.batch_tokens or math.inf)


@given(batches())
def test_all_rows_are_in_a_batch_that_has_room_for_them(given_: dict[str, Any]) -> None:
    rows = {row for group in given_["groups"] for row in group}
    given_["batching"] = Batching(batch_size=len(rows), batch_tokens=max(1, sum(given_["lengths"])))
    assert set(balanced_batch(**given_)) == rows


def one_label_each(given_: dict[str, Any]) -> list[list[int]]:
    """The groups with every row in the first of its own alone."""
    seen: set[int] = set()
    groups = []
    for group in given_["groups"]:
        groups.append([row for row in group if row not in seen])
        seen |= set(group)
    return [group for group in groups if group]


@given(batches())
def test_every_label_that_is_drawn_has_two_rows(given_: dict[str, Any]) -> None:
    """Rows of one length, so that what there is room for is known, and labels of which none has a single row."""
    groups = given_["groups"] = [group for group in one_label_each(given_) if len(group) > 1]
    given_["lengths"] = [5] * len(given_["lengths"])
    batch = set(balanced_batch(**given_)) if groups else set()
    drawn = [len(batch & set(group)) for group in groups if batch & set(group)]
    assert Counter(drawn)[1] <= len(batch) % 2  # one row more where there is room for it


@given(batches())
def test_labels_come_equally_often_where_there_is_room_for_all(given_: dict[str, Any]) -> None:
    groups = given_["groups"] = one_label_each(given_)
    size = given_["batching"].batch_size
    if size < 2 * len(groups):
        return
    given_["batching"] = Batching(batch_size=size)
    batch = set(balanced_batch(**given_))
    assert len(batch) == min(max(size, 4), sum(map(len, groups)))
    have = [len(batch & set(group)) for group in groups]
    short = [count for count, group in zip(have, groups, strict=True) if count < len(group)]
    assert not short or max(have) - min(short) <= 1


@given(batches())
@example({"groups": [[0, 1]], "lengths": [3, 3], "batching": Batching(), "seed": 0, "number": 0})
def test_a_batch_depends_on_nothing_but_its_arguments(given_: dict[str, Any]) -> None:
    torch.manual_seed(0)
    assert balanced_batch(**given_) == balanced_batch(**given_)


def test_batches_of_other_numbers_and_seeds_are_others_and_all_labels_and_rows_come_up() -> None:
    groups = [list(range(first, first + 10)) for first in range(0, 100, 10)]
    drawn = [
        balanced_batch(groups, [5] * 100, Batching(batch_size=8), seed, number)
        for seed in (1, 2)
        for number in range(60)
    ]
    assert all(len(batch) == 8 for batch in drawn)
    assert len({tuple(batch) for batch in drawn}) == len(drawn)
    counts = Counter(row for batch in drawn for row in batch)
    assert set(counts) == set(range(100))
    labels = Counter(row // 10 for batch in drawn for row in batch)
    assert max(labels.values()) < 2 * min(labels.values())
    for batch in drawn:  # four labels, two rows of each
        assert sorted(Counter(row // 10 for row in batch).values()) == [2, 2, 2, 2]


def test_fewer_labels_are_drawn_where_tokens_leave_room_for_few_rows() -> None:
    groups = [list(range(first, first + 10)) for first in range(0, 100, 10)]
    for number in range(5):
        batch = balanced_batch(groups, [5] * 100, Batching(batch_size=64, batch_tokens=40), 1, number)
        assert sorted(Counter(row // 10 for row in batch).values()) == [2, 2, 2, 2]


def test_a_row_of_several_labels_is_in_a_batch_once_and_counts_for_all() -> None:
    groups = [[0, 1, 2], [0, 1, 3], [0, 4]]
    batch = balanced_batch(groups, [5] * 5, Batching(batch_size=5), 1, 0)
    assert sorted(batch) == [0, 1, 2, 3, 4]


def test_batches_without_a_limit_on_rows_are_limited_by_tokens() -> None:
    groups = [list(range(20)), list(range(20, 40))]
    batch = balanced_batch(groups, [10] * 40, Batching(batch_tokens=120), 1, 0)
    assert len(batch) == 12
    assert Counter(row < 20 for row in batch) == {True: 6, False: 6}
