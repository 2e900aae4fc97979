"""The loop, update by update: the gradients that reach the optimizer are those that plain autograd gives."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from recorder import HEAD, TEXTS, Place, Recorder, Update, at_weights, gradients_of, make_place
from weft.encoder.block import Block
from weft.sampling.annealed import Annealed
from weft.sampling.proportional import Proportional
from weft.sampling.temperature import Temperature
from weft.tensors import Batch
from weft.tokenization.tokenizer import Tokenizer

Gradients = dict[str, Tensor]
PLAIN = {"lr_scheduler_type": "constant", "warmup_ratio": 0.0, "max_grad_norm": 0.0}
SHARED = {**HEAD, "share": "one"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    """Without dropout, so that every gradient can be computed a second time."""
    return make_place(tmp_path_factory.mktemp("exact"), tiny_tokenizers["wordpiece"], 0.0)


@pytest.fixture(scope="module")
def dropping(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    """With dropout."""
    return make_place(tmp_path_factory.mktemp("dropping"), tiny_tokenizers["wordpiece"], 0.3)


# What is expected, in plain steps


def loss_of(recorder: Recorder, update: Update, batch: Batch, lambda_: float = 0.0) -> tuple[Any, Tensor, Tensor]:
    """The network of that moment, a batch's own loss, and what label attention adds to it."""
    network = at_weights(recorder, update.before)
    loss = F.cross_entropy(network(batch).values, batch.gold)
    extra = torch.zeros(())
    if lambda_:
        (labels,) = (p for name, p in network.named_parameters() if name.endswith(f"labels.<{batch.task}>"))
        vectors = labels / labels.norm(dim=1, keepdim=True) * labels.shape[1] ** 0.5  # as what heads read otherwise
        scores = network.heads[network.head_of(batch.task)](vectors)
        each = [F.cross_entropy(scores[i : i + 1], torch.tensor([i])) for i in range(len(labels))]
        extra = lambda_ * torch.stack(each).mean()
    return network, loss, extra


def add(parts: list[Gradients]) -> Gradients:
    total: Gradients = {}
    for part in parts:
        for name, gradient in part.items():
            total[name] = total[name] + gradient if name in total else gradient
    return total


def clip(gradients: Gradients, longest: float) -> Gradients:
    length = torch.sqrt(sum((gradient.double() ** 2).sum() for gradient in gradients.values()))  # type: ignore[arg-type]
    factor = min(1.0, longest / (float(length) + 1e-6)) if longest else 1.0
    return {name: gradient * factor for name, gradient in gradients.items()}


def plain_gradients(
    recorder: Recorder, update: Update, weights: dict[str, float], lambda_: float = 0.0
) -> list[tuple[str, Gradients]]:
    """Of each batch of an update by itself, as its share of the mean."""
    found = []
    for batch in update.batches:
        network, loss, extra = loss_of(recorder, update, batch, lambda_)
        total = weights.get(batch.task, 1.0) * (loss + extra) / len(update.batches)
        own = gradients_of(network, total)
        found.append((batch.task, {name: one for name, one in own.items() if name in update.rates}))
    return found


def assert_close(found: Gradients, expected: Gradients) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-4, atol=1e-6, msg=lambda said, n=name: n + said)


# The gradient of an update

CASES: dict[str, tuple[dict[str, Any], list[list[str]]]] = {
    "one batch": ({}, [["a"], ["b"]] * 3),
    "clipped by the default": ({"training": {"max_grad_norm": 1.0}}, [["a"], ["b"]] * 3),
    "clipped to a hundredth": ({"training": {"max_grad_norm": 0.01}}, [["a"], ["b"]] * 3),
    "three batches": ({"training": {"gradient_accumulation_steps": 3}}, [["a", "b", "a"], ["b", "a", "b"]]),
    "four batches, then the two that are left": (
        {"training": {"gradient_accumulation_steps": 4}},
        [["a", "b", "a", "b"], ["a", "b"]],
    ),
    "weights and three batches": (
        {"a": {"weight": 3.0}, "b": {"weight": 0.25}, "training": {"gradient_accumulation_steps": 3}},
        [["a", "b", "a"], ["b", "a", "b"]],
    ),
    "the top layer": ({"encoder": {"train_layers": 1}}, [["a"], ["b"]] * 3),
    "nothing but heads": ({"encoder": {"train_layers": 0}}, [["a"], ["b"]] * 3),
    "one head for both": ({"a": {"head": SHARED}, "b": {"head": SHARED}}, [["a"], ["b"]] * 3),
    "checkpoints": ({"encoder": {"gradient_checkpointing": True}}, [["a"], ["b"]] * 3),
    "labels": ({"lambda": 0.5}, [["a"], ["b"]] * 3),
    "labels, weights and two batches": (
        {"lambda": 2.0, "a": {"weight": 3.0}, "training": {"gradient_accumulation_steps": 2}},
        [["a", "b"]] * 3,
    ),
    "the sum over labels": ({"lambda": 0.5, "label_loss": "sum"}, [["a"], ["b"]] * 3),
    "labels beside another method": ({"lambda": 0.5, "beside": "lora"}, [["a"], ["b"]] * 3),
    "labels and one head for both": (
        {"lambda": 0.5, "a": {"head": SHARED}, "b": {"head": SHARED}},
        [["a"], ["b"]] * 3,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_of_an_update_is_the_mean_over_its_batches_of_the_weighted_losses(place: Place, case: str) -> None:
    options, windows = CASES[case]
    sections = {"training": {**PLAIN, **options.get("training", {})}, "encoder": options.get("encoder", {})}
    lambda_ = options.get("lambda", 0.0)
    if lambda_:
        method = {"kind": "label_attention", "weight": lambda_}
        if "label_loss" in options:
            method["label_loss"], lambda_ = options["label_loss"], 2 * lambda_  # there are two labels
        methods = [method]
        sections["conditioning"] = [*methods, options["beside"]] if "beside" in options else methods[0]
    tasks = {name: place.task(name, 6, **options.get(name, {})) for name in "ab"}
    weights = {name: task.get("weight", 1.0) for name, task in tasks.items()}
    seen = place.learn(tasks, f"gradient {case}".replace(" ", "-"), **sections)
    assert [update.tasks for update in seen.updates] == windows
    longest = sections["training"]["max_grad_norm"]
    lengths = []
    for update in seen.updates:
        total = add([own for _, own in plain_gradients(seen, update, weights, lambda_)])
        assert_close(update.gradients, clip(total, longest))
        lengths.append(sum(float((one**2).sum()) for one in total.values()) ** 0.5)
    if longest:
        assert max(lengths) > longest  # or else nothing was shown
    assert all(all(update.modes) for update in seen.updates)


def test_the_loss_that_is_told_and_kept_is_the_tasks_own_without_weight_or_label_loss(place: Place) -> None:
    tasks = {name: place.task(name, 6, weight=3.0) for name in "ab"}
    conditioning = {"kind": "label_attention", "weight": 2.0}
    seen = place.train(
        tasks, "told", conditioning=conditioning, training={**PLAIN, "gradient_accumulation_steps": 2, "epochs": 2}
    )
    expected = [
        (batch.task, loss_of(seen, update, batch)[1].item()) for update in seen.updates for batch in update.batches
    ]
    assert [(task, loss) for _, task, loss, _ in seen.steps] == [(t, pytest.approx(v, rel=1e-5)) for t, v in expected]
    loss_history = place.report("told")["loss_history"]
    assert [step for step, _, _ in loss_history] == list(range(1, len(expected) + 1))
    assert [(task, loss) for _, task, loss in loss_history] == [(t, pytest.approx(v, abs=2e-5)) for t, v in expected]
    for number, entry in enumerate(seen.entries):
        for task in "ab":
            values = [loss for step, name, loss in loss_history[6 * number : 6 * number + 6] if name == task]
            assert len(values) == 3
            assert entry["losses"][task] == pytest.approx(sum(values) / 3)


def test_learned_weights_get_the_gradient_of_their_formula(place: Place) -> None:
    """weight * exp(-s) * loss + s / 2, for the tasks of an update only, each as its share."""
    tasks = {"a": place.task("a", 6, weight=3.0), "b": place.task("b", 6)}
    settings = {
        **PLAIN,
        "loss_weights": "uncertainty",
        "learning_rate": 0.1,
        "weight_decay": 0.5,
        "gradient_accumulation_steps": 1,
    }
    seen = place.learn(tasks, "uncertain", training=settings, encoder={"train_layers": 0})
    numbers = {"a": "outside.0", "b": "outside.1"}
    assert set(numbers.values()) <= seen.updates[0].rates.keys()
    for update in seen.updates:
        (batch,) = update.batches
        network, loss, _ = loss_of(seen, update, batch)
        s = update.before[numbers[batch.task]].clone().requires_grad_(True)
        total = tasks[batch.task].get("weight", 1.0) * torch.exp(-s) * loss + s / 2
        (expected,) = torch.autograd.grad(total, [s], retain_graph=True)
        own = {name: one for name, one in gradients_of(network, total).items() if name in update.rates}
        assert_close(update.gradients, {**own, numbers[batch.task]: expected})
        assert update.rates[numbers[batch.task]] == 0.1
        assert update.decays[numbers[batch.task]] == 0.0
    last = seen.updates[-1].after
    assert abs(float(last["outside.0"])) > 0.1
    expected_weights = {"a": 3 * float(torch.exp(-last["outside.0"])), "b": float(torch.exp(-last["outside.1"]))}
    assert seen.entries[-1]["weights"] == pytest.approx(expected_weights)


def test_fixed_weights_are_told_as_they_are_and_are_nothing_to_learn(place: Place) -> None:
    seen = place.learn({"a": place.task("a", 6, weight=3.0), "b": place.task("b", 6)}, "fixed")
    assert seen.entries[0]["weights"] == {"a": 3.0, "b": 1.0}
    assert not [name for name in seen.updates[0].rates if name.startswith("outside")]


# Conflicting gradients


def flat(gradients: Gradients, names: list[str]) -> Tensor:
    return torch.cat([gradients[name].flatten() for name in names])


def unflat(vector: Tensor, names: list[str], like: Gradients) -> Gradients:
    parts = vector.split([like[name].numel() for name in names])
    return {name: part.view_as(like[name]) for name, part in zip(names, parts, strict=True)}


def freed(own: Tensor, others: list[Tensor]) -> Tensor:
    """A gradient without what works against the others, met in this order."""
    for other in others:
        product_ = own @ other
        if product_ < 0:
            own = own - product_ / (other @ other) * other
    return own


def possible_sums(apart: dict[str, Tensor]) -> list[Tensor]:
    """What PCGrad may give, over the orders in which each gradient may meet the others."""
    found = []
    tasks = list(apart)
    for turned in product([False, True], repeat=len(tasks)):
        total = torch.zeros_like(apart[tasks[0]])
        for task, backward in zip(tasks, turned, strict=True):
            others = [apart[other] for other in tasks if other != task]
            total += freed(apart[task], others[::-1] if backward else others)
        found.append(total)
    return found


@pytest.mark.parametrize(
    ("tasks", "options", "windows"),
    [
        pytest.param("ab", {}, [["a", "b"]] * 2, id="two tasks"),
        pytest.param("abc", {}, [["a", "b", "c"]] * 2, id="three tasks"),
        pytest.param("ab", {"gradient_accumulation_steps": 4}, [["a", "b", "a", "b"]], id="two batches of each"),
        pytest.param(
            "ab", {"gradient_accumulation_steps": 3}, [["a", "b", "a"], ["b"]], id="one task alone at the end"
        ),
        pytest.param("ab", {"gradient_accumulation_steps": 2, "max_grad_norm": 0.05}, [["a", "b"]] * 2, id="clipped"),
        pytest.param("ab", {"weight": 3.0}, [["a", "b"]] * 2, id="weights"),
        pytest.param(
            "abc", {"phase": ["a", "c"], "batch_size": 2}, [["a", "c"]] * 6, id="a head that an absent task has"
        ),
    ],
)
def test_pcgrad_frees_the_shared_gradients_of_conflict_and_leaves_the_heads_alone(
    place: Place, tasks: str, options: dict[str, Any], windows: list[list[str]], request: pytest.FixtureRequest
) -> None:
    """Two tasks of opposite answers through one head, and for three tasks one with a head of its own."""
    settings = {**PLAIN, "conflict": "pcgrad", "batch_size": 6, **options}
    weight, phase = settings.pop("weight", 1.0), settings.pop("phase", None)
    heads = {"a": SHARED, "b": SHARED, "c": HEAD}
    given = {"a": "aaaaaab", "b": "bbbbbba", "c": "aab"}
    options = {"labels": ["a", "b"]}
    chosen = {name: place.task(f"pc{name}", 12, given[name], head=heads[name], **options) for name in tasks}
    chosen["a"]["weight"] = weight
    output = request.node.callspec.id.replace(" ", "-")
    seen = place.learn(chosen, output, training=settings, phases=[{"tasks": phase} if phase else {}])
    assert [update.tasks for update in seen.updates] == windows
    conflicts = 0
    for update in seen.updates:
        by_batch = plain_gradients(seen, update, {"a": weight})
        total = add([own for _, own in by_batch])
        by_task = {name: add([own for task, own in by_batch if task == name]) for name in dict.fromkeys(update.tasks)}
        shared = sorted(name for name in total if sum(name in own for own in by_task.values()) > 1)
        if shared:
            apart = {
                task: flat({n: own.get(n, torch.zeros_like(total[n])) for n in shared}, shared)
                for task, own in by_task.items()
            }
            conflicts += sum(bool(a @ b < 0) for a in apart.values() for b in apart.values())
            allowed = [
                clip({**total, **unflat(found, shared, total)}, settings["max_grad_norm"])
                for found in possible_sums(apart)
            ]
        else:
            allowed = [clip(total, settings["max_grad_norm"])]
        assert all(update.gradients.keys() == one.keys() for one in allowed)
        distances = [
            max(float((update.gradients[name] - one[name]).abs().max()) for name in one) for one in allowed
        ]  # of the orders, one must be it
        largest = max(float(one.abs().max()) for one in allowed[0].values())
        assert min(distances) <= 1e-4 * largest
    assert conflicts or phase  # two heads may happen to agree


def test_the_order_of_pcgrad_comes_from_the_seed_and_changes_from_update_to_update(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.training import phase

    states: list[Any] = []
    real = phase.project_conflicts

    def spy(gradients: Any, generator: random.Random) -> Tensor:
        states.append(generator.getstate())
        return real(gradients, generator)

    monkeypatch.setattr(phase, "project_conflicts", spy)
    tasks = {name: place.task(name, 6) for name in "ab"}
    for number, seed in enumerate((1, 1, 2)):
        place.learn(tasks, f"chance-{number}", seed=seed, training={"conflict": "pcgrad"})
    assert len(states) == 9
    assert states[:3] == states[3:6]
    assert len(set(states)) == 6


def test_without_pcgrad_conflicts_are_left_alone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.training import phase

    monkeypatch.setattr(phase, "project_conflicts", None)
    assert place.learn({name: place.task(name, 4) for name in "ab"}, "left-alone").updates


# Learning rates

COURSES: list[Any] = [
    pytest.param({}, [1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8], id="linear"),
    pytest.param({"gradient_accumulation_steps": 2}, [1, 3 / 4, 2 / 4, 1 / 4], id="accumulating"),
    pytest.param(
        {"gradient_accumulation_steps": 3}, [1, 3 / 4, 2 / 4, 1 / 4], id="an epoch ends with a smaller update"
    ),
    pytest.param({"warmup_ratio": 0.25}, [1 / 3, 2 / 3, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6], id="warm-up"),
    pytest.param(
        {"gradient_accumulation_steps": 3, "warmup_ratio": 0.5}, [1 / 3, 2 / 3, 1, 1 / 2], id="warm-up in updates"
    ),
    pytest.param(
        {"gradient_accumulation_steps": 2, "lr_scheduler_type": "cosine"},
        [1, 0.8535533906, 0.5, 0.1464466094],
        id="cosine",
    ),
    pytest.param(
        {"gradient_accumulation_steps": 2, "lr_scheduler_type": "constant", "warmup_ratio": 0.5},
        [1 / 3, 2 / 3, 1, 1],
        id="constant",
    ),
]


@pytest.mark.parametrize(("settings", "course"), COURSES)
def test_learning_rates_follow_the_schedule_over_all_updates(
    place: Place, settings: dict[str, Any], course: list[float], request: pytest.FixtureRequest
) -> None:
    """Four batches in each of two epochs."""
    training = {"epochs": 2, "warmup_ratio": 0.0, "head_learning_rate": 5e-3, **settings}
    seen = place.learn({"a": place.task("a")}, request.node.callspec.id.replace(" ", "-"), training=training)
    assert seen.course("encoder.blocks.0.widen.weight") == pytest.approx([1e-3 * part for part in course])
    assert seen.course("heads.<a>.1.weight") == pytest.approx([5e-3 * part for part in course])
    half = len(course) // 2
    told = [entry["learning_rate"] for entry in seen.entries]
    assert told == pytest.approx([1e-3 * course[half - 1], 1e-3 * course[-1]])


def test_with_pcgrad_an_update_has_a_batch_of_every_task_of_the_phase_and_the_schedule_knows(place: Place) -> None:
    tasks = {name: place.task(name, 4) for name in "abc"}
    settings = {"conflict": "pcgrad", "warmup_ratio": 0.0, "epochs": 2}
    seen = place.learn(tasks, "windows", training=settings, phases=[{}, {"tasks": ["c", "a"]}])
    assert [update.tasks for update in seen.updates] == [["a", "b", "c"]] * 4 + [["c", "a"]] * 4
    assert seen.course("heads.<a>.1.weight") == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4] * 2)


# Which task, which rows


@pytest.mark.parametrize(
    ("sampling", "sampler", "seed"),
    [
        pytest.param({"kind": "annealed", "strength": 1.0}, Annealed(strength=1.0), 3, id="annealed"),
        pytest.param("proportional", Proportional(), 3, id="proportional"),
        pytest.param("proportional", Proportional(), 4, id="another seed"),
        pytest.param({"kind": "temperature", "temperature": 5.0}, Temperature(temperature=5.0), 3, id="temperature"),
    ],
)
def test_the_sampler_is_told_the_batches_of_each_task_the_epoch_and_the_seed(
    place: Place, sampling: Any, sampler: Any, seed: int
) -> None:
    tasks = {"a": place.task("large", 12), "b": place.task("small", 4)}
    seen = place.learn(tasks, f"{sampler.kind}-{seed}", sampling=sampling, seed=seed, training={"epochs": 3})
    expected = [sampler.order([6, 2], epoch, 3, seed) for epoch in range(3)]
    assert seen.tasks == ["ab"[task] for order in expected for task in order]
    assert seen.began == [(24, 0)]
    counts = [Counter(order)[1] for order in expected]
    if sampler.kind == "annealed":
        assert counts == [2, 3, 4]


def rows_of(batch: Batch) -> list[tuple[tuple[int, ...], Any]]:
    """The tokens of each row of a batch, and its answer."""
    assert batch.gold is not None
    starts, lengths = batch.row_offsets.tolist(), batch.lengths.tolist()
    tokens = [tuple(batch.ids[s : s + n].tolist()) for s, n in zip(starts, lengths, strict=True)]
    return list(zip(tokens, batch.gold.tolist(), strict=True))


def orders(seen: Recorder, task: str, batches: int) -> list[list[Any]]:
    """The rows of a task, turn by turn."""
    own = [batch for update in seen.updates for batch in update.batches if batch.task == task]
    return [
        [row for batch in own[first : first + batches] for row in rows_of(batch)]
        for first in range(0, len(own), batches)
    ]


def test_every_turn_has_every_row_once_with_its_answer_in_an_order_of_its_own(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    """Ten rows have more than three million orders, so that no two are the same by chance."""
    tasks = {name: place.task("ten", 10) for name in "ab"}
    apart = {"training": {"epochs": 2}, "conditioning": "task_input"}
    runs = [place.learn(tasks, f"rows-{n}", seed=seed, **apart) for n, seed in enumerate((5, 5, 6))]
    ids = [tuple(one.ids) for one in tiny_tokenizers["wordpiece"].encode(TEXTS[:10], max_length=24)]
    expected = sorted((tokens, i % 2) for i, tokens in enumerate(ids))
    found = [[orders(seen, task, 5) for task in "ab"] for seen in runs]
    assert all(sorted(turn) == expected for run in found for task in run for turn in task)
    assert found[0] == found[1]
    distinct = {tuple(turn) for run in (found[0], found[2]) for task in run for turn in task}
    assert len(distinct) == 8  # two seeds, two tasks, two turns


def test_a_task_that_is_used_up_starts_over_and_one_that_is_not_goes_on_in_the_next_epoch(place: Place) -> None:
    tasks = {"a": place.task("more", 12), "b": place.task("less", 4)}
    longest = place.learn(tasks, "longest", training={"epochs": 1})
    assert all(len(set(turn)) == 4 for turn in orders(longest, "b", 2))
    assert len(orders(longest, "b", 2)) == 3
    until = {"kind": "round_robin", "until": "shortest"}
    shortest = place.learn(tasks, "shortest", sampling=until, training={"epochs": 3})
    (turn,) = orders(shortest, "a", 6)
    assert len(set(turn)) == 12


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        pytest.param({"batch_size": 5}, [5, 3], id="rows"),
        pytest.param({"batch_size": None, "batch_tokens": 13}, [3, 3, 2], id="tokens"),
        pytest.param({"batch_size": 2, "batch_tokens": 13}, [2, 2, 2, 2], id="rows and tokens"),
        pytest.param({"batch_size": None}, [8], id="neither"),
    ],
)
def test_batches_hold_as_many_rows_and_tokens_as_the_config_says(
    place: Place, settings: dict[str, Any], sizes: list[int], request: pytest.FixtureRequest
) -> None:
    """Eight rows of four tokens each."""
    words = ["the", "fox", "dog", "over", "lazy", "quick", "brown", "jumps"]
    file = place.rows("short.jsonl", [(f"the {word}", "ab"[i % 2]) for i, word in enumerate(words)])
    task = {"kind": "classification", "train": file, "dev": file, "head": HEAD}
    seen = place.learn({"a": task}, request.node.callspec.id.replace(" ", "-"), training=settings)
    assert [batch.rows for update in seen.updates for batch in update.batches] == sizes
    assert [rows for *_, rows in seen.steps] == sizes


def test_an_epoch_has_as_many_batches_as_the_first_turn_wherever_the_rows_stand(place: Place) -> None:
    """By tokens, turns differ in their batches; what the watcher was told at the beginning stays true."""
    settings = {"batch_size": None, "batch_tokens": 14}
    seen = place.learn({"a": place.task("twelve", 12)}, "turns", training=settings, phases=[{}] * 6)
    first = seen.entries[0]["step"]
    assert [entry["step"] for entry in seen.entries] == [first * phase for phase in range(1, 7)]
    assert seen.began == [(first * 6, 0)]


@pytest.mark.parametrize("seed", range(2))
def test_by_length_rows_of_one_length_share_a_batch(place: Place, seed: int) -> None:
    words = ["the", "fox", "dog", "over", "lazy", "quick", "brown", "jumps"]
    rows = [(word if i % 2 else f"{word} over the lazy dog", "ab"[i // 2 % 2]) for i, word in enumerate(words)]
    file = place.rows("lengths.jsonl", rows)
    task = {"kind": "classification", "train": file, "dev": file, "head": HEAD}
    settings = {"group_by_length": True, "batch_size": 4}
    seen = place.learn({"a": task}, f"by-length-{seed}", seed=seed, training=settings)
    lengths = sorted(batch.lengths.tolist() for update in seen.updates for batch in update.batches)
    assert lengths == [[3] * 4, [7] * 4]


# Training mode, agreement


def test_dropout_is_on_in_every_batch_of_every_epoch_and_off_where_gradients_are_compared(dropping: Place) -> None:
    tasks = {name: dropping.task(name, 6) for name in "ab"}
    seen = dropping.learn(tasks, "modes", training={"epochs": 2})
    assert [mode for update in seen.updates for mode in update.modes] == [True] * 12
    compared = [("a", 2, False)] * 3 + [("b", 2, False)] * 3
    assert [(batch.task, batch.rows, mode) for batch, mode in seen.others] == compared * 2


def compared_gradients(
    seen: Recorder, update: Update, batches: list[tuple[Batch, bool]], prefix: str
) -> dict[str, Tensor]:
    """Each task's gradient of the mean loss over all of its rows, after an update."""
    network = at_weights(seen, update.after)
    found: dict[str, Tensor] = {}
    for batch, _ in batches:
        own = gradients_of(network, F.cross_entropy(network(batch).values, batch.gold, reduction="sum"))
        gradient = flat(own, sorted(name for name in own if name.startswith(prefix)))
        found[batch.task] = found[batch.task] + gradient if batch.task in found else gradient
    return found


def test_agreement_is_the_cosine_of_the_tasks_gradients_on_the_encoder_without_dropout_and_leaves_none_behind(
    dropping: Place,
) -> None:
    names = ["a", "b", "c"]
    tasks = {name: dropping.task(name, 6, labels) for name, labels in zip(names, ("ab", "ba", "aab"), strict=True)}
    seen = dropping.learn(tasks, "agreement", training={"learning_rate": 1e-2, "epochs": 2})
    for entry, update, first in zip(seen.entries, (seen.updates[8], seen.updates[17]), (0, 9), strict=True):
        found = compared_gradients(seen, update, seen.others[first : first + 9], "encoder.")
        expected = {
            f"{a}~{b}": float(F.cosine_similarity(found[a], found[b], dim=0))
            for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
        }
        assert entry["agreement"] == pytest.approx(expected, abs=1e-4)
    assert seen.left_gradients == [0, 0]


def test_agreement_looks_at_the_first_rows_of_the_file_and_at_the_tasks_of_the_phase_only(
    place: Place, tiny_tokenizers: dict[str, Tokenizer]
) -> None:
    words = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog"]
    texts = [f"{a} {b}" for a in words for b in words] + ["naïve café", "don't 1234", "café"]
    file = place.rows("many.jsonl", [(text, "ab"[i % 2]) for i, text in enumerate(texts)])
    many = {"kind": "classification", "train": file, "dev": "few.jsonl", "head": HEAD}
    tasks = {"many": many, "few": place.task("few", 4), "absent": place.task("absent", 4)}
    phases = [{"tasks": ["few", "many"]}, {"tasks": ["few"]}, {"tasks": ["few", "many"], "train_layers": 0}]
    seen = place.learn(tasks, "first-rows", phases=phases, training={"batch_size": 32})
    assert [list(entry["agreement"]) for entry in seen.entries] == [["few~many"], [], []]
    few, *most = [batch for batch, _ in seen.others]
    assert (few.task, [batch.task for batch in most]) == ("few", ["many", "many"])
    ids = [tuple(one.ids) for one in tiny_tokenizers["wordpiece"].encode(texts[:64], max_length=24)]
    assert [tokens for batch in most for tokens, _ in rows_of(batch)] == ids
    assert len(rows_of(few)) == 4


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ({"batch_size": 4}, [4, 2]),
        ({"batch_size": 32}, [6]),
        ({"batch_size": None, "batch_tokens": 12}, [2, 2, 2]),
    ],
)
def test_agreement_is_of_the_mean_over_all_rows_in_batches_as_large_as_the_config_allows(
    place: Place, settings: dict[str, Any], sizes: list[int]
) -> None:
    tasks = {name: place.task(name, 6, labels) for name, labels in (("a", "ab"), ("b", "aab"))}
    seen = place.learn(tasks, f"batches-{len(sizes)}", training=settings)
    for task in "ab":
        assert [batch.rows for batch, _ in seen.others if batch.task == task] == sizes
    found = compared_gradients(seen, seen.updates[-1], seen.others, "encoder.")
    expected = float(F.cosine_similarity(found["a"], found["b"], dim=0))
    assert seen.entries[0]["agreement"] == {"a~b": pytest.approx(expected, abs=1e-4)}


def test_gradients_are_compared_unless_the_config_says_otherwise(place: Place) -> None:
    tasks = {name: place.task(name, 6) for name in "ab"}
    seen = place.learn(tasks, "not-compared", training={"gradient_agreement": False})
    assert seen.others == []
    assert [entry["agreement"] for entry in seen.entries] == [{}]


def test_comparing_gradients_changes_nothing_of_what_is_learned_from(place: Place) -> None:
    tasks = {name: place.task(name, 10) for name in "ab"}
    compared, not_compared = (
        place.learn(tasks, f"compared-{asked}", training={"epochs": 2, "gradient_agreement": asked})
        for asked in (True, False)
    )
    for task in tasks:
        assert orders(compared, task, 5) == orders(not_compared, task, 5)


def test_gradients_are_compared_when_the_state_is_safe_and_a_run_that_dies_then_loses_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        pass

    def die(*_: Any) -> None:
        assert (place.folder / "dying.running" / "state.json").exists()
        raise Died

    tasks = {name: place.task(name, 4) for name in "ab"}
    through = place.learn(tasks, "living", training={"epochs": 2})
    first = Recorder()
    with monkeypatch.context() as patch:
        patch.setattr("weft.training.loop.compare_gradients", die)
        with pytest.raises(Died):
            place.train(tasks, "dying", callback=first, training={"epochs": 2})
    assert first.entries == []
    second = place.learn(tasks, "dying", training={"epochs": 2}, resume=True)
    assert second.began == [(8, 4)]
    assert second.entries == through.entries
    lines = (place.folder / "dying.running" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == through.entries


def test_agreement_is_over_the_layers_that_learn(dropping: Place) -> None:
    tasks = {"a": dropping.task("a", 6), "b": dropping.task("b", 6, "aab")}
    seen = dropping.learn(tasks, "top-agreement", encoder={"train_layers": 1})
    found = compared_gradients(seen, seen.updates[-1], seen.others, "encoder.blocks.1.")
    expected = float(F.cosine_similarity(found["a"], found["b"], dim=0))
    assert seen.entries[0]["agreement"] == {"a~b": pytest.approx(expected, abs=1e-4)}


@pytest.mark.parametrize(("asked", "times"), [(True, 2), (False, 1)])
def test_gradient_checkpointing_recomputes_each_block_in_the_backward_pass(
    place: Place, monkeypatch: pytest.MonkeyPatch, asked: bool, times: int
) -> None:
    calls: list[int] = []
    real: Callable[..., Any] = Block.forward

    def forward(block: Block, *arguments: Any, **options: Any) -> Any:
        if torch.is_grad_enabled():
            calls.append(1)
        return real(block, *arguments, **options)

    monkeypatch.setattr(Block, "forward", forward)
    encoder = {"gradient_checkpointing": asked}
    seen = place.learn({"a": place.task("a", 6)}, f"checkpointed-{asked}", encoder=encoder)
    assert len(calls) == times * 2 * len(seen.updates)


def test_padding_saved_is_against_rows_as_long_as_the_longest_of_their_batch(place: Place) -> None:
    file = place.folder / "pairs.jsonl"
    pairs = list(zip(TEXTS[:6], TEXTS[6:], strict=True))
    lines = [{"sentence1": a, "sentence2": b, "label": "ab"[i % 2]} for i, (a, b) in enumerate(pairs)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    both = {"kind": "pair_classification", "encode": "siamese", "train": file.name, "dev": file.name}
    tasks = {"one": place.task("one", 12), "two": both}
    seen = place.train(tasks, "padding", training={"batch_size": 4, "epochs": 2})
    batches = [batch for update in seen.updates for batch in update.batches]
    tokens = sum(int(batch.lengths.sum()) for batch in batches)
    padded = sum(len(batch.lengths) * int(batch.lengths.max()) for batch in batches)
    report = place.report("padding")
    assert report["tokens"] == tokens
    assert report["padding_saved"] == pytest.approx(1 - tokens / padded)
    assert 0 < report["padding_saved"] < 1
    # Each of 6 steps: "one" has batches of 4 rows, "two" one of 4 and one of 2 pairs in turn.
    assert [rows for *_, rows in seen.steps] == [4, 4, 4, 2, 4, 4, 4, 2, 4, 4, 4, 2]
    assert report["row_passes"] == sum(rows for *_, rows in seen.steps) == 42
    assert report["rows"] == 12 + 6
