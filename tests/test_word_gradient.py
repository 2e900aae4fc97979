"""The gradient of the table of words: the same as ever, in memory that stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from weft.encoder.lookup import look_up
from weft.training.gradients import clear

IDS = (torch.tensor([3, 0, 3, 5, 3, 1]), torch.tensor([5, 2]))


def loss(read: Callable[[Tensor], Tensor], *ids: Tensor) -> Tensor:
    """A loss of several look-ups, in which every token has its own gradient."""
    weights = torch.Generator().manual_seed(1)
    return torch.stack([(read(part) * torch.randn(len(part), 4, generator=weights)).sum() for part in ids]).sum()


def reference(*ids: Tensor) -> Tensor:
    module = nn.Embedding.from_pretrained(torch.zeros(7, 4), freeze=False)
    loss(module, *ids).backward()
    assert module.weight.grad is not None
    return module.weight.grad


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("ids", [IDS[:1], IDS, (*IDS, IDS[0])])
def test_the_gradient_is_that_of_an_embedding_bit_for_bit(ids: tuple[Tensor, ...], begun: bool) -> None:
    table = nn.Parameter(torch.randn(7, 4))
    if begun:
        table.grad = torch.zeros(7, 4)
    loss(partial(look_up, table), *ids).backward()
    assert table.grad is not None
    assert torch.equal(table.grad, reference(*ids))


def test_a_gradient_that_is_there_is_added_to_where_it_is() -> None:
    table = nn.Parameter(torch.randn(7, 4))
    table.grad = torch.ones(7, 4)
    place = table.grad.data_ptr()
    loss(partial(look_up, table), IDS[0]).backward()
    assert table.grad.data_ptr() == place
    assert torch.allclose(table.grad, reference(IDS[0]) + 1)


def test_words_that_are_also_read_as_a_decoder_get_both_gradients() -> None:
    table, plain = (nn.Parameter(torch.eye(7, 4)) for _ in range(2))
    table.grad = torch.zeros(7, 4)
    (look_up(table, IDS[0]) @ table.T).square().sum().backward()
    (plain[IDS[0]] @ plain.T).square().sum().backward()
    assert plain.grad is not None
    assert torch.allclose(table.grad, plain.grad)


def test_a_table_that_does_not_learn_is_only_read() -> None:
    table = nn.Parameter(torch.randn(7, 4), requires_grad=False)
    assert not look_up(table, IDS[0]).requires_grad
    with torch.no_grad():
        assert torch.equal(look_up(nn.Parameter(table), IDS[0]), table[IDS[0]])


def test_clearing_keeps_the_memory_of_large_tables_alone() -> None:
    large, small = nn.Parameter(torch.ones(5, 4)), nn.Parameter(torch.ones(3, 4))
    clear([large, small], large=12 * 4)
    assert large.grad is not None
    assert small.grad is None
    assert large.grad.eq(0).all()  # from the first step on, so that a run that is resumed takes the same sums
    place = large.grad.data_ptr()
    small.grad = torch.ones(3, 4)
    large.grad += 1
    clear([large, small], large=12 * 4)
    assert large.grad.data_ptr() == place
    assert large.grad.eq(0).all()
    assert small.grad is None
