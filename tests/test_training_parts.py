"""The parts of training, each by itself: batches, schedule, optimizer, gradients, weights, stopping."""

from __future__ import annotations

import json
import math
import random
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from weft.config.training import Batching
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import ConfigError
from weft.spec import parse
from weft.training.batches import plan
from weft.training.gradients import agreement, assign, collect, project_conflicts
from weft.training.optimizer import adamw, parameter_groups
from weft.training.schedule import DecayShape, scale
from weft.training.stopping import EarlyStopping
from weft.training.weighting import LossWeights

LENGTHS = st.lists(st.integers(1, 40), max_size=200)
SEEDS = st.integers(0, 2**32)
BATCHINGS = st.builds(
    Batching,
    batch_size=st.integers(1, 9),
    batch_tokens=st.none() | st.integers(1, 90),
    group_by_length=st.booleans(),
) | st.builds(Batching, batch_tokens=st.integers(1, 90), group_by_length=st.booleans())
SHAPES = st.sampled_from(["linear", "cosine", "constant"])

# ── batches ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(LENGTHS, BATCHINGS, SEEDS, st.integers(0, 5))
def test_every_row_is_in_one_batch_and_no_batch_holds_more_than_it_may(
    lengths: list[int], batching: Batching, seed: int, turn: int
) -> None:
    batches = plan(lengths, batching, seed, turn)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert 1 <= len(batch) <= (batching.batch_size or len(lengths))
        assert len(batch) == 1 or sum(lengths[row] for row in batch) <= (batching.batch_tokens or math.inf)


@given(LENGTHS, BATCHINGS, SEEDS, st.integers(0, 5))
def test_a_plan_is_a_pure_function_of_its_arguments(
    lengths: list[int], batching: Batching, seed: int, turn: int
) -> None:
    before, state = list(lengths), random.getstate()
    assert plan(lengths, batching, seed, turn) == plan(tuple(lengths), batching, seed, turn)
    assert lengths == before
    assert random.getstate() == state


@given(LENGTHS, BATCHINGS.filter(lambda batching: not batching.group_by_length), SEEDS)
def test_a_batch_ends_only_where_the_next_row_does_not_fit(lengths: list[int], batching: Batching, seed: int) -> None:
    for batch, following in pairwise(plan(lengths, batching, seed, 0)):
        tokens = sum(lengths[row] for row in [*batch, following[0]])
        assert len(batch) == batching.batch_size or tokens > (batching.batch_tokens or math.inf)


@given(LENGTHS, st.integers(1, 9), st.booleans())
def test_by_rows_all_batches_but_one_are_full(lengths: list[int], size: int, by_length: bool) -> None:
    sizes = sorted(map(len, plan(lengths, Batching(batch_size=size, by_length=by_length), 0, 0)), reverse=True)
    assert len(sizes) == math.ceil(len(lengths) / size)
    assert all(rows == size for rows in sizes[:-1])


def test_seed_and_turn_each_change_the_batches() -> None:
    plans = {str(plan([5] * 60, Batching(), seed, turn)) for seed in range(3) for turn in range(3)}
    assert len(plans) == 9


def test_by_length_a_batch_has_rows_of_about_one_length_and_the_batches_are_shuffled() -> None:
    lengths = [1 + i % 40 for i in range(400)]
    batches = plan(lengths, Batching(batch_size=10, by_length=True), 0, 0)
    assert all(len({lengths[row] for row in batch}) == 1 for batch in batches)  # 40 batches: one window
    order = [lengths[batch[0]] for batch in batches]
    assert sorted(order) == list(range(1, 41)) != order


def test_by_length_rows_mix_only_within_a_window_of_fifty_batches() -> None:
    lengths = list(range(1, 201))
    plain = plan(lengths, Batching(batch_size=2), 0, 0)
    first = {row for batch in plain[:50] for row in batch}
    for batch in plan(lengths, Batching(batch_size=2, by_length=True), 0, 0):
        assert set(batch) <= first or not set(batch) & first


def test_rows_are_32_unless_tokens_are_given_and_both_hold_where_both_are() -> None:
    assert Batching().batch_size == 32
    assert Batching(batch_tokens=100).batch_size is None
    assert Batching(batch_tokens=100, batch_size=3).batch_size == 3
    assert [len(batch) for batch in plan([1] * 150, Batching(batch_tokens=100), 0, 0)] == [100, 50]
    assert [len(batch) for batch in plan([1] * 5, Batching(batch_tokens=100, batch_size=3), 0, 0)] == [3, 2]


@given(BATCHINGS)
def test_batching_survives_plain_data(batching: Batching) -> None:
    assert parse(Batching, json.loads(json.dumps(batching.to_dict()))) == batching


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"batch_tokens": 0}, {"batch_sise": 3}])
def test_impossible_batching_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        parse(Batching, options)


# ── schedule ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(1, 300), st.floats(0, 1), SHAPES)
def test_the_scale_rises_in_warm_up_then_never_rises_and_is_never_zero(
    steps: int, ratio: float, shape: DecayShape
) -> None:
    course = [scale(step, steps, ratio, shape) for step in range(steps)]
    warmup = round(ratio * steps)
    assert all(0 < value <= 1 for value in course)
    assert all(a < b for a, b in pairwise(course[: warmup + 1]))
    assert all(a >= b for a, b in pairwise(course[warmup:]))
    assert warmup == steps or course[warmup] == 1


def test_the_shapes_are_as_worked_out_by_hand() -> None:
    assert [scale(step, 6, 1 / 3, "linear") for step in range(7)] == pytest.approx(
        [1 / 3, 2 / 3, 1, 0.75, 0.5, 0.25, 0]
    )
    assert [scale(step, 4, 0, "cosine") for step in range(5)] == pytest.approx(
        [1, (1 + 0.5**0.5) / 2, 0.5, (1 - 0.5**0.5) / 2, 0]
    )
    assert [scale(step, 3, 0, "constant") for step in range(5)] == [1] * 5


@given(st.integers(0, 20), SHAPES)
def test_beyond_the_last_step_the_scale_is_zero_unless_constant(steps: int, shape: DecayShape) -> None:
    for ratio in (0.0, 0.5, 1.0):
        assert scale(steps + 1, steps, ratio, shape) == (1 if shape == "constant" else 0)


def test_a_warm_up_of_more_than_everything_is_refused() -> None:
    with pytest.raises(ValueError, match="warmup_ratio"):
        scale(0, 10, 1.5, "linear")


# ── optimizer ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Whole(nn.Module):
    """A tiny encoder with a pooler, and heads whose names try to mislead."""

    def __init__(self) -> None:
        super().__init__()
        config = EncoderConfig(
            vocab_size=20,
            hidden_size=8,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=10,
            embedding_size=4,
            with_pooler=True,
        )
        self.encoder = Encoder(config)
        self.heads = nn.ModuleDict({"normal": nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2))})
        self.encoder_like = nn.Linear(8, 1)


OPTIONS = {"learning_rate": 1e-2, "head_learning_rate": 0.5, "weight_decay": 0.1, "layer_decay": 0.5, "depth": 3}


def settings_by_name(model: nn.Module, **changes: float | None) -> dict[str, tuple[float, float]]:
    groups = parameter_groups(model.named_parameters(), **{**OPTIONS, **changes})  # type: ignore[arg-type]
    found = {id(p): (group["lr"], group["weight_decay"]) for group in groups for p in group["params"]}
    return {name: found[id(p)] for name, p in model.named_parameters() if id(p) in found}


def test_the_groups_hold_every_trainable_parameter_once_and_no_frozen_one() -> None:
    model = Whole()
    model.encoder.blocks[0].requires_grad_(False)
    groups = parameter_groups(model.named_parameters(), **OPTIONS)  # type: ignore[arg-type]
    held = [id(p) for group in groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in model.parameters() if p.requires_grad)
    kinds = [(group["lr"], group["weight_decay"]) for group in groups]
    assert len(kinds) == len(set(kinds)) == 8  # heads, two blocks and embeddings, each with and without decay


def test_lower_layers_learn_more_slowly_and_heads_at_their_own_rate() -> None:
    rates = {name: rate for name, (rate, _) in settings_by_name(Whole()).items()}
    for name, rate in rates.items():
        if name.startswith("encoder.embeddings"):
            assert rate == 1e-2 * 0.125
        elif name.startswith("encoder.blocks"):
            assert rate == 1e-2 * 0.5 ** (2 - int(name.split(".")[2]))
        else:
            assert rate == (1e-2 if name.startswith("encoder.") else 0.5)
    assert rates["encoder.pooler.weight"] == 1e-2
    assert rates["encoder_like.weight"] == 0.5


def test_only_matrices_decay() -> None:
    model = Whole()
    decays = {name: decay for name, (_, decay) in settings_by_name(model).items()}
    assert decays == {name: 0.1 if p.ndim == 2 else 0.0 for name, p in model.named_parameters()}


def test_a_bias_or_norm_does_not_decay_even_as_a_matrix() -> None:
    matrix = nn.Parameter(torch.zeros(2, 2))
    names = ["heads.a.bias", "heads.a.norm.weight", "encoder.blocks.0.output_norm.weight", "heads.norm_of.x.weight"]
    decays = [parameter_groups([(name, matrix)], **OPTIONS)[0]["weight_decay"] for name in names]  # type: ignore[arg-type]
    assert decays == [0, 0, 0, 0.1]


def test_without_layer_decay_or_a_head_rate_all_learn_alike() -> None:
    found = settings_by_name(Whole(), head_learning_rate=None, layer_decay=1.0)
    assert set(found.values()) == {(1e-2, 0.1), (1e-2, 0.0)}


def test_adamw_steps_every_group_as_plain_adamw_does_and_leaves_the_groups_alone() -> None:
    torch.manual_seed(0)
    results = []
    start = Whole().state_dict()
    gradient = torch.randn(sum(p.numel() for p in start.values()))
    for build in (adamw, lambda groups: torch.optim.AdamW([dict(g) for g in groups], fused=False, foreach=False)):
        model = Whole()
        model.load_state_dict(start)
        groups = parameter_groups(model.named_parameters(), **OPTIONS)  # type: ignore[arg-type]
        optimizer = build(groups)
        assert all(set(group) == {"params", "lr", "weight_decay"} for group in groups)
        for _ in range(3):
            assign(model.parameters(), gradient)
            optimizer.step()
        results.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-6)
    assert not torch.equal(results[0], torch.cat([p.flatten() for p in start.values()]))


def test_adamw_is_fused_for_float32_and_falls_back_for_other_types() -> None:
    for dtype, fused in ((torch.float32, True), (torch.float64, None), (torch.bfloat16, None)):
        parameter = nn.Parameter(torch.ones(2, 2, dtype=dtype))
        optimizer = adamw([{"params": [parameter], "lr": 0.1, "weight_decay": 0.0}])
        parameter.sum().backward()
        optimizer.step()
        assert optimizer.param_groups[0]["fused"] is fused
        assert bool((parameter < 1).all())


# ── gradients ────────────────────────────────────────────────────────────────────────────────────────────────────────


def vectors(tasks: int | None = None) -> st.SearchStrategy[list[Tensor]]:
    """Gradients of 4 numbers for so many tasks, or for 1 to 5."""
    number = st.integers(-8, 8).map(float)
    vector = st.lists(number, min_size=4, max_size=4).map(lambda v: torch.tensor(v, dtype=torch.float64))
    return st.lists(vector, min_size=tasks or 1, max_size=tasks or 5)


def plain_projection(gradients: list[Tensor], seed: int) -> list[float]:
    """PCGrad in plain loops over plain numbers."""
    generator, total = random.Random(seed), [0.0] * 4
    rows = [gradient.tolist() for gradient in gradients]
    for i, row in enumerate(rows):
        g, others = list(row), [j for j in range(len(rows)) if j != i]
        generator.shuffle(others)
        for j in others:
            dot = sum(a * b for a, b in zip(g, rows[j], strict=True))
            if dot < 0:
                square = sum(b * b for b in rows[j])
                g = [a - dot / square * b for a, b in zip(g, rows[j], strict=True)]
        total = [a + b for a, b in zip(total, g, strict=True)]
    return total


def test_collected_gradients_are_a_copy_with_zeros_where_there_are_none_and_come_back_the_same() -> None:
    a, b, c = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(()))
    a.grad, c.grad = torch.arange(6.0).view(2, 3), torch.tensor(7.0)
    flat = collect([a, b, c])
    assert flat.tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 7]
    for parameters in ([a, b, c], [a]):
        collect(parameters).add_(1)
    assert a.grad.flatten().tolist() == [0, 1, 2, 3, 4, 5]
    assign([a, b, c], flat * 2)
    assert collect([a, b, c]).tolist() == (flat * 2).tolist()
    assert collect([]).shape == (0,)


def test_assigned_gradients_are_copies_in_the_parameters_own_type() -> None:
    parameter = nn.Parameter(torch.ones(2, dtype=torch.float64))
    flat = torch.tensor([1.0, 2.0])
    assign([parameter], flat)
    flat.zero_()
    assert parameter.grad is not None
    assert (parameter.grad.dtype, parameter.grad.tolist()) == (torch.float64, [1, 2])
    with pytest.raises(ValueError, match="2 numbers"):
        assign([parameter], torch.zeros(3))


@settings(deadline=None)
@given(vectors(), SEEDS)
def test_projection_does_as_plain_loops_do_and_leaves_the_gradients_alone(gradients: list[Tensor], seed: int) -> None:
    before = [gradient.clone() for gradient in gradients]
    found = project_conflicts(gradients, random.Random(seed))
    assert found.tolist() == pytest.approx(plain_projection(gradients, seed), abs=1e-8)
    assert all(torch.equal(a, b) for a, b in zip(gradients, before, strict=True))


@settings(deadline=None)
@given(vectors(), SEEDS)
def test_without_conflict_the_projection_is_exactly_the_sum(gradients: list[Tensor], seed: int) -> None:
    gradients = [gradient.abs().float() / 3 for gradient in gradients]
    assert torch.equal(project_conflicts(gradients, random.Random(seed)), sum(gradients[1:], start=gradients[0]))


@settings(deadline=None)
@given(vectors(2), SEEDS)
def test_of_two_tasks_neither_is_worked_against(gradients: list[Tensor], seed: int) -> None:
    total = project_conflicts(gradients, random.Random(seed))
    for gradient in gradients:
        assert float(total.dot(gradient)) >= min(0.0, float(gradients[0].dot(gradients[1]))) * 1e-9 - 1e-9


def test_two_tasks_in_conflict_give_what_is_worked_out_by_hand() -> None:
    total = project_conflicts([torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 1.0])], random.Random(0))
    assert total.tolist() == [0.5, 1.5]  # (1, 0) becomes (1/2, 1/2), and (-1, 1) becomes (0, 1)


def test_conflicts_with_the_tiniest_gradients_stay_finite_and_none_at_all_is_refused() -> None:
    total = project_conflicts([torch.tensor([1e20]), torch.tensor([-1e-30])], random.Random(0))
    assert bool(total.isfinite().all())
    with pytest.raises(ValueError, match="at least one"):
        project_conflicts([], random.Random(0))


def test_the_generator_moves_on_the_same_with_and_without_conflict() -> None:
    states = []
    for sign in (1, -1):
        generator = random.Random(0)
        project_conflicts([torch.ones(2), sign * torch.ones(2), torch.ones(2)], generator)
        states.append(generator.getstate())
    assert states[0] == states[1]


def test_agreement_is_the_cosine_of_every_two_tasks_and_zero_for_zeros() -> None:
    found = agreement(
        {
            "a": torch.tensor([1.0, 0.0]),
            "b": torch.tensor([3.0, 4.0]),
            "c": torch.tensor([-2.0, 0.0]),
            "d": torch.zeros(2),
        }
    )
    assert found == pytest.approx({"a~b": 0.6, "a~c": -1, "a~d": 0, "b~c": -0.6, "b~d": 0, "c~d": 0})
    assert list(found) == ["a~b", "a~c", "a~d", "b~c", "b~d", "c~d"]
    assert agreement({"alone": torch.ones(2)}) == {}


@given(vectors(2))
def test_agreement_lies_between_minus_one_and_one(gradients: list[Tensor]) -> None:
    (cosine,) = agreement({"a": gradients[0], "b": gradients[1]}).values()
    assert -1 <= cosine <= 1


# ── weighting ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_fixed_weights_multiply_the_loss_and_have_nothing_to_learn() -> None:
    weights = LossWeights({"a": 2.0, "b": 1.0})
    assert float(weights("a", torch.tensor(3.0))) == 6
    assert float(weights("b", torch.tensor(3.0))) == 3
    assert weights.current() == {"a": 2.0, "b": 1.0}
    assert list(weights.parameters()) == []


def test_learned_weights_start_as_the_fixed_ones_and_follow_the_formula() -> None:
    weights = LossWeights({"a.b": 2.0, "keys": 1.0}, learned=True)
    assert weights("a.b", torch.tensor(3.0)).item() == 6
    assert weights.current() == {"a.b": 2.0, "keys": 1.0}
    with torch.no_grad():
        next(weights.parameters()).fill_(0.4)
    assert weights("a.b", torch.tensor(3.0)).item() == pytest.approx(2 * math.exp(-0.4) * 3 + 0.2)
    assert weights.current() == pytest.approx({"a.b": 2 * math.exp(-0.4), "keys": 1})


def test_a_step_teaches_only_the_weight_of_its_own_task_and_the_loss() -> None:
    weights = LossWeights({"a": 1.0, "b": 1.0}, learned=True)
    loss = torch.tensor(3.0, requires_grad=True)
    weights("b", loss).backward()
    assert [None if p.grad is None else float(p.grad) for p in weights.parameters()] == [None, -2.5]
    assert float(loss.grad) == 1  # type: ignore[arg-type]


def test_a_task_whose_loss_stays_high_comes_to_count_less() -> None:
    weights = LossWeights({"easy": 1.0, "hard": 1.0}, learned=True)
    optimizer = torch.optim.SGD(weights.parameters(), lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        (weights("easy", torch.tensor(0.25)) + weights("hard", torch.tensor(4.0))).backward()
        optimizer.step()
    assert weights.current() == pytest.approx({"easy": 2.0, "hard": 0.125}, rel=1e-2)  # 1 / (2 * loss)


def test_learned_weights_are_saved_with_the_state() -> None:
    weights, again = (LossWeights({"a": 1.0, "b": 3.0}, learned=True) for _ in range(2))
    with torch.no_grad():
        next(weights.parameters()).fill_(-1)
    again.load_state_dict(weights.state_dict())
    assert again.current() == weights.current()


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_impossible_weights_are_refused_and_unknown_tasks_too(weight: float) -> None:
    with pytest.raises(ValueError, match="'a'"):
        LossWeights({"a": weight})
    with pytest.raises(KeyError):
        LossWeights({"a": 1.0})("b", torch.tensor(1.0))


# ── stopping ─────────────────────────────────────────────────────────────────────────────────────────────────────────

VALUES = st.lists(st.sampled_from([math.nan, -math.inf, 0.1, 0.2, 0.3, 0.4]), max_size=12)


def test_it_stops_after_so_many_evaluations_in_a_row_without_a_new_best() -> None:
    stopping = EarlyStopping(2)
    assert [stopping.update(value) for value in [0.5, 0.4, 0.6, 0.6, math.nan]] == [False, False, False, False, True]
    assert (stopping.best, stopping.waited) == (0.6, 2)


@given(VALUES, st.integers(1, 4))
def test_it_says_stop_exactly_where_none_of_the_last_few_values_beats_all_before_it(
    values: list[float], patience: int
) -> None:
    stopping = EarlyStopping(patience)
    for n, value in enumerate(values, start=1):
        bests = [
            i
            for i in range(n)
            if not math.isnan(values[i]) and all(math.isnan(old) or values[i] > old for old in values[:i])
        ]
        waited = n - 1 - bests[-1] if bests else n
        assert stopping.update(value) == (waited >= patience)


@given(VALUES)
def test_without_patience_it_never_stops(values: list[float]) -> None:
    stopping = EarlyStopping(None)
    assert not any(stopping.update(value) for value in values)


@given(VALUES, VALUES)
def test_it_goes_on_from_its_state_as_if_never_interrupted(before: list[float], after: list[float]) -> None:
    whole, first, second = EarlyStopping(3), EarlyStopping(3), EarlyStopping(3)
    for value in before:
        whole.update(value)
        first.update(value)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert [whole.update(value) for value in after] == [second.update(value) for value in after]


def test_a_patience_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="patience"):
        EarlyStopping(0)
