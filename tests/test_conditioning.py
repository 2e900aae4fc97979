"""Conditioning: every method against a reference of plain loops, at its neutral start, and in what it promises."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import tomli_w
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.checkpoints.layouts import LAYOUTS
from weft.conditioning import Conditioning, NetworkShape, task_key, tasks_by_parameter
from weft.data.records import Example
from weft.encoder.conditioner import Conditioner
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import ConfigError
from weft.model.folder import load_network, save_network
from weft.model.network import Network
from weft.model.predict import score
from weft.spec import parse
from weft.targets import FittedTarget
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.tasks import Task
from weft.tensors import Batch, FirstTokenAttention, pack
from weft.tokenization.tokenizer import Tokenizer
from weft.training.initial import InitialValues

CONFIG = EncoderConfig(
    vocab_size=50,
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=12,
    max_position_embeddings=24,
)
TARGETS: dict[str, FittedTarget] = {
    "a": LabelTarget(labels=("x", "y", "z")).fit(()),
    "b": LabelTarget(labels=("no", "yes")).fit(()),
    "pair": LabelTarget(labels=("no", "yes")).fit(()),
    "m": LabelsTarget(labels=("p", "q", "r")).fit(()),
}
BLUEPRINT = NetworkShape(
    CONFIG,
    tasks=("a", "b", "free", "pair"),
    labels={name: target.labels for name, target in TARGETS.items() if name != "m"},
    label_losses={name: target.label_loss for name, target in TARGETS.items()},
    siamese=frozenset({"pair"}),
    compared=frozenset({"pair"}),
)
ROWS = [[1, 2, 3], [4, 5, 6, 7], [8], [9, 10, 11]]
BOTH = {"kind": "combined", "methods": ["label_attention", "task_qkv"]}
SMALL_PAL = {"kind": "pal", "width": 4, "heads": 2}

Options = dict[str, Any]


def build(options: Options | str, shape: NetworkShape = BLUEPRINT) -> Conditioner:
    return parse(Conditioning, options).build(shape)


def stir(module: nn.Module, spread: float = 0.3) -> None:
    """Move every parameter away from where it started."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += torch.randn_like(parameter) * spread


def make(options: Options | str, config: EncoderConfig = CONFIG) -> tuple[Encoder, Conditioner]:
    """An encoder and a method, both away from their starts."""
    torch.manual_seed(0)
    encoder, conditioner = Encoder(config), build(options, replace(BLUEPRINT, config=config))
    stir(encoder)
    stir(conditioner)
    return encoder.eval(), conditioner.eval()


# The reference: rows, heads and tokens one by one, full attention, nothing packed.


@dataclass
class Plain:
    """What a method does, in the words of its formula; by default nothing."""

    at_input: Callable[[Tensor], Tensor] = lambda x: x
    at_qkv: Callable[..., list[Tensor]] = lambda qkv, x, layer: qkv
    labels: Tensor | None = None
    at_block: Callable[[Tensor, int], Tensor | float] = lambda x, layer: 0.0
    at_output: Callable[[list[Tensor]], list[Tensor]] = lambda rows: rows


def affine(linear: Any, x: Tensor) -> Tensor:
    return x @ linear.weight.T + (0.0 if linear.bias is None else linear.bias)


def normalise(norm: Any, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias


def look(q: Tensor, k: Tensor, v: Tensor, heads: int, labels: Tensor | None = None) -> Tensor:
    """Each query over all keys; of the first query, a label's score counts where it is higher."""
    size = q.shape[1] // heads
    gathered = []
    for i in range(len(q)):
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            scores = [q[i, own] @ k[j, own] / math.sqrt(size) for j in range(len(k))]
            if labels is not None and i == 0:
                for j in range(1, len(k)):
                    scores[j] = torch.stack([scores[j], *(y[own] @ k[j, own] / math.sqrt(size) for y in labels)]).max()
            weights = torch.softmax(torch.stack(scores), 0)
            gathered.append(sum((weights[j] * v[j, own] for j in range(len(k))), torch.zeros(())))
    return torch.cat(gathered).view(len(q), -1)


def run_plain(encoder: Encoder, rows: list[list[int]], plain: Plain) -> list[Tensor]:
    tables = encoder.embeddings
    finished = []
    for row in rows:
        x = tables.words.weight[row] + tables.positions.weight[: len(row)] + tables.segments.weight[0]
        x = plain.at_input(normalise(tables.norm, x))
        for index, block in enumerate(encoder.blocks):
            layer: Any = block.attention
            q, k, v = plain.at_qkv([affine(part, x) for part in (layer.query, layer.key, layer.value)], x, index)
            labels = None if plain.labels is None else affine(layer.query, plain.labels)
            seen: Any = normalise(block.attention_norm, x + affine(layer.output, look(q, k, v, layer.heads, labels)))
            wide = affine(block.widen, seen)
            wide = wide * 0.5 * (1 + torch.erf(wide / math.sqrt(2)))
            x = normalise(block.output_norm, seen + affine(block.narrow, wide) + plain.at_block(x, index))
        finished.append(x)
    return plain.at_output(finished)


def plain_label_attention(conditioner: Any, task: str, options: Options) -> Plain:
    return Plain(labels=conditioner.labels[task_key(task)])


def plain_task_input(conditioner: Any, task: str, options: Options) -> Plain:
    return Plain(at_input=lambda x: x + conditioner.vectors[task_key(task)])


def plain_task_qkv(conditioner: Any, task: str, options: Options) -> Plain:
    vectors = conditioner.vectors[task_key(task)]
    return Plain(at_qkv=lambda qkv, x, layer: [y + vectors[layer, i] for i, y in enumerate(qkv)])


def plain_task_projected(conditioner: Any, task: str, options: Options) -> Plain:
    vector = conditioner.vectors[task_key(task)]
    return Plain(at_qkv=lambda qkv, x, layer: [y + conditioner.matrices[layer][i] @ vector for i, y in enumerate(qkv)])


def plain_task_activated(conditioner: Any, task: str, options: Options) -> Plain:
    vector = conditioner.vectors[task_key(task)]
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    act = {
        "none": lambda x: x,
        "elu": lambda x: torch.where(x > 0, x, x.exp() - 1),
        "tanh": lambda x: 1 - 2 / ((2 * x).exp() + 1),
        "selu": lambda x: scale * torch.where(x > 0, x, alpha * (x.exp() - 1)),
        "gelu": lambda x: x * 0.5 * (1 + torch.erf(x / math.sqrt(2))),
    }[options["activation"]]

    def at_qkv(qkv: list[Tensor], x: Tensor, layer: int) -> list[Tensor]:
        return [
            act(y + conditioner.matrices[layer][i] @ vector) @ conditioner.outputs[layer][i].T
            for i, y in enumerate(qkv)
        ]

    return Plain(at_qkv=at_qkv)


def plain_task_attention(conditioner: Any, task: str, options: Options) -> Plain:
    def at_output(rows: list[Tensor]) -> list[Tensor]:
        for layer in conditioner.tasks[task_key(task)]:
            others = [rows[place ^ 1] for place in range(len(rows))] if task == "pair" else rows
            seen = [
                look(affine(layer.query, x), affine(layer.key, y), affine(layer.value, y), 2)
                for x, y in zip(rows, others, strict=True)
            ]
            if not options.get("plain"):
                seen = [normalise(layer.norm, x + y) for x, y in zip(rows, seen, strict=True)]
            rows = seen
        return rows

    return Plain(at_output=at_output)


def plain_pal(conditioner: Any, task: str, options: Options) -> Plain:
    own = conditioner.tasks[task_key(task)]

    def at_block(x: Tensor, layer: int) -> Tensor:
        q, k, v = affine(own.qkv[layer], affine(own.down, x)).chunk(3, 1)
        return affine(own.up, look(q, k, v, options["heads"]))

    return Plain(at_block=at_block)


def plain_lora(conditioner: Any, task: str, options: Options) -> Plain:
    down, up = conditioner.down[task_key(task)], conditioner.up[task_key(task)]

    def at_qkv(qkv: list[Tensor], x: Tensor, layer: int) -> list[Tensor]:
        q, k, v = qkv
        return [q + 8.0 * x @ (down[layer, 0] @ up[layer, 0]), k, v + 8.0 * x @ (down[layer, 1] @ up[layer, 1])]

    return Plain(at_qkv=at_qkv)


def plain_combined(conditioner: Any, task: str, options: Options) -> Plain:
    labels, vectors = conditioner.methods
    return replace(plain_task_qkv(vectors, task, {}), labels=labels.labels[task_key(task)])


PLAIN: dict[str, Callable[[Any, str, Options], Plain]] = {
    "none": lambda conditioner, task, options: Plain(),
    "label_attention": plain_label_attention,
    "task_input": plain_task_input,
    "task_qkv": plain_task_qkv,
    "task_projected": plain_task_projected,
    "task_activated": plain_task_activated,
    "task_attention": plain_task_attention,
    "pal": plain_pal,
    "lora": plain_lora,
    "combined": plain_combined,
}

CASES: list[tuple[Options, str]] = [
    *(({"kind": kind}, "a") for kind in ("none", "label_attention", "task_input", "task_qkv", "task_projected")),
    ({"kind": "label_attention"}, "pair"),
    *(
        ({"kind": "task_activated", "activation": activation, "init": init}, "a")
        for activation in ("none", "elu", "tanh", "selu", "gelu")
        for init in ("random", "identity")
    ),
    *(
        ({"kind": "task_attention", "count": 2, "plain": plain, "init": start}, task)
        for plain in (True, False)
        for start in ("normal", "uniform")
        for task in ("a", "pair")
    ),
    (SMALL_PAL, "a"),
    ({"kind": "lora", "rank": 2}, "a"),
    (BOTH, "a"),
]


def show(value: Any) -> str | None:
    return " ".join(str(v) for v in value.values()) if isinstance(value, dict) else None


def test_every_kind_has_a_reference() -> None:
    assert PLAIN.keys() == Conditioning.kinds().keys() == {options["kind"] for options, _ in CASES}


@pytest.mark.parametrize(("options", "task"), CASES, ids=show)
def test_outputs_and_gradients_agree_with_plain_loops(options: Options, task: str) -> None:
    encoder, conditioner = make(options)
    encoder, conditioner = encoder.double(), conditioner.double()
    parameters = [*encoder.parameters(), *conditioner.parameters()]
    want = run_plain(encoder, ROWS, PLAIN[options["kind"]](conditioner, task, options))
    states = encoder(pack(ROWS, task=task), conditioner)
    found = [states.row(i) for i in range(len(ROWS))]
    assert all((a - b).abs().max() <= 1e-6 for a, b in zip(found, want, strict=True))
    weights = [torch.randn_like(row) for row in want]
    gradients = [
        torch.autograd.grad(
            sum(((x * w).sum() for x, w in zip(rows, weights, strict=True)), torch.zeros(())),
            parameters,
            allow_unused=True,
            materialize_grads=True,
        )
        for rows in (found, want)
    ]
    assert all((a - b).abs().max() <= 1e-6 for a, b in zip(*gradients, strict=True))


@pytest.mark.parametrize(("options", "task"), CASES, ids=show)
def test_neighbours_and_their_order_change_nothing(options: Options, task: str) -> None:
    encoder, conditioner = make(options)
    with torch.no_grad():
        together = encoder(pack(ROWS, task=task), conditioner)
        for first, second in ((0, 1), (2, 3)):  # a siamese pair is two neighbours
            places = [second, first]
            apart = encoder(pack([ROWS[place] for place in places], task=task), conditioner)
            for i, place in enumerate(places):
                torch.testing.assert_close(apart.row(i), together.row(place), atol=1e-5, rtol=1e-5)


# Neutral starts.

NEUTRAL: list[Options] = [
    {"kind": "none"},
    {"kind": "combined", "methods": []},
    {"kind": "task_input"},
    {"kind": "task_qkv"},
    {"kind": "task_projected"},
    {"kind": "task_activated", "activation": "none", "init": "identity"},
    SMALL_PAL,
    {"kind": "lora"},
    {"kind": "task_attention", "count": 0},
    {"kind": "combined", "methods": ["task_input", "task_qkv", SMALL_PAL, "lora"]},
]


@pytest.mark.parametrize("options", NEUTRAL, ids=show)
def test_a_method_that_has_learned_nothing_is_bit_identical_to_none(options: Options) -> None:
    encoder, _ = make("none")
    batch = pack(ROWS, task="a")
    assert torch.equal(encoder(batch).tokens, encoder(batch, build(options)).tokens)


# Label attention (S1): one layer, whose queries, keys and labels are set by hand.


@dataclass
class Single:
    """A one-layer encoder with label attention on one batch."""

    encoder: Encoder
    conditioner: Any
    batch: Batch

    @property
    def layer(self) -> Any:
        return self.encoder.blocks[0].attention

    def keys(self) -> Tensor:
        return self._heads(self.layer.key)

    def own(self) -> Tensor:
        """The scores of each row's first token, (T, N)."""
        return (self._heads(self.layer.query)[self.batch.row_offsets][self.batch.row_of] * self.keys()).sum(-1) / 2.0

    def queries(self) -> Tensor:
        return self._heads(self.layer.query)

    def ask(self, *queries: Tensor) -> None:
        """Choose the labels of task a so that these are their queries, (N, D) each."""
        wanted = torch.stack([query.flatten() for query in queries]) - self.layer.query.bias
        self.conditioner.labels[task_key("a")].data = torch.linalg.solve(self.layer.query.weight, wanted.T).T

    def shown(self) -> FirstTokenAttention:
        with torch.no_grad():
            return self.encoder(self.batch, self.conditioner, attention=(0,)).attention[0]

    def _heads(self, linear: nn.Module) -> Tensor:
        with torch.no_grad():
            return self.layer.split_heads(linear(self.encoder.embeddings(self.batch)))


def single(rows: list[list[int]] | None = None) -> Single:
    encoder, conditioner = make("label_attention", replace(CONFIG, num_hidden_layers=1))
    return Single(encoder.double(), conditioner.double(), pack(rows or ROWS, task="a"))


def test_a_token_that_matches_a_label_better_gets_that_labels_score() -> None:
    one = single([[1, 2, 3, 4, 5]])
    nothing, match = torch.zeros(2, 4).double(), torch.zeros(2, 4).double()
    match[0] = one.keys()[3, 0] * 100.0
    one.ask(nothing, match, nothing)
    shown = one.shown()
    assert shown.winning_label is not None
    assert shown.winning_label[3, 0] == 1
    scores = one.own()
    for token in range(1, 5):
        for head in range(2):
            label = match[head] @ one.keys()[token, head] / 2.0
            scores[token, head] = max(scores[token, head], label, torch.zeros(()))
    assert torch.allclose(shown.weights, torch.softmax(scores, 0), atol=1e-12)


def test_pulled_by_names_the_label_whose_score_won() -> None:
    one = single()
    shown = one.shown()
    labels = one.layer.split_heads(one.layer.query(one.conditioner.labels[task_key("a")]))
    for token in range(len(one.batch.ids)):
        for head in range(2):
            scores = [float(one.own()[token, head]), *(labels[:, head] @ one.keys()[token, head] / 2.0).tolist()]
            winner = max(range(4), key=scores.__getitem__) - 1
            assert shown.winning_label[token, head] == (-1 if one.batch.positions[token] == 0 else winner)


def test_label_scores_have_the_scale_of_all_scores() -> None:
    one = single([[1, 2, 3, 4, 5, 6, 7, 8]])
    one.ask(*[one.queries()[0] * 0.75] * 3)  # below its own scores where those are positive; above them if not scaled
    own = one.own()[1:]
    assert (own > 0).any()
    assert torch.equal(one.shown().winning_label[1:] == -1, own > 0)


def test_the_query_bias_is_part_of_a_labels_query() -> None:
    one = single([[1, 2, 3, 4, 5, 6, 7, 8]])
    one.conditioner.labels[task_key("a")].data.zero_()
    bias = one.layer.split_heads(one.layer.query.bias)
    expected = (one.keys() * bias).sum(-1)[1:] / 2.0 > one.own()[1:]
    assert torch.equal(one.shown().winning_label[1:] >= 0, expected)
    assert not torch.equal(expected, one.own()[1:] < 0)  # what would be there without the bias


def test_the_first_tokens_score_for_itself_stays() -> None:
    one = single([[1, 2, 3]])
    one.ask(*[one.keys()[0] * 100.0] * 3)
    shown = one.shown()
    assert shown.winning_label is not None
    assert shown.winning_label[0].tolist() == [-1, -1]
    alone = replace(one, batch=pack([[1]], task="a"))
    bare = one.encoder(alone.batch).tokens
    assert torch.allclose(one.encoder(alone.batch, one.conditioner).tokens, bare, atol=1e-12)


def test_only_the_first_token_of_each_row_changes() -> None:
    one = single()
    plain, changed = one.encoder(one.batch).tokens, one.encoder(one.batch, one.conditioner).tokens
    moved = (plain != changed).any(1).nonzero().flatten().tolist()
    longer = [start for start, length in zip(one.batch.row_offsets, one.batch.lengths, strict=True) if length > 1]
    assert set(map(int, longer)) <= set(moved) <= set(one.batch.row_offsets.tolist())


def test_labels_that_match_nothing_leave_all_as_it_is() -> None:
    one = single()
    for head in range(2):  # every key has a 1 in the first place of each head
        one.layer.key.weight.data[head * 4] = 0.0
        one.layer.key.bias.data[head * 4] = 1.0
    away = torch.zeros(2, 4).double()
    away[:, 0] = -1e6
    one.ask(away, away, away)
    assert (one.shown().winning_label == -1).all()
    assert torch.allclose(one.encoder(one.batch, one.conditioner).tokens, one.encoder(one.batch).tokens, atol=1e-9)


def test_padding_that_is_excluded_after_the_maximum_gives_the_same() -> None:
    one = single()
    longest = max(map(len, ROWS))
    padded = pack([row + [0] * (longest - len(row)) for row in ROWS], task="a")
    dense = replace(one, batch=padded)
    labels = one.layer.split_heads(one.layer.query(one.conditioner.labels[task_key("a")]))
    by_label = torch.einsum("tnd,lnd->tnl", dense.keys(), labels).amax(-1) / 2.0
    scores = torch.where(padded.positions.unsqueeze(1) == 0, dense.own(), torch.maximum(dense.own(), by_label))
    weights = one.shown().weights
    for i, row in enumerate(ROWS):
        mine = scores[padded.row_of == i].clone()
        mine[len(row) :] = -torch.inf
        assert torch.allclose(torch.softmax(mine, 0)[: len(row)], weights[one.batch.row_of == i], atol=1e-12)


def test_tasks_without_labels_and_layers_not_chosen_are_untouched() -> None:
    encoder, conditioner = make({"kind": "label_attention", "layers": [1]})
    free, labelled = pack(ROWS, task="free"), pack(ROWS, task="a")
    assert torch.equal(encoder(free).tokens, encoder(free, conditioner).tokens)
    bare, changed = encoder(labelled, layers=(1, 2)), encoder(labelled, conditioner, layers=(1, 2))
    assert torch.equal(bare.layers[1], changed.layers[1])
    assert not torch.equal(bare.layers[2], changed.layers[2])
    assert conditioner.extra_loss("free", nn.Linear(8, 3)) is None


def test_each_task_keeps_its_own_labels() -> None:
    encoder, conditioner = make("label_attention")
    before = {task: encoder(pack(ROWS, task=task), conditioner).tokens for task in "ab"}
    assert not torch.equal(before["a"], before["b"])
    conditioner.labels[task_key("b")].data += 1.0
    after = {task: encoder(pack(ROWS, task=task), conditioner).tokens for task in "ab"}
    assert torch.equal(before["a"], after["a"])
    assert not torch.equal(before["b"], after["b"])


@pytest.mark.parametrize("options", [{}, {"label_loss": "mean"}, {"label_loss": "sum"}])
@pytest.mark.parametrize("weight", [0.0, 1.0, 3.0])
def test_the_label_loss_is_lambda_times_the_mean_or_sum_over_labels(weight: float, options: Options) -> None:
    torch.manual_seed(0)
    shape = replace(BLUEPRINT, labels={**BLUEPRINT.labels, "m": TARGETS["m"].labels})
    conditioner: Any = build({"kind": "label_attention", "weight": weight, **options}, shape)
    three, one = nn.Linear(8, 3), nn.Linear(8, 1)
    if weight == 0:
        assert conditioner.extra_loss("a", three) is None
        return
    softmax = sum(-torch.log_softmax(three(x), 0)[i] for i, x in enumerate(conditioner.labels[task_key("a")]))
    no, yes = one(conditioner.labels[task_key("b")])
    sigmoid = -torch.log(1 - torch.sigmoid(no)) - torch.log(torch.sigmoid(yes))
    each = sum(
        -torch.log(torch.sigmoid(y) if i == j else 1 - torch.sigmoid(y))
        for i, x in enumerate(conditioner.labels[task_key("m")])
        for j, y in enumerate(three(x))
    )
    for task, head, total in (("a", three, softmax), ("b", one, sigmoid), ("m", three, each / 3)):
        labels = 1 if options.get("label_loss") == "sum" else len(shape.labels[task])
        assert conditioner.extra_loss(task, head).item() == pytest.approx(weight * total.item() / labels, rel=1e-5)
    assert conditioner.extra_loss("pair", one) is None  # a siamese head reads features, not a state


# A network of all kinds of tasks.

TASKS: dict[str, Options] = {
    "urgency": {"kind": "classification"},
    "same": {"kind": "pair_classification", "encode": "siamese", "loss": "binary"},
    "alike": {"kind": "similarity"},
    "topics": {"kind": "classification", "multilabel": True},
}
GOLDS: dict[str, list[Any]] = {
    "urgency": ["low", "high_priority", "none"],
    "same": ["no", "yes"],
    "alike": [0.0, 5.0],
    "topics": [("x", "y"), ("y",)],
}
ONE, TWO = (
    ["the quick fox", "lazy dog over the dog", "fox", "brown"],
    ["dog", "the fox", "quick brown dog jumps", "over"],
)
LACKING: dict[str, Options] = {"combined": {"methods": ["label_attention", "task_qkv", "pal"]}}  # what has no default


def texts_of(task: str) -> list[tuple[str, ...]]:
    return list(zip(ONE, TWO, strict=True)) if task in ("same", "alike") else [(text,) for text in ONE]


def make_network(tokenizer: Tokenizer, conditioning: Options, family: str = "bert") -> Network:
    torch.manual_seed(0)
    indices = LAYOUTS[family]
    small = {**CONFIG.__dict__, "family": family, "vocab_size": tokenizer.size, "initializer_range": 0.3}
    kept = {name: getattr(indices.defaults, name) for name in ("type_vocab_size", "pad_token_id")}
    offset = indices.defaults.pad_token_id + 1 if indices.offset_by_padding else 0
    narrow = indices.defaults.embedding_size and 4
    encoder = Encoder(EncoderConfig(**{**small, **kept, "position_offset": offset, "embedding_size": narrow}))
    tasks = {name: parse(Task, options) for name, options in TASKS.items()}
    targets = {name: task.target().fit(GOLDS[name]) for name, task in tasks.items()}
    return Network(encoder, tokenizer, tasks, targets, parse(Conditioning, conditioning)).eval()


def examples_of(name: str) -> list[Example]:
    golds = GOLDS[name]
    return [Example(texts, golds[i % len(golds)], i + 1) for i, texts in enumerate(texts_of(name))]


def total_loss(network: Network) -> Tensor:
    """The losses of all tasks on a batch of each, the method's own included."""
    total = torch.zeros(())
    for name, loss in network.losses().items():
        rows = examples_of(name)
        tokenized = network.encode(name, rows)
        gold = torch.cat(network.targets[name].gold_tensors(rows, tokenized))
        batch = replace(network.collate(name, tokenized), gold=gold)
        total = total + loss(network(batch), batch)
        extra = network.extra_loss(name)
        total = total if extra is None else total + extra
    return total


def gradients_of(network: Network) -> dict[str, Tensor]:
    network.zero_grad()
    total_loss(network).backward()
    return {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}


def scores_of(network: Network) -> dict[str, Tensor]:
    return {name: score(network, {name: network.encode(name, examples_of(name))})[name].values for name in TASKS}


@pytest.fixture(params=sorted(Conditioning.kinds()))
def options(request: pytest.FixtureRequest) -> Options:
    return {"kind": request.param, **LACKING.get(request.param, {})}


@pytest.fixture
def network(options: Options, tiny_tokenizers: dict[str, Tokenizer]) -> Network:
    network = make_network(tiny_tokenizers["wordpiece"], options)
    stir(network.conditioner)
    return network


def test_a_spec_survives_toml(options: Options) -> None:
    spec = parse(Conditioning, options)
    assert parse(Conditioning, tomllib.loads(tomli_w.dumps(spec.to_dict()))) == spec


def test_every_parameter_learns_when_all_tasks_train(network: Network) -> None:
    found = gradients_of(network)
    for name, parameter in network.named_parameters():
        assert name in found, name
        unused = name.endswith("key.bias")  # moves all scores of a query alike, which softmax forgets
        assert unused or parameter.ndim == 0 or found[name].any(), name


def test_a_saved_network_comes_back_bit_identical(network: Network, tmp_path: Path) -> None:
    save_network(network, tmp_path)
    loaded = load_network(tmp_path)
    before, after = network.state_dict(), loaded.state_dict()
    assert loaded.conditioning == network.conditioning
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    found = scores_of(loaded)
    assert all((found[name] - scores).abs().max() <= 1e-6 for name, scores in scores_of(network).items())


def test_a_saved_network_predicts_bit_identically(network: Network, tmp_path: Path) -> None:
    before = scores_of(network)
    save_network(network, tmp_path)
    assert all(torch.equal(before[name], found) for name, found in scores_of(load_network(tmp_path)).items())


@pytest.mark.parametrize("family", LAYOUTS)
def test_every_encoder_family_takes_every_method(
    family: str, options: Options, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    network = make_network(tiny_tokenizers["wordpiece"], options, family)
    stir(network.conditioner)
    assert all(found.isfinite().all() for found in scores_of(network).values())
    assert all(gradient.isfinite().all() for gradient in gradients_of(network).values())


def test_dropout_follows_the_seed_and_recomputing_gives_the_same_gradients(network: Network) -> None:
    network.train()
    found = []
    for seed, recompute in ((1, False), (1, True), (2, False)):
        network.encoder.gradient_checkpointing = recompute
        torch.manual_seed(seed)
        found.append(gradients_of(network))
    plain, recomputed, other = found
    assert all(torch.allclose(plain[name], recomputed[name], atol=1e-5) for name in plain)
    assert any(not torch.allclose(plain[name], other[name], atol=1e-5) for name in plain)


def test_a_pass_serves_exactly_the_tasks_that_see_the_same_encoder(
    options: Options, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    network = make_network(tiny_tokenizers["wordpiece"], options)
    stir(network.conditioner)
    rows = [row.ids for one in network.encode("urgency", examples_of("urgency")) for row in one.rows]
    for one, two in (("urgency", "topics"), ("alike", "same")):
        conditioner = network.conditioner
        if conditioner.encoder_key(one) == conditioner.encoder_key(two):
            first, second = (network.encoder(pack(rows, task=task), conditioner).tokens for task in (one, two))
            assert torch.equal(first, second)
        else:
            first, second = (network.encoder(pack(rows, task=task), conditioner).tokens for task in (one, two))
            assert not torch.equal(first, second)
    same = {"none": True}.get(options["kind"], False)
    assert (network.conditioner.encoder_key("urgency") == network.conditioner.encoder_key("topics")) is same


def test_label_attention_shares_a_pass_among_tasks_without_labels() -> None:
    conditioner = build("label_attention", replace(BLUEPRINT, tasks=("a", "b", "free", "too")))
    assert conditioner.encoder_key("free") == conditioner.encoder_key("too")
    assert len({conditioner.encoder_key(task) for task in ("a", "b", "free")}) == 3


# Where label embeddings begin.


def start(tokenizer: Tokenizer, options: Options) -> Network:
    network = make_network(tokenizer, {"kind": "label_attention", **options})
    starts = InitialValues(network, {name: examples_of(name) for name in TASKS})
    network.conditioner.start(starts.words, starts.class_means)
    return network


def labels_of(network: Network, task: str) -> dict[str, Tensor]:
    names = network.targets[task].labels
    return dict(zip(names, network.conditioner.labels[task_key(task)], strict=True))


def test_random_labels_have_the_encoders_own_spread() -> None:
    torch.manual_seed(0)
    wide = replace(CONFIG, hidden_size=2000, initializer_range=0.3)
    conditioner: Any = build({"kind": "label_attention", "init": "random"}, replace(BLUEPRINT, config=wide))
    before = conditioner.labels[task_key("a")].clone()
    assert before.std().item() == pytest.approx(0.3, rel=0.05)
    conditioner.start(None, None)
    assert torch.equal(conditioner.labels[task_key("a")], before)


def test_labels_begin_as_the_words_of_their_names_or_keywords(tiny_tokenizers: dict[str, Tokenizer]) -> None:
    tokenizer = tiny_tokenizers["wordpiece"]
    network = start(tokenizer, {"keywords": {"urgency": {"low": "lazy dog"}}})

    def mean(text: str) -> Tensor:
        inner = tokenizer.encode([text], max_length=32)[0].ids[1:-1]  # without [CLS] and [SEP]
        table = network.encoder.embeddings
        return torch.stack([table.norm(table.words.weight[i]) for i in inner]).mean(0)

    found = labels_of(network, "urgency")
    assert torch.allclose(found["low"], mean("lazy dog"))
    assert torch.allclose(found["high_priority"], mean("high priority"))
    assert torch.allclose(labels_of(network, "same")["yes"], mean("yes"))


def test_labels_begin_as_the_mean_state_of_their_rows(tiny_tokenizers: dict[str, Tokenizer]) -> None:
    network = start(tiny_tokenizers["wordpiece"], {"init": "class_mean"})
    rows = [row.ids for one in network.encode("urgency", examples_of("urgency")) for row in one.rows]
    states = torch.stack([network.encoder(pack([row])).first()[0] for row in rows])
    found = labels_of(network, "urgency")
    assert torch.allclose(found["low"], (states[0] + states[3]) / 2, atol=1e-5)
    assert torch.allclose(found["high_priority"], states[1], atol=1e-5)
    topics = labels_of(network, "topics")  # a row with several labels counts for each
    assert torch.allclose(topics["x"], (states[0] + states[2]) / 2, atol=1e-5)
    assert torch.allclose(topics["y"], states.mean(0), atol=1e-5)


# Options.

WITH_LAYERS = [kind for kind, cls in Conditioning.kinds().items() if "layers" in cls.model_fields]
WITH_PARTS = [kind for kind, cls in Conditioning.kinds().items() if "parts" in cls.model_fields]


def shapes(conditioner: Conditioner) -> dict[str, tuple[int, ...]]:
    return {name: tuple(parameter.shape) for name, parameter in conditioner.named_parameters()}


@pytest.mark.parametrize("kind", WITH_LAYERS)
def test_only_the_chosen_layers_change(kind: str) -> None:
    encoder, conditioner = make({"kind": kind, "layers": [1, 1]})
    batch = pack(ROWS, task="a")
    bare, changed = (encoder(batch, chosen, layers=(1, 2)).layers for chosen in (None, conditioner))
    assert torch.equal(bare[1], changed[1])
    assert not torch.allclose(bare[2], changed[2])
    assert shapes(conditioner) == shapes(build({"kind": kind, "layers": [1]}))


@pytest.mark.parametrize("kind", WITH_LAYERS)
def test_layers_beyond_the_encoder_and_no_layers_are_refused(kind: str) -> None:
    with pytest.raises(ConfigError, match=r"conditioning.layers: \[2, 7\] .* from 0 to 1"):
        build({"kind": kind, "layers": [0, 2, 7]})
    for wrong in ([], [-1]):
        with pytest.raises(ConfigError, match="layers"):
            build({"kind": kind, "layers": wrong})


@pytest.mark.parametrize("part", ["q", "k", "v"])
@pytest.mark.parametrize("kind", WITH_PARTS)
def test_only_the_chosen_parts_change(kind: str, part: str) -> None:
    _, conditioner = make({"kind": kind, "parts": [part]})
    layer: Any = Encoder(CONFIG).blocks[0].attention
    batch = pack(ROWS, task="a")
    x, *qkv = torch.randn(4, len(batch.ids), 8)
    changed = conditioner.at_qkv(*qkv, x, layer, batch)
    assert [a is b for a, b in zip(qkv, changed, strict=True)] == [name != part for name in "qkv"]
    assert not torch.allclose(qkv["qkv".index(part)], changed["qkv".index(part)])


@pytest.mark.parametrize("kind", WITH_PARTS)
def test_a_part_twice_or_no_part_is_refused(kind: str) -> None:
    with pytest.raises(ConfigError, match="parts: each part can be there once; received q, q"):
        build({"kind": kind, "parts": ["q", "q"]})
    for wrong in ([], ["o"]):
        with pytest.raises(ConfigError, match="parts"):
            build({"kind": kind, "parts": wrong})


def test_softmax_forgets_a_vector_that_is_added_to_all_keys() -> None:
    encoder, conditioner = make({"kind": "task_qkv", "parts": ["k"]})
    batch = pack(ROWS, task="a")
    assert torch.allclose(encoder(batch, conditioner).tokens, encoder(batch).tokens, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ({"kind": "none"}, {"a": 0}),
        ({"kind": "label_attention"}, {"a": 3 * 8, "b": 2 * 8, "free": 0}),
        ({"kind": "task_input"}, {"a": 8, "free": 8}),
        ({"kind": "task_qkv"}, {"a": 2 * 3 * 8}),
        ({"kind": "task_qkv", "parts": ["v"], "layers": [0]}, {"a": 8}),
        ({"kind": "task_projected"}, {"a": 8 + 2 * 3 * 64}),
        ({"kind": "task_activated", "parts": ["q", "v"]}, {"a": 8 + 2 * 2 * 2 * 64}),
        ({"kind": "task_attention", "counts": {"a": 2, "b": 0}}, {"a": 2 * (3 * 72 + 16), "b": 0, "free": 3 * 72 + 16}),
        (SMALL_PAL, {"a": 2 * 8 * 4 + 2 * (4 * 12 + 12)}),
        ({"kind": "lora", "rank": 2}, {"a": 2 * 2 * 2 * 8 * 2}),
        (BOTH, {"a": 3 * 8 + 2 * 3 * 8, "free": 2 * 3 * 8}),
    ],
    ids=show,
)
def test_a_parameter_serves_the_task_under_whose_key_it_lies_or_all(options: Options, counts: dict[str, int]) -> None:
    conditioner = build(options)
    tasks = tasks_by_parameter(conditioner, ("a", "b", "free", "pair"))
    sizes = {name: parameter.numel() for name, parameter in conditioner.named_parameters()}
    assert {task: sum(size for name, size in sizes.items() if task in tasks[name]) for task in counts} == counts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "combined", "methods": ["task_qkv", "task_qkv"]}, "task_qkv is listed twice"),
        ({"kind": "combined", "methods": ["none", "lora"]}, "none and lora cannot be combined: leave none out"),
        ({"kind": "combined", "methods": ["task_activated", "label_attention"]}, "would be in different spaces"),
        ({"kind": "combined", "methods": ["lora", BOTH]}, "combined cannot be inside combined"),
        ({"kind": "pal", "width": 10, "heads": 4}, "width 10 cannot be divided among 4 heads"),
        ({"kind": "label_atention"}, "did you mean 'label_attention'"),
        ({"kind": "label_attention", "keywords": {"a": {"w": "x"}, "c": {"x": "y"}}}, "keywords: .* a.w, c.x"),
        ({"kind": "task_attention", "counts": {"c": 1}}, "counts: there is no task c; the tasks are: a, b, free, pair"),
    ],
    ids=show,
)
def test_what_cannot_be_is_refused_by_name(options: Options, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(options)


def test_two_methods_that_decide_what_the_first_token_gathers_are_refused_by_name() -> None:
    class Second(Conditioning):
        reads_first_token: ClassVar[bool] = True

        def build(self, shape: NetworkShape) -> Conditioner:
            return Conditioner()

        def to_dict(self) -> dict[str, Any]:
            return {"kind": "second"}

    combined, labels = (Conditioning.kinds()[kind] for kind in ("combined", "label_attention"))
    with pytest.raises(ValueError, match="label_attention and second both decide"):
        combined(methods=(labels(), Second()))


def test_the_extra_losses_and_additions_of_combined_methods_are_summed() -> None:
    encoder, conditioner = make({"kind": "combined", "methods": ["label_attention", SMALL_PAL]})
    labels, pal = conditioner.methods
    batch, head = pack(ROWS, task="a"), nn.Linear(8, 3)
    x = torch.randn(len(batch.ids), 8)
    assert torch.equal(conditioner.extra_loss("a", head), labels.extra_loss("a", head))
    assert torch.equal(conditioner.at_block(x, 0, batch), pal.at_block(x, 0, batch))
    assert F.mse_loss(encoder(batch, conditioner).tokens, encoder(batch).tokens) > 0
