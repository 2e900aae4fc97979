"""Readers and conditioning methods put together, each against what its first line says, computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.conditioning import Conditioning, NetworkShape, task_key
from weft.conditioning.combined import CombinedConditioner
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner, Readout
from weft.encoder.config import EncoderConfig
from weft.layers.features import BothFeatures, CosineFeatures, SiameseFeatures, TextFeatures
from weft.layers.pairs import pair_features, scaled
from weft.layers.relations import RelationFeatures
from weft.layers.spans import SpanFeatures
from weft.pooling.mean import MeanOfTokens
from weft.spec import parse
from weft.tensors import Batch, Indices, PairIndex, SpanIndex, States, WordIndex, pack

WIDTH = 6


def random_states(*lengths: int, indices: Indices = Indices()) -> States:  # noqa: B008 (it cannot change)
    """States of rows of these lengths."""
    torch.manual_seed(0)
    batch = replace(pack([[1] * length for length in lengths]), indices=indices)
    return States(torch.randn(sum(lengths), WIDTH), batch)


# readers


def test_the_two_texts_of_a_pair_are_neighbouring_rows() -> None:
    states = random_states(3, 1, 2, 5, 1, 4)
    means = [states.row(row).mean(0) for row in range(6)]
    vectors = torch.stack([mean / mean.square().mean().sqrt() for mean in means])
    u, v = vectors[0::2], vectors[1::2]
    siamese = SiameseFeatures(MeanOfTokens(), ["v", "difference", "u", "product"])(states)
    torch.testing.assert_close(siamese, torch.cat([v, (u - v).abs(), u, u * v], 1))
    cosine = CosineFeatures(MeanOfTokens())(states)
    torch.testing.assert_close(cosine, ((u * v).sum(1) / (u.norm(dim=1) * v.norm(dim=1))).unsqueeze(1))
    torch.testing.assert_close(TextFeatures(MeanOfTokens())(states), vectors)
    torch.testing.assert_close((u * v).mean(1, keepdim=True), cosine)  # so a siamese head can say the cosine


def test_a_pair_that_is_read_both_ways_is_three_rows_both_texts_and_then_each() -> None:
    states = random_states(3, 1, 2, 5, 1, 4)
    together, u, v = (TextFeatures(MeanOfTokens())(states)[start::3] for start in range(3))
    read = BothFeatures(MeanOfTokens(), ["product", "v"])
    torch.testing.assert_close(read(states), torch.cat([together, u * v, v], 1))
    direction = read.direction(WIDTH)
    assert direction is not None
    torch.testing.assert_close(read(states) @ direction, torch.cosine_similarity(u, v))
    assert BothFeatures(MeanOfTokens(), ["v"]).direction(WIDTH) is None


def test_vectors_are_scaled_to_a_mean_square_of_one_and_nothing_stays_nothing() -> None:
    vectors = torch.tensor([[3.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1e-3, 1e-3, -1e-3, 1e-3]])
    expected = [[1.2, 0.0, 1.6, 0.0], [0.0] * 4, [1.0, 1.0, -1.0, 1.0]]
    torch.testing.assert_close(scaled(vectors), torch.tensor(expected))


@pytest.mark.parametrize("features", [["product"], ["u", "v", "product", "difference"], ["u", "v"]])
def test_the_direction_of_pairs_is_their_cosine_where_a_head_can_read_it(features: list[Any]) -> None:
    states, read = random_states(3, 1, 2, 5, 1, 4), SiameseFeatures(MeanOfTokens(), features)
    direction = read.direction(states.tokens.shape[1])
    if "product" not in features:
        assert direction is None
        return
    assert direction is not None
    torch.testing.assert_close(read(states) @ direction, CosineFeatures(MeanOfTokens())(states)[:, 0])
    assert TextFeatures(MeanOfTokens()).direction(6) is None


def test_features_that_do_not_depend_on_the_order_of_two_texts() -> None:
    u, v = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 5.0]])
    assert pair_features(u, v, ["difference", "product"]).tolist() == [[2, 7, 3, -10]]
    assert pair_features(v, u, ["difference", "product"]).tolist() == [[2, 7, 3, -10]]
    assert pair_features(u, v, ["v", "u"]).tolist() == [[3, 5, 1, -2]]


def spans_of(first: list[int], last: list[int], **more: PairIndex) -> Indices:
    """Spans of four words, of which the second has two tokens."""
    words = ([0, 1, 2, 3, 4], [0, 1, 1, 2, 3], [0, 1, 3, 4], [0, 2, 3, 4], [4])
    return Indices(WordIndex(*map(torch.tensor, words)), SpanIndex(torch.tensor(first), torch.tensor(last)), **more)


@pytest.mark.parametrize("ends", ["plain", "networks"])
@pytest.mark.parametrize("content", ["mean", "attention", "none"])
def test_a_span_is_its_ends_its_content_and_its_width_and_the_widest_width_serves_wider_ones(
    ends: Any, content: Any
) -> None:
    states = random_states(5, indices=spans_of([0, 0, 0], [0, 1, 3]))
    reader = SpanFeatures(WIDTH, 4, 2, ends, content)
    first, last = states.tokens[[0, 1, 3, 4]], states.tokens[[0, 2, 3, 4]]
    rows = []
    for begin, end in ((0, 0), (0, 1), (0, 3)):  # one, two and four words, of which two are the widest known
        total = reader.start(first[begin]) + reader.end(last[end]) + reader.widths.weight[min(end - begin, 1)]
        inner = first[begin : end + 1]
        if reader.content is not None:
            shares = torch.full((len(inner),), 1 / len(inner))
            if reader.attention is not None:
                shares = torch.softmax(reader.attention(inner).squeeze(1), 0)
            total = total + shares @ reader.content(inner)
        rows.append(F.gelu(total))
    torch.testing.assert_close(reader(states), torch.stack(rows), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("distances", [0, 2])
def test_a_relation_is_its_head_its_tail_their_product_and_their_places_in_this_order(distances: int) -> None:
    pairs = PairIndex(torch.tensor([0, 1, 2, 0]), torch.tensor([1, 0, 0, 2]))
    states = random_states(5, indices=spans_of([0, 1, 3], [0, 2, 3], pairs=pairs))
    reader = RelationFeatures(WIDTH, 4, distances)
    span = reader.spans(states)
    rows = []
    for (head, tail), place in zip(((0, 1), (1, 0), (2, 0), (0, 2)), (3, 5, 6, 4), strict=True):  # 0 or 2 words between
        total = reader.head(span[head]) + reader.tail(span[tail]) + reader.both(span[head] * span[tail])
        rows.append(F.gelu(total + (reader.places.weight[place] if reader.places is not None else 0)))
    assert (reader.places is None) == (distances == 0)
    torch.testing.assert_close(reader(states), torch.stack(rows), rtol=1e-5, atol=1e-6)


# conditioning


class Speaks(Conditioner):
    """A method that leaves its mark at every seam, and remembers what it was asked."""

    def __init__(self, factor: float, own: str = "", reads: bool = False) -> None:
        super().__init__()
        self.factor, self.own, self.reads = factor, own, reads
        self.started = 0

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        return x * self.factor + 1

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        return q * self.factor + 1, k * self.factor + 2, v * self.factor + 3

    def at_readout(self, q_first: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch) -> Readout | None:
        return Readout(q_first * self.factor, k, v) if self.reads else None

    def at_output(self, states: States) -> States:
        return replace(states, tokens=states.tokens * self.factor + 1)

    def at_block(self, x: Tensor, index: int, batch: Batch) -> Tensor | None:
        return x * self.factor

    def extra_loss(self, task: str, head: nn.Module) -> Tensor | None:
        return torch.tensor(self.factor)

    def encoder_key(self, task: str) -> str:
        return task if self.own == task else ""

    def start(self, words: Any, class_means: Any) -> None:
        self.started += 1


@pytest.mark.parametrize("turned", [False, True])
def test_combined_methods_all_speak_at_every_seam_in_the_order_listed(turned: bool) -> None:
    methods = [Speaks(2.0, own="a"), Speaks(3.0, own="b", reads=True)][:: -1 if turned else 1]
    together = CombinedConditioner(methods)
    first, second = (method.factor for method in methods)
    x, batch = torch.ones(2, WIDTH), pack([[1, 2]])
    layer = SelfAttention(WIDTH, 2, 0.0)
    one = torch.ones(())

    def in_turn(added: float) -> Tensor:
        return (one * first + added) * second + added

    torch.testing.assert_close(together.at_input(x, batch)[0, 0], in_turn(1))
    for found, added in zip(together.at_qkv(x, x, x, x, layer, batch), (1, 2, 3), strict=True):
        torch.testing.assert_close(found[0, 0], in_turn(added))
    torch.testing.assert_close(together.at_output(States(x, batch)).tokens[0, 0], in_turn(1))
    readout = together.at_readout(x, x, x, layer, batch)
    assert readout is not None
    assert readout.gathered[0, 0] == 3
    beside, loss = together.at_block(x, 0, batch), together.extra_loss("a", nn.Identity())
    assert beside is not None
    assert (beside[0, 0], loss) == (5, 5)
    keys = {task: together.encoder_key(task) for task in "abcd"}
    assert keys["c"] == keys["d"]  # neither method tells these two apart
    assert len({keys["a"], keys["b"], keys["c"]}) == 3
    together.start(lambda phrases: x, lambda task: x)
    assert [method.started for method in methods] == [1, 1]


def test_combined_methods_that_say_nothing_add_nothing() -> None:
    together = CombinedConditioner([Conditioner(), Conditioner()])
    x, batch = torch.ones(2, WIDTH), pack([[1, 2]])
    assert together.at_block(x, 0, batch) is None
    assert together.extra_loss("a", nn.Identity()) is None
    assert together.at_readout(x, x, x, SelfAttention(WIDTH, 2, 0.0), batch) is None


def build(options: dict[str, Any], **shape: Any) -> Conditioner:
    config = EncoderConfig(hidden_size=48, num_attention_heads=2, num_hidden_layers=2, initializer_range=0.3)
    return parse(Conditioning, options).build(NetworkShape(config, ("a", "b"), **shape))


def test_layers_on_top_begin_as_asked_for() -> None:
    torch.manual_seed(0)
    for name, parameter in build({"kind": "task_attention", "init": "uniform"}).named_parameters():
        if "norm" not in name:
            assert (parameter.min() >= 0.9, parameter.max() <= 1.0, parameter.std() > 0.01) == (True, True, True)
    for name, parameter in build({"kind": "task_attention"}).named_parameters():
        if name.endswith("weight") and "norm" not in name:
            assert parameter.std().item() == pytest.approx(0.3, rel=0.1)
        elif "norm" not in name:
            assert not parameter.any()


def test_each_task_has_as_many_layers_on_top_as_it_asks_for() -> None:
    conditioner = build({"kind": "task_attention", "counts": {"b": 3}, "count": 2, "plain": True})
    linear = 48 * 48 + 48
    sizes = {task: sum(p.numel() for p in conditioner.tasks[task_key(task)].parameters()) for task in ("a", "b")}
    assert sizes == {"a": 2 * 3 * linear, "b": 3 * 3 * linear}
    none = build({"kind": "task_attention", "counts": {"b": 0}})
    states = replace(random_states(2, 3), batch=replace(pack([[1, 2], [1, 2, 3]]), task="b"))
    assert none.at_output(states).tokens is states.tokens


def test_the_label_loss_is_left_out_where_a_head_reads_two_texts_or_its_weight_is_zero() -> None:
    labels = {"a": ("x", "y"), "b": ("x", "y", "z")}
    losses = dict.fromkeys(labels, Tensor.sum)
    conditioner = build({"kind": "label_attention"}, labels=labels, label_losses=losses, compared=frozenset("a"))
    head = nn.Linear(48, 3)
    assert conditioner.extra_loss("a", head) is None
    assert conditioner.extra_loss("b", head) is not None
    assert conditioner.extra_loss("c", head) is None
    silent = build({"kind": "label_attention", "weight": 0}, labels=labels, label_losses=losses)
    assert silent.extra_loss("b", head) is None
