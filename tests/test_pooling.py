"""Every pooler against a plain loop over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from weft.errors import ConfigError
from weft.pooling import Pooler
from weft.pooling.attention import Attention, AttentionOverTokens
from weft.pooling.cls import Cls
from weft.pooling.last_layers import LastLayers
from weft.pooling.max import Max
from weft.pooling.mean import Mean
from weft.spec import parse
from weft.tensors import States, pack

WIDTH, DEPTH = 6, 5
ROWS = [[3, 1, 4, 1], [5], [9, 2, 6, 5], [3, 5, 8], [9, 7, 9, 3, 2, 3, 8]]
ALL_LAYERS = range(DEPTH + 1)
POOLERS = [Cls(), Mean(), Max(), Attention(), LastLayers(count=3), LastLayers(count=3, of="mean")]


def encode(rows: Sequence[Sequence[int]], layers: Sequence[int] = ALL_LAYERS) -> States:
    """States that depend on nothing but a row's own tokens and their places."""
    batch = pack(rows)
    table = torch.randn(DEPTH + 1, 10, 8, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    hidden = table[:, batch.ids, batch.positions]  # (DEPTH + 1, T, H)
    tokens = hidden[DEPTH].clone().requires_grad_()
    return States(tokens, batch, {layer: hidden[layer] for layer in layers})


def rows_of(values: Tensor, states: States) -> list[Tensor]:
    """Each row's own part of packed values, by the row each token says it belongs to."""
    return [values[states.batch.row_of == row] for row in range(states.batch.rows)]


def trained(pooler: Pooler) -> torch.nn.Module:
    """The built module with parameters that are no longer where they started."""
    module: torch.nn.Module = pooler.build(WIDTH).double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(3))
    return module


@pytest.mark.parametrize(
    ("pooler", "of_row"),
    [(Cls(), lambda row: row[0]), (Mean(), lambda row: row.mean(0)), (Max(), lambda row: row.max(0).values)],
    ids=["cls", "mean", "max"],
)
def test_a_plain_pooler_equals_a_loop_over_rows(pooler: Pooler, of_row: Callable[[Tensor], Tensor]) -> None:
    states = encode(ROWS)
    pooled = pooler.build(WIDTH)(states)
    expected = torch.stack([of_row(row) for row in rows_of(states.tokens, states)])
    torch.testing.assert_close(pooled, expected)
    weights = torch.randn(pooled.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    (gradient,) = torch.autograd.grad((pooled * weights).sum(), states.tokens)
    (expected_gradient,) = torch.autograd.grad((expected * weights).sum(), states.tokens)
    torch.testing.assert_close(gradient, expected_gradient)


def test_max_keeps_values_below_zero() -> None:
    states = encode(ROWS)
    below = States(-states.tokens.detach().abs() - 1, states.batch)
    assert (Max().build(WIDTH)(below) <= -1).all()


def test_attention_equals_a_softmax_over_each_row() -> None:
    states, module = encode(ROWS), trained(Attention())
    assert isinstance(module, AttentionOverTokens)
    expected = [torch.softmax(row @ module.query, 0) @ row for row in rows_of(states.tokens, states)]
    torch.testing.assert_close(module(states), torch.stack(expected))


def test_untrained_attention_is_mean_pooling() -> None:
    states = encode(ROWS)
    torch.testing.assert_close(Attention().build(WIDTH).double()(states), states.mean())


@pytest.mark.parametrize("count", [1, 3, DEPTH, 9])
@pytest.mark.parametrize("of", ["cls", "mean"])
def test_last_layers_averages_the_last_layers_and_never_the_embeddings(of: str, count: int) -> None:
    pooler = parse(LastLayers, {"count": count, "of": of})
    states = encode(ROWS)
    expected = []
    for row in range(len(ROWS)):
        own = states.batch.row_of == row
        layers = [states.layers[layer][own] for layer in range(max(1, DEPTH - count + 1), DEPTH + 1)]
        expected.append(sum(layer[0] if of == "cls" else layer.mean(0) for layer in layers) / len(layers))
    torch.testing.assert_close(pooler.build(WIDTH)(states), torch.stack(expected))
    only_asked = encode(ROWS, pooler.layers(DEPTH))
    torch.testing.assert_close(pooler.build(WIDTH)(only_asked), pooler.build(WIDTH)(states))


def test_last_layers_reads_the_mean_unless_asked_for_the_first_token() -> None:
    states = encode(ROWS)
    torch.testing.assert_close(LastLayers(count=1).build(WIDTH)(states), states.mean())


def test_last_layers_asks_for_the_last_of_the_layers_there_are() -> None:
    assert LastLayers(count=4).layers(12) == (9, 10, 11, 12)
    assert LastLayers(count=4).layers(4) == (1, 2, 3, 4)
    assert LastLayers(count=4).layers(2) == (1, 2)


def test_last_layers_sees_what_a_conditioner_did_to_the_final_states() -> None:
    states = encode(ROWS)
    conditioned = States(states.tokens + 8, states.batch, states.layers)
    module = LastLayers(count=4).build(WIDTH)
    torch.testing.assert_close(module(conditioned), module(states) + 2)


def test_last_layers_without_hidden_states_says_what_is_missing() -> None:
    with pytest.raises(ValueError, match=r"pooler\.layers"):
        LastLayers().build(WIDTH)(encode(ROWS, ()))


def test_last_layers_of_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="count"):
        parse(Pooler, {"kind": "last_layers", "count": 0})


@pytest.mark.parametrize("pooler", POOLERS, ids=str)
def test_row_order_and_neighbours_do_not_matter(pooler: Pooler) -> None:
    module = trained(pooler)
    together = module(encode(ROWS))
    assert together.shape == (len(ROWS), WIDTH)
    torch.testing.assert_close(module(encode(ROWS[::-1])), together.flip(0))
    for row, pooled in zip(ROWS, together, strict=True):
        torch.testing.assert_close(module(encode([row]))[0], pooled)


@pytest.mark.parametrize("pooler", POOLERS, ids=str)
def test_gradients_reach_every_parameter_and_every_row(pooler: Pooler) -> None:
    module, states = pooler.build(WIDTH).double(), encode(ROWS)
    module(states).square().sum().backward()
    assert states.tokens.grad is not None
    assert all(row.any() for row in rows_of(states.tokens.grad, states))
    for parameter in module.parameters():
        assert parameter.grad is not None
        assert parameter.grad.all()


def test_every_kind_builds_from_defaults_and_survives_plain_data() -> None:
    kinds = Pooler.kinds()
    assert set(kinds) == {"attention", "cls", "last_layers", "max", "mean"}
    for name, kind in kinds.items():
        spec = kind()
        assert parse(Pooler, spec.to_dict()) == parse(Pooler, name) == spec
        assert kind.explained().keys() >= kind.model_fields.keys() - {"kind"}
        states = encode(ROWS, spec.layers(DEPTH))
        assert spec.build(WIDTH).double()(states).shape == (len(ROWS), WIDTH)
