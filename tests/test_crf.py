"""The CRF against the list of all paths: sums, best paths, probabilities and gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from weft.layers.crf import Crf, best_paths, log_partition, marginals, path_scores


@dataclass
class Case:
    """Random rows; tag 0 may begin, end and stand beside any tag, so every row has a possible path."""

    sizes: list[int]
    emissions: Tensor  # (P, L)
    steps: Tensor  # (L + 1, L + 1)
    tags: Tensor  # (P,) any path, possible or not

    def rows(self) -> list[Tensor]:
        return list(self.emissions.split(self.sizes))


def make_case(sizes: list[int], tags: int, shut: float, spread: float, seed: int, dtype: torch.dtype) -> Case:
    random = torch.Generator().manual_seed(seed)
    emissions = spread * torch.randn(sum(sizes), tags, generator=random, dtype=dtype)
    steps = torch.randn(tags + 1, tags + 1, generator=random, dtype=dtype)
    closed = torch.rand(tags + 1, tags + 1, generator=random) < shut
    closed[0, :] = closed[:, 0] = False
    path = torch.randint(tags, (sum(sizes),), generator=random)
    return Case(sizes, emissions, steps.masked_fill(closed, -math.inf), path)


def cases(dtype: torch.dtype = torch.float64, largest: float = 3.0) -> st.SearchStrategy[Case]:
    return st.builds(
        make_case,
        st.lists(st.integers(0, 5), min_size=1, max_size=5),
        st.integers(1, 4),
        st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        st.floats(0.1, largest),
        st.integers(0, 2**32),
        st.just(dtype),
    )


def score(row: Tensor, path: tuple[int, ...], steps: Tensor) -> Tensor:
    """What a path of one row (positions, L) adds up to, tag by tag."""
    total = row.new_zeros(())
    edge = len(steps) - 1
    for tag_before, tag in zip((edge, *path), (*path, edge), strict=True):
        if path:
            total = total + steps[tag_before, tag]
    for place, tag in enumerate(path):
        total = total + row[place, tag]
    return total


def possible_paths(row: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    """Every path of one row that takes no shut step, (paths, positions), and its score, (paths,)."""
    size, edge = len(row), len(steps) - 1
    if size == 0:
        return torch.zeros(1, 0, dtype=torch.int64), row.new_zeros(1)
    paths = torch.tensor(list(product(range(edge), repeat=size)))
    walks = torch.nn.functional.pad(paths, (1, 1), value=edge)
    scores = row[torch.arange(size), paths].sum(1) + steps[walks[:, :-1], walks[:, 1:]].sum(1)
    possible = scores > -math.inf
    return paths[possible], scores[possible]


def enumerated_log_partition(case: Case) -> Tensor:
    return torch.stack([possible_paths(row, case.steps)[1].logsumexp(0) for row in case.rows()])


def gradients(values: Tensor, case: Case) -> tuple[Tensor, Tensor]:
    """Of a sum in which every row has another weight, with respect to emissions and steps."""
    weights = torch.arange(1, len(values) + 1, dtype=values.dtype)
    found = torch.autograd.grad((values * weights).sum(), [case.emissions, case.steps], allow_unused=True)
    of_emissions, of_transitions = (
        torch.zeros_like(of) if gradient is None else gradient
        for gradient, of in zip(found, (case.emissions, case.steps), strict=True)
    )
    return of_emissions, of_transitions


@given(cases())
def test_the_log_partition_sums_over_all_possible_paths(case: Case) -> None:
    torch.testing.assert_close(
        log_partition(case.emissions, case.sizes, case.steps), enumerated_log_partition(case), rtol=0, atol=1e-9
    )


@given(cases(torch.float32))
def test_single_precision_is_near_the_sum_over_all_paths_too(case: Case) -> None:
    torch.testing.assert_close(
        log_partition(case.emissions, case.sizes, case.steps), enumerated_log_partition(case), rtol=1e-5, atol=1e-5
    )


@settings(max_examples=50)
@given(cases())
def test_the_gradients_of_the_log_partition_are_those_of_the_sum_over_all_paths(case: Case) -> None:
    case.emissions.requires_grad_()
    case.steps.requires_grad_()
    found = gradients(log_partition(case.emissions, case.sizes, case.steps), case)
    if not any(case.sizes):
        assert not any(gradient.any() for gradient in found)
        return
    torch.testing.assert_close(found, gradients(enumerated_log_partition(case), case), rtol=0, atol=1e-9)


@given(cases())
def test_marginals_are_the_shares_of_the_paths_through_each_tag(case: Case) -> None:
    expected = torch.zeros_like(case.emissions)
    for shares, row in zip(expected.split(case.sizes), case.rows(), strict=True):
        paths, scores = possible_paths(row, case.steps)
        for tag in range(row.shape[1]):
            shares[:, tag] = ((paths == tag) * scores.softmax(0).unsqueeze(1)).sum(0)
    found = marginals(case.emissions, case.sizes, case.steps)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    torch.testing.assert_close(found.sum(1), torch.ones(len(found), dtype=found.dtype))


@given(cases())
def test_the_best_path_is_possible_and_no_other_scores_higher(case: Case) -> None:
    found = best_paths(case.emissions, case.sizes, case.steps)
    assert found.dtype == torch.int64
    for row, path in zip(case.rows(), found.split(case.sizes), strict=True):
        paths, scores = possible_paths(row, case.steps)
        [which] = (paths == path).all(1).nonzero().flatten().tolist()
        assert float(scores[which]) == pytest.approx(float(scores.max()), abs=1e-9)


@given(cases())
def test_path_scores_add_up_emissions_and_steps_and_are_minus_infinity_where_a_step_is_shut(case: Case) -> None:
    paths = [tuple(path.tolist()) for path in case.tags.split(case.sizes)]
    expected = torch.stack([score(row, path, case.steps) for row, path in zip(case.rows(), paths, strict=True)])
    found = path_scores(case.emissions, case.tags, case.sizes, case.steps)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@settings(max_examples=50)
@given(cases())
def test_the_gradients_of_path_scores_count_the_tags_and_steps_taken(case: Case) -> None:
    case.emissions.requires_grad_()
    case.steps.requires_grad_()
    of_emissions, of_transitions = gradients(path_scores(case.emissions, case.tags, case.sizes, case.steps), case)
    tags, steps = torch.zeros_like(of_emissions), torch.zeros_like(of_transitions)
    position = 0
    for weight, path in enumerate(case.tags.split(case.sizes), start=1):
        for before, after in zip([-1, *path.tolist()], [*path.tolist(), -1], strict=True):
            steps[before, after] += weight if len(path) else 0
        for tag in path.tolist():
            tags[position, tag] = weight
            position += 1
    torch.testing.assert_close((of_emissions, of_transitions), (tags, steps))


@given(cases())
def test_no_path_is_likelier_than_all_paths_together(case: Case) -> None:
    path = best_paths(case.emissions, case.sizes, case.steps)
    for tags in (path, case.tags):
        scores = path_scores(case.emissions, tags, case.sizes, case.steps)
        assert (log_partition(case.emissions, case.sizes, case.steps) - scores >= -1e-9).all()


@settings(max_examples=50)
@given(cases(), st.randoms(use_true_random=False))
def test_neither_neighbours_nor_the_order_of_rows_change_a_row(case: Case, random: object) -> None:
    order = list(range(len(case.sizes)))
    random.shuffle(order)  # type: ignore[attr-defined]
    rows, gold = case.rows(), case.tags.split(case.sizes)
    sizes, emissions = [case.sizes[row] for row in order], torch.cat([rows[row] for row in order])
    tags = torch.cat([gold[row] for row in order])
    shuffled = (
        log_partition(emissions, sizes, case.steps),
        path_scores(emissions, tags, sizes, case.steps),
        marginals(emissions, sizes, case.steps).split(sizes),
        best_paths(emissions, sizes, case.steps).split(sizes),
    )
    for place, row in enumerate(order):
        alone = (
            log_partition(rows[row], [len(rows[row])], case.steps)[0],
            path_scores(rows[row], gold[row], [len(rows[row])], case.steps)[0],
            marginals(rows[row], [len(rows[row])], case.steps),
            best_paths(rows[row], [len(rows[row])], case.steps),
        )
        torch.testing.assert_close(tuple(part[place] for part in shuffled), alone)


def test_a_row_of_one_position_begins_and_ends_with_its_tag() -> None:
    emissions = torch.tensor([[1.0, 2.0]])
    steps = torch.tensor([[9.0, 9.0, 0.25], [9.0, 9.0, -3.0], [0.5, 1.0, 9.0]])  # start and end are last
    weights = torch.tensor([1.75, 0.0])
    torch.testing.assert_close(log_partition(emissions, [1], steps), weights.logsumexp(0, keepdim=True))
    torch.testing.assert_close(marginals(emissions, [1], steps), weights.softmax(0).unsqueeze(0))
    torch.testing.assert_close(path_scores(emissions, torch.tensor([1]), [1], steps), torch.tensor([0.0]))
    assert best_paths(emissions, [1], steps).tolist() == [0]


def test_with_one_tag_there_is_one_path() -> None:
    emissions, steps = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[0.5, 0.25], [0.125, math.inf]])
    torch.testing.assert_close(log_partition(emissions, [2, 1], steps), torch.tensor([3.875, 4.375]))
    torch.testing.assert_close(
        path_scores(emissions, torch.zeros(3).long(), [2, 1], steps), torch.tensor([3.875, 4.375])
    )
    assert marginals(emissions, [2, 1], steps).tolist() == [[1.0]] * 3
    assert best_paths(emissions, [2, 1], steps).tolist() == [0] * 3


@pytest.mark.parametrize("sizes", [[], [0], [0, 0]])
def test_rows_without_positions_have_the_empty_path(sizes: list[int]) -> None:
    emissions, steps = torch.zeros(0, 3, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    tags = torch.zeros(0, dtype=torch.int64)
    totals = log_partition(emissions, sizes, steps)
    assert totals.tolist() == path_scores(emissions, tags, sizes, steps).tolist() == [0.0] * len(sizes)
    totals.sum().backward()
    assert steps.grad is not None
    assert not steps.grad.any()
    assert marginals(emissions, sizes, steps).shape == (0, 3)
    assert best_paths(emissions, sizes, steps).shape == (0,)


def outside_begin_inside() -> list[list[bool]]:
    """O, B, I: I comes only after B or I."""
    return [[True, True, False, True], [True, True, True, True], [True, True, True, True], [True, True, False, True]]


def test_a_shut_step_is_never_taken_however_loud_the_emissions() -> None:
    steps = Crf(outside_begin_inside())().detach()
    emissions = torch.tensor([[0.0, -1e4, 1e4]] * 4)  # every position screams I
    tags = best_paths(emissions, [3, 1], steps).tolist()
    assert tags == [1, 2, 2, 0]
    shares = marginals(emissions, [3, 1], steps)
    assert shares[0, 2] == shares[3, 2] == 0
    torch.testing.assert_close(shares[3], torch.tensor([1.0, 0.0, 0.0]))


def test_a_detour_through_a_dreaded_tag_is_taken_where_all_else_is_shut() -> None:
    steps = torch.full((4, 4), -math.inf)
    steps[3, 0] = steps[0, 1] = steps[1, 2] = steps[2, 3] = 0.0  # 0, 1, 2 is the only path
    emissions = torch.full((3, 3), 1e4).fill_diagonal_(-1e4).requires_grad_()
    total = log_partition(emissions, [3], steps)
    assert total.tolist() == [-3e4]
    total.sum().backward()
    assert emissions.grad is not None
    assert emissions.grad.tolist() == marginals(emissions, [3], steps).tolist() == torch.eye(3).tolist()
    assert best_paths(emissions, [3], steps).tolist() == [0, 1, 2]


@given(cases(torch.float32), st.integers(0, 2**32))
def test_extreme_emissions_leave_everything_finite(case: Case, seed: int) -> None:
    signs = torch.randint(-1, 2, case.emissions.shape, generator=torch.Generator().manual_seed(seed))
    emissions, steps = (1e4 * signs).float().requires_grad_(), case.steps.requires_grad_()
    totals = log_partition(emissions, case.sizes, steps)
    path = best_paths(emissions, case.sizes, steps)
    scores = path_scores(emissions, path, case.sizes, steps)
    (totals - scores).sum().backward()
    assert emissions.grad is not None
    assert steps.grad is not None
    shares = marginals(emissions, case.sizes, steps)
    assert all(part.isfinite().all() for part in (totals, scores, emissions.grad, steps.grad, shares))
    torch.testing.assert_close(shares.sum(1), torch.ones(len(shares)))
    assert (totals - scores >= -0.05).all()  # numbers of 5e4 in single precision


def test_long_rows_keep_their_digits_in_single_precision() -> None:
    case = make_case([2000], 4, 0.0, 5.0, 0, torch.float64)
    exact = marginals(case.emissions + 100, case.sizes, case.steps)
    found = marginals((case.emissions + 100).float(), case.sizes, case.steps.float())
    assert (found - exact).abs().max() < 1e-3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single_and_gradients_come_back_in_half(dtype: torch.dtype) -> None:
    case = make_case([3, 5, 1], 3, 0.3, 2.0, 7, torch.float32)
    half, steps = case.emissions.to(dtype).requires_grad_(), case.steps.to(dtype).requires_grad_()
    wide, wide_steps = half.detach().float(), steps.detach().float()
    totals, scores = log_partition(half, case.sizes, steps), path_scores(half, case.tags, case.sizes, steps)
    torch.testing.assert_close(totals, log_partition(wide, case.sizes, wide_steps))
    torch.testing.assert_close(scores, path_scores(wide, case.tags, case.sizes, wide_steps))
    torch.testing.assert_close(marginals(half, case.sizes, steps), marginals(wide, case.sizes, wide_steps))
    totals.sum().backward()
    assert half.grad is not None
    assert steps.grad is not None
    assert half.grad.dtype == steps.grad.dtype == dtype


@pytest.mark.parametrize("sizes", [[2, 2], [6, -1], []])
def test_sizes_that_do_not_cover_the_positions_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="sizes"):
        log_partition(torch.zeros(5, 2), sizes, torch.zeros(3, 3))


def test_steps_without_a_start_and_an_end_are_refused() -> None:
    with pytest.raises(ValueError, match=r"steps must be \(3, 3\) for 2 tags"):
        best_paths(torch.zeros(5, 2), [5], torch.zeros(2, 2))


def test_the_module_learns_only_steps_that_are_allowed() -> None:
    allowed = outside_begin_inside()
    crf = Crf(allowed)
    assert list(crf.state_dict()) == ["learned"]
    assert not crf.learned.any()
    optimizer = torch.optim.AdamW(crf.parameters(), lr=0.1)
    emissions = torch.randn(9, 3, generator=torch.Generator().manual_seed(0))
    tags = torch.tensor([0, 1, 2, 2, 0, 0, 1, 0, 1])
    losses = []
    for _ in range(20):
        steps = crf()
        loss = (log_partition(emissions, [5, 4], steps) - path_scores(emissions, tags, [5, 4], steps)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    moved = torch.tensor(allowed)
    moved[-1, -1] = False  # from start to end there is no step
    assert ((crf.learned != 0) == moved).all()
    assert ((crf() == -math.inf) == ~moved).all()


@pytest.mark.parametrize("allowed", [[[True]], [[True, True]], [True, True]])
def test_a_table_that_is_not_square_or_has_no_tags_is_refused(allowed: list[list[bool]]) -> None:
    with pytest.raises(ValueError, match="allowed must be"):
        Crf(allowed)
