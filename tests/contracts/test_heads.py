"""What every kind of head promises; kinds come from the registry, so a new one is covered or fails."""

from __future__ import annotations

import tomllib

import pytest
import tomli_w
import torch
from torch import nn

from weft.heads import Head
from weft.spec import parse

ROWS, INPUTS, OUTPUTS = 5, 6, 3


@pytest.fixture(params=list(Head.kinds()))
def head(request: pytest.FixtureRequest) -> Head:
    torch.manual_seed(0)
    return parse(Head, {"kind": request.param})


def build(head: Head, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return head.build(INPUTS, OUTPUTS)


def test_a_head_survives_toml(head: Head) -> None:
    assert parse(Head, tomllib.loads(tomli_w.dumps(head.to_dict()))) == head
    assert head.explained().keys() >= {"dropout", "share"}


def test_each_row_is_scored_by_itself(head: Head) -> None:
    module, x = build(head).eval(), torch.randn(ROWS, INPUTS)
    together = module(x)
    assert together.shape == (ROWS, OUTPUTS)
    torch.testing.assert_close(module(x.flip(0)), together.flip(0))
    torch.testing.assert_close(torch.cat([module(row.unsqueeze(0)) for row in x]), together)
    assert module(x[:0]).shape == (0, OUTPUTS)


def test_inputs_of_zeros_give_finite_scores_and_gradients(head: Head) -> None:
    module, x = build(head).eval(), torch.zeros(ROWS, INPUTS, requires_grad=True)
    scores = module(x)
    scores.sum().backward()
    assert scores.isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_every_parameter_and_the_inputs_get_a_gradient(head: Head) -> None:
    module, x = build(head).eval(), torch.randn(ROWS, INPUTS, requires_grad=True)
    (module(x) * torch.randn(ROWS, OUTPUTS)).sum().backward()
    assert x.grad is not None
    assert x.grad.any()
    assert not [name for name, one in module.named_parameters() if one.grad is None or not one.grad.any()]


def test_inputs_are_dropped_out_in_training_alone_and_as_often_as_asked(head: Head) -> None:
    x = torch.randn(ROWS, INPUTS)
    for share, alike in ((0.0, True), (0.9, False)):
        module = build(head.model_copy(update={"dropout": share}))
        assert torch.equal(module.eval()(x), module.eval()(x))
        assert torch.equal(module.train()(x), module.eval()(x)) is alike


def test_the_seed_decides_every_weight_and_weights_decide_every_score(head: Head) -> None:
    x, first, again, other = torch.randn(ROWS, INPUTS), *(build(head, seed).eval() for seed in (1, 1, 2))
    assert torch.equal(first(x), again(x))
    assert not torch.equal(first(x), other(x))
    other.load_state_dict(first.state_dict())
    assert torch.equal(first(x), other(x))
