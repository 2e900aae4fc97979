"""Batches, states and scores as they pass from hand to hand, and the limits and the beginning of an encoder."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch

from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import DataError
from weft.tensors import Indices, MaskIndex, Scores, States, pack

SHAPE: dict[str, Any] = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}


@pytest.fixture
def encoder() -> Encoder:
    torch.manual_seed(0)
    return Encoder(EncoderConfig(**SHAPE, num_hidden_layers=2, max_position_embeddings=9, position_offset=2)).eval()


# packing


def test_rows_are_packed_with_their_own_segments_positions_and_task() -> None:
    rows, segments = [[5, 6, 7], [8], [9, 10, 11], [12, 13]], [[0, 0, 1], [1], [0, 1, 1], [0, 1]]
    batch = pack(rows, segments, "t")
    assert batch.task == "t"
    for number, (row, segment) in enumerate(zip(rows, segments, strict=True)):
        places = slice(int(batch.row_offsets[number]), int(batch.row_offsets[number]) + len(row))
        assert batch.ids[places].tolist() == row
        assert batch.segments[places].tolist() == segment
        assert batch.positions[places].tolist() == list(range(len(row)))
        assert batch.row_of[places].tolist() == [number] * len(row)
    assert batch.lengths.tolist() == [3, 1, 3, 2]
    assert batch.runs == ((1, 1), (1, 2), (2, 3))
    assert pack(rows).segments.tolist() == [0] * 9


def test_a_moved_batch_takes_everything_along() -> None:
    indices, gold = Indices(masked=MaskIndex(torch.tensor([1, 2]))), torch.tensor([0, 1])
    batch = replace(pack([[1, 2], [3]], task="t"), outputs_per_example=(1, 1), indices=indices, gold=gold)
    moved = batch.to("meta")
    assert {value.device.type for value in vars(moved).values() if isinstance(value, torch.Tensor)} == {"meta"}
    assert moved.gold is not None
    assert moved.indices.masked is not None
    assert moved.indices.masked.masked_positions.device.type == "meta"
    assert moved.indices.words is None
    assert (moved.task, moved.outputs_per_example, moved.runs) == (batch.task, batch.outputs_per_example, batch.runs)
    assert pack([[1]]).to("meta").gold is None


def test_a_row_of_states_is_all_its_tokens_and_no_others() -> None:
    batch = pack([[1, 2, 3], [4], [5, 6]])
    states = States(batch.ids.unsqueeze(1).float(), batch)
    assert [states.row(row).flatten().tolist() for row in range(3)] == [[1, 2, 3], [4], [5, 6]]
    assert states.first().flatten().tolist() == [1, 4, 5]
    assert states.mean().flatten().tolist() == [2, 4, 5.5]


def test_scores_of_several_batches_are_joined_in_the_order_asked_for() -> None:
    steps = torch.eye(2)
    first = Scores(torch.tensor([[1.0], [1.0], [2.0]]), (2, 1), steps)
    second = Scores(torch.tensor([[3.0], [3.0], [3.0]]), (0, 3), steps)
    joined = Scores.join([first, second], [3, 0, 2, 1])
    assert joined.values.flatten().tolist() == [2, 3, 3, 3, 1, 1]
    assert joined.sizes == (1, 3, 0, 2)
    assert joined.transitions is steps


def test_detached_scores_are_full_precision_without_gradients() -> None:
    scores = Scores(
        torch.ones(2, 1, requires_grad=True).bfloat16(), (1, 1), torch.ones(2, 2, requires_grad=True).half()
    )
    plain = scores.detached()
    assert plain.transitions is not None
    assert (plain.values.dtype, plain.transitions.dtype, plain.sizes) == (torch.float32, torch.float32, (1, 1))
    assert [one.requires_grad for one in (plain.values, plain.transitions)] == [False, False]


# limits


@pytest.mark.parametrize("others", [[], [[1]], [[1], [2, 3]]])
def test_a_row_may_be_as_long_as_the_positions_last_and_no_longer(encoder: Encoder, others: list[list[int]]) -> None:
    assert encoder(pack([*others, [1] * 7])).tokens.shape[1] == 16
    with pytest.raises(DataError, match="a row has 8 tokens, but this encoder takes at most 7"):
        encoder(pack([*others, [1] * 8]))


def test_ids_end_one_below_the_size_of_the_vocabulary(encoder: Encoder) -> None:
    encoder(pack([[0, 39]]))
    for wrong in (40, -1):
        with pytest.raises(DataError, match=f"token id {wrong} is outside the vocabulary, whose ids run from 0 to 39"):
            encoder(pack([[0, wrong]]))


# beginning, and recomputing


@pytest.mark.parametrize("spread", [0.02, 0.3])
def test_an_encoder_begins_with_the_spread_of_its_config_and_no_biases(spread: float) -> None:
    torch.manual_seed(0)
    encoder = Encoder(EncoderConfig(**{**SHAPE, "hidden_size": 64}, num_hidden_layers=1, initializer_range=spread))
    for name, parameter in encoder.named_parameters():
        if "norm" in name:
            assert parameter.unique().tolist() == [1.0 if name.endswith("weight") else 0.0]
        elif name.endswith("bias"):
            assert not parameter.any(), name
        else:
            assert parameter.std().item() == pytest.approx(spread, rel=0.15), name
            assert abs(parameter.mean().item()) < spread / 4


@pytest.mark.parametrize(("checkpoint", "gradients", "passes"), [(True, True, 2), (False, True, 1), (True, False, 1)])
def test_layers_are_computed_again_for_gradients_only_where_asked(
    encoder: Encoder, checkpoint: bool, gradients: bool, passes: int
) -> None:
    encoder.gradient_checkpointing = checkpoint
    seen: Counter[int] = Counter()
    for number, block in enumerate(encoder.blocks):
        block.attention.register_forward_hook(lambda *_, number=number: seen.update([number]))
    with torch.set_grad_enabled(gradients):
        total = encoder(pack([[1, 2, 3]])).tokens.sum()
    if gradients:
        total.backward()
    assert seen == {0: passes, 1: passes}
