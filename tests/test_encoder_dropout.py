"""What dropout does inside the encoder and its heads, number by number, and long batches worked off in parts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from weft.conditioning import Conditioning, NetworkShape
from weft.conditioning.combined import CombinedConditioner
from weft.encoder.attention import SelfAttention, attend
from weft.encoder.conditioner import Conditioner
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.heads import Head
from weft.spec import parse
from weft.tensors import Batch, States, pack

HEADS, DEPTH = 2, 8  # as many tokens in a row as a head is wide, so that one-hot values show the weights
WIDTH = HEADS * DEPTH
ROWS = 96


class GivenValues(Conditioner):
    """Gives the tokens of every row the same values, (S, D), in every head."""

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        self.values = values

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        return q, k, self.values[batch.positions].repeat(1, HEADS)


def one_hot_values() -> Conditioner:
    """Token j has a one at j: what is gathered are then the weights used."""
    return GivenValues(torch.eye(DEPTH))


def square_batch(task: str = "") -> Batch:
    """Rows of as many tokens as a head is wide."""
    return pack([[1] * DEPTH for _ in range(ROWS)], task=task)


def build_attention(p: float) -> SelfAttention:
    """An attention layer whose output is what was gathered."""
    layer = SelfAttention(WIDTH, HEADS, p)
    layer.output = nn.Identity()  # type: ignore[assignment]
    return layer


def softmax_by_hand(layer: SelfAttention, x: Tensor) -> Tensor:
    """The weights of every token for every token of its row, (B, N, S, S)."""
    q, k = (y(x).view(ROWS, DEPTH, HEADS, DEPTH).transpose(1, 2) for y in (layer.query, layer.key))
    return torch.softmax(q @ k.transpose(-1, -2) / DEPTH**0.5, -1)


def weights_used(gathered: Tensor) -> Tensor:
    """The weights that one-hot values show, (B, N, S, S)."""
    return gathered.view(ROWS, DEPTH, HEADS, DEPTH).transpose(1, 2)


def assert_dropped(used: Tensor, whole: Tensor, p: float) -> None:
    """Every number is 0 or that of `whole` / (1 - p), and about a share of p of them are 0."""
    dropped = used == 0
    torch.testing.assert_close(used[~dropped], whole[~dropped] / (1 - p), rtol=1e-5, atol=1e-7)
    assert dropped.float().mean().item() == pytest.approx(p, abs=0.06)


@pytest.mark.parametrize("p", [0.1, 0.4])
@pytest.mark.parametrize("seed", [0, 1])
def test_attention_in_training_drops_weights_after_the_scaled_softmax(p: float, seed: int) -> None:
    torch.manual_seed(seed)
    layer = build_attention(p).train()
    x = 3 * torch.randn(ROWS * DEPTH, WIDTH)
    gathered, _ = layer(x, square_batch(), one_hot_values())
    assert_dropped(weights_used(gathered), softmax_by_hand(layer, x), p)


def test_every_layer_of_an_encoder_drops_attention_by_its_own_share_and_not_that_of_hidden_states() -> None:
    torch.manual_seed(0)
    dropout: dict[str, Any] = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.4}
    shape: dict[str, Any] = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "initializer_range": 0.5}
    encoder = Encoder(EncoderConfig(vocab_size=50, num_hidden_layers=2, **shape, **dropout)).train()
    seen: list[tuple[SelfAttention, Tensor, Tensor]] = []
    for block in encoder.blocks:
        block.attention.output = nn.Identity()
        block.attention.register_forward_hook(lambda layer, inputs, out: seen.append((layer, inputs[0], out[0])))
    encoder(pack(torch.randint(50, (ROWS, DEPTH)).tolist()), one_hot_values())
    assert len(seen) == 2
    for layer, x, gathered in seen:
        assert_dropped(weights_used(gathered), softmax_by_hand(layer, x), 0.4)


@pytest.mark.parametrize(("p", "training"), [(0.4, False), (0.0, True)])
def test_attention_drops_nothing_in_evaluation_or_where_the_share_is_zero(p: float, training: bool) -> None:
    torch.manual_seed(0)
    layer = build_attention(p).train(training)
    x = 3 * torch.randn(ROWS * DEPTH, WIDTH)
    gathered, _ = layer(x, square_batch(), one_hot_values())
    torch.testing.assert_close(weights_used(gathered), softmax_by_hand(layer, x), rtol=1e-5, atol=1e-6)


def test_with_dropout_rows_of_several_lengths_gather_from_themselves_in_their_own_order() -> None:
    torch.manual_seed(0)
    batch = pack([[1] * length for length in (3, 1, 4, 3, 1)])
    q, k, v = torch.randn(3, int(batch.lengths.sum()), WIDTH)
    plain = attend(q, k, v, HEADS, batch)
    torch.testing.assert_close(attend(q, k, v, HEADS, batch, p=1e-6), plain, rtol=1e-5, atol=1e-5)  # drops none


def test_what_attention_drops_is_lost_to_all_values_alike() -> None:
    torch.manual_seed(0)
    gathered, _ = build_attention(0.4).train()(
        3 * torch.randn(ROWS * DEPTH, WIDTH), square_batch(), GivenValues(torch.ones(DEPTH, DEPTH))
    )
    sums = gathered.view(-1, DEPTH)
    torch.testing.assert_close(sums, sums[:, :1].expand_as(sums))
    assert sums.std() > 0.1


def build_labels() -> Conditioner:
    """Label attention for a task of three labels."""
    config = EncoderConfig(hidden_size=WIDTH, num_attention_heads=HEADS, num_hidden_layers=1, initializer_range=1.0)
    options = parse(Conditioning, "label_attention")
    return options.build(NetworkShape(config, ("t",), {"t": ("x", "y", "z")}))


@pytest.mark.parametrize("training", [True, False])
def test_label_attention_drops_weights_in_training_only_and_shows_them_whole(training: bool) -> None:
    torch.manual_seed(0)
    layer, p = build_attention(0.25).train(training), 0.25
    x, batch = 3 * torch.randn(ROWS * DEPTH, WIDTH), square_batch("t")
    gathered, shown = layer(x, batch, CombinedConditioner([one_hot_values(), build_labels()]), show=True)
    used = weights_used(gathered)[:, :, 0]  # (B, N, S): what the first token looked at
    whole = shown.weights.view(ROWS, DEPTH, HEADS).transpose(1, 2)
    torch.testing.assert_close(whole.sum(-1), torch.ones(ROWS, HEADS))
    assert (whole - softmax_by_hand(layer, x)[:, :, 0]).abs().max() > 0.1  # the labels did pull
    if training:
        assert_dropped(used, whole, p)
    else:
        torch.testing.assert_close(used, whole, rtol=1e-5, atol=1e-6)


@pytest.fixture
def seen() -> dict[str, tuple[Tensor, Tensor]]:
    """What went into some modules of an encoder and came out of them, by their names, in one training pass."""
    torch.manual_seed(0)
    shape: dict[str, Any] = {"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 2}
    dropout: dict[str, Any] = {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.1}
    config = EncoderConfig(**shape, **dropout, num_hidden_layers=2, initializer_range=0.5)
    encoder = Encoder(config).train()
    found: dict[str, tuple[Tensor, Tensor]] = {}

    def keep(name: str) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            found[name] = (inputs[0], output[0] if isinstance(output, tuple) else output)

        return hook

    for name, module in encoder.named_modules():
        module.register_forward_hook(keep(name))
    encoder(pack([list(range(length)) for length in (7, 9, 9, 20, 30)]))
    return found


def test_the_embeddings_are_dropped_after_their_norm(seen: dict[str, tuple[Tensor, Tensor]]) -> None:
    assert_dropped(seen["blocks.0"][0], seen["embeddings.norm"][1], 0.3)


@pytest.mark.parametrize("block", [0, 1])
def test_each_layers_attention_and_feed_forward_are_dropped_before_they_are_added(
    seen: dict[str, tuple[Tensor, Tensor]], block: int
) -> None:
    place = f"blocks.{block}"
    x, gathered = seen[f"{place}.attention"]
    assert_added_after_dropout(seen[f"{place}.attention_norm"][0], x, gathered)
    assert_added_after_dropout(seen[f"{place}.output_norm"][0], seen[f"{place}.widen"][0], seen[f"{place}.narrow"][1])


def assert_added_after_dropout(total: Tensor, x: Tensor, added: Tensor) -> None:
    dropped = total == x
    torch.testing.assert_close(total[~dropped], (x + added / 0.7)[~dropped], rtol=1e-5, atol=1e-5)
    assert dropped.float().mean().item() == pytest.approx(0.3, abs=0.06)


def test_evaluation_is_the_same_twice_and_training_is_not() -> None:
    torch.manual_seed(0)
    encoder = Encoder(EncoderConfig(vocab_size=50, hidden_size=32, num_attention_heads=2, num_hidden_layers=1))
    batch = pack([[1, 2, 3], [4, 5]])
    assert not torch.equal(encoder.train()(batch).tokens, encoder(batch).tokens)
    assert torch.equal(encoder.eval()(batch).tokens, encoder(batch).tokens)


def test_more_tokens_than_are_worked_off_at_once_give_the_same_states_as_each_row_alone() -> None:
    torch.manual_seed(0)
    shape: dict[str, Any] = {"vocab_size": 99, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2}
    encoder = Encoder(EncoderConfig(**shape, num_hidden_layers=2, initializer_range=0.5)).eval()
    rows = torch.randint(99, (45, 70)).tolist()  # 3,150 tokens
    with torch.inference_mode():
        states = encoder(pack(rows))
        alone = [encoder(pack([row])).tokens for row in rows]
    with_gradients: States = encoder(pack(rows))
    torch.testing.assert_close(states.tokens, torch.cat(alone), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(states.tokens, with_gradients.tokens.detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{"kind": "linear"}, {"kind": "mlp", "sizes": [64, 64], "activation": "relu"}])
def test_a_head_drops_the_share_asked_for_before_its_last_layer(options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    head = parse(Head, {**options, "dropout": 0.25}).build(64, 64).train()
    for linear in (module for module in head if isinstance(module, nn.Linear)):
        nn.init.eye_(linear.weight)
        nn.init.zeros_(linear.bias)
    x = torch.rand(200, 64) + 0.5  # above zero, where relu changes nothing
    assert_dropped(head(x), x, 0.25)
    torch.testing.assert_close(head.eval()(x), x)


@pytest.mark.parametrize(("name", "by_hand"), [("relu", torch.relu), ("tanh", torch.tanh), ("gelu", nn.GELU())])
def test_an_mlp_has_its_activation_after_each_hidden_layer_and_none_at_the_end(name: str, by_hand: Any) -> None:
    torch.manual_seed(0)
    head = parse(Head, {"kind": "mlp", "sizes": [5, 7], "activation": name}).build(6, 3).eval()
    first, second, last = (module for module in head if isinstance(module, nn.Linear))
    assert [tuple(one.weight.shape) for one in (first, second, last)] == [(5, 6), (7, 5), (3, 7)]
    x = torch.randn(4, 6)
    torch.testing.assert_close(head(x), last(by_hand(second(by_hand(first(x))))))
