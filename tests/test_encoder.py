"""How the encoder treats rows, seams, dropout and memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from weft.encoder.attention import SelfAttention, attend
from weft.encoder.conditioner import Conditioner, Readout
from weft.encoder.config import EncoderConfig
from weft.encoder.dropout import dropout
from weft.encoder.encoder import Encoder
from weft.errors import DataError
from weft.tensors import Batch, States, pack, softmax_per_row

CONFIG = EncoderConfig(
    vocab_size=50,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=24,
)


@pytest.fixture
def encoder() -> Encoder:
    torch.manual_seed(0)
    encoder = Encoder(CONFIG)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return encoder.eval()


rows_of_ids = st.lists(st.lists(st.integers(0, 49), min_size=1, max_size=24), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None)
@given(rows=rows_of_ids, seed=st.randoms())
def test_a_row_does_not_depend_on_its_neighbours_or_their_order(rows: list[list[int]], seed: object) -> None:
    torch.manual_seed(0)
    encoder = Encoder(CONFIG).eval()
    order = list(range(len(rows)))
    seed.shuffle(order)  # type: ignore[attr-defined]
    with torch.inference_mode():
        together = encoder(pack(rows))
        shuffled = encoder(pack([rows[i] for i in order]))
        for place, i in enumerate(order):
            alone = encoder(pack([rows[i]])).tokens
            torch.testing.assert_close(together.row(i), alone, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(shuffled.row(place), alone, atol=1e-5, rtol=1e-5)


@given(rows=rows_of_ids)
def test_packing_loses_nothing_and_adds_nothing(rows: list[list[int]]) -> None:
    batch = pack(rows, [[i % 2] * len(row) for i, row in enumerate(rows)])
    assert len(batch.ids) == sum(map(len, rows))
    assert sum(count * length for count, length in batch.runs) == len(batch.ids)
    for i, row in enumerate(rows):
        start, end = int(batch.row_offsets[i]), int(batch.row_offsets[i] + batch.lengths[i])
        assert batch.ids[start:end].tolist() == row
        assert batch.positions[start:end].tolist() == list(range(len(row)))
        assert batch.segments[start:end].tolist() == [i % 2] * len(row)
        assert batch.row_of[start:end].tolist() == [i] * len(row)


@pytest.mark.parametrize("rows", [[], [[1], []]])
def test_an_empty_row_cannot_be_packed(rows: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        pack(rows)


def test_attention_equals_full_matrices_row_by_row() -> None:
    torch.manual_seed(0)
    batch = pack([[1] * n for n in (3, 1, 5, 3)])
    q, k, v = (torch.randn(len(batch.ids), 8, dtype=torch.float64) for _ in range(3))
    found = attend(q, k, v, 2, batch)
    for i in range(batch.rows):
        mine = batch.row_of == i
        for head in (slice(0, 4), slice(4, 8)):
            weights = torch.softmax(q[mine, head] @ k[mine, head].T / 2.0, -1)
            assert torch.allclose(found[mine, head], weights @ v[mine, head], atol=1e-12)


def test_half_precision_is_widened_for_the_fused_kernel_and_narrowed_once() -> None:
    torch.manual_seed(0)
    batch = pack([[1] * n for n in (3, 1, 5, 3)])
    q, k, v = (torch.randn(len(batch.ids), 8).bfloat16() for _ in range(3))
    found = attend(q, k, v, 2, batch)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, attend(q.float(), k.float(), v.float(), 2, batch).bfloat16())


def test_softmax_per_row_sums_to_one_in_each_row_and_survives_large_scores() -> None:
    batch = pack([[1] * n for n in (3, 1, 5)])
    weights = softmax_per_row(torch.randn(9, 2) * 1000, batch)
    sums = torch.zeros(3, 2).index_add(0, batch.row_of, weights)
    assert torch.allclose(sums, torch.ones(3, 2))


def test_asking_for_layers_and_attention_leaves_the_states_bit_identical(encoder: Encoder) -> None:
    batch = pack([[1, 2, 3], [4, 5]])
    plain, asked = encoder(batch), encoder(batch, layers=(0, 1, 2), attention=(0, 1))
    assert torch.equal(plain.tokens, asked.tokens)
    assert torch.equal(asked.layers[2], asked.tokens)
    assert not plain.layers
    assert not plain.attention


class Counting(Conditioner):
    """Calls through to the identity and keeps count."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        self.calls.append("input")
        return super().at_input(x, batch)

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        self.calls.append(f"qkv {layer.index}")
        return super().at_qkv(q, k, v, x, layer, batch)

    def at_block(self, x: Tensor, index: int, batch: Batch) -> Tensor | None:
        self.calls.append(f"beside {index}")
        return super().at_block(x, index, batch)

    def at_readout(self, q_first: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch) -> Readout | None:
        self.calls.append(f"readout {layer.index}")
        assert q_first.shape == (2, 2, 8)
        assert k.shape == v.shape == (5, 2, 8)
        return super().at_readout(q_first, k, v, layer, batch)

    def at_output(self, states: States) -> States:
        self.calls.append("output")
        return super().at_output(states)


def test_every_seam_is_called_and_is_the_identity_by_default(encoder: Encoder) -> None:
    conditioner = Counting()
    batch = pack([[1, 2, 3], [4, 5]])
    assert torch.equal(encoder(batch).tokens, encoder(batch, conditioner).tokens)
    assert conditioner.calls == [
        *("input", "qkv 0", "readout 0", "beside 0"),
        *("qkv 1", "readout 1", "beside 1", "output"),
    ]


class ZeroReadout(Conditioner):
    def at_readout(self, q_first: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch) -> Readout | None:
        nothing = torch.zeros(k.shape[:2])
        return Readout(torch.zeros_like(q_first), nothing, nothing) if layer.index == 1 else None


def test_a_readout_changes_only_the_first_token_of_each_row(encoder: Encoder) -> None:
    batch = pack([[1, 2, 3], [4, 5], [6]])
    plain, changed = encoder(batch).tokens, encoder(batch, ZeroReadout()).tokens
    moved = (plain != changed).any(1)
    assert moved.nonzero().flatten().tolist() == sorted(batch.row_offsets.tolist())


def test_recomputing_blocks_gives_the_same_gradients(encoder: Encoder) -> None:
    batch = pack([[1, 2, 3], [4, 5]])
    gradients = []
    for recompute in (False, True):
        encoder.gradient_checkpointing = recompute
        encoder.zero_grad()
        encoder(batch).mean().square().sum().backward()
        gradients.append([p.grad.clone() for p in encoder.parameters() if p.grad is not None])
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(*gradients, strict=True))


def test_recomputing_repeats_the_same_dropout(encoder: Encoder) -> None:
    batch = pack([[1, 2, 3], [4, 5]])
    encoder.train()
    gradients = []
    for recompute in (False, True):
        encoder.gradient_checkpointing = recompute
        encoder.zero_grad()
        torch.manual_seed(3)
        encoder(batch).mean().square().sum().backward()
        gradients.append(encoder.embeddings.words.weight.grad.clone())  # type: ignore[union-attr]
    assert torch.allclose(*gradients, atol=1e-6)


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout_drops_the_right_share_and_keeps_the_mean(p: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(400_003, requires_grad=True)
    y = dropout(x, p)
    assert ((y == 0).float().mean() - p).abs() < 0.005
    assert (y.mean() - 1).abs() < 0.01
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_dropout_is_decided_by_the_seed_and_off_at_zero() -> None:
    x = torch.randn(100)
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(dropout(x, 0.5))
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert dropout(x, 0.0) is x


def test_training_with_dropout_keeps_the_expected_output() -> None:
    torch.manual_seed(0)
    encoder = Encoder(replace(CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.3, num_hidden_layers=1))
    batch = pack([[1, 2, 3, 4, 5, 6]])
    with torch.no_grad():
        expected = encoder.eval()(batch).tokens
        drawn = torch.stack([encoder.train()(batch).tokens for _ in range(2000)]).mean(0)
    assert (expected - drawn).abs().max() < 0.02


def test_ids_outside_the_vocabulary_and_rows_too_long_are_named(encoder: Encoder) -> None:
    with pytest.raises(DataError, match="token id 50 is outside the vocabulary.*0 to 49"):
        encoder(pack([[1, 50]]))
    with pytest.raises(DataError, match="25 tokens.*at most 24"):
        encoder(pack([[1] * 25]))


def test_the_seed_decides_the_start() -> None:
    starts = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        starts.append(Encoder(CONFIG).blocks[0].widen.weight)  # type: ignore[union-attr]
    assert torch.equal(starts[0], starts[1])  # type: ignore[arg-type]
    assert not torch.equal(starts[0], starts[2])  # type: ignore[arg-type]
