"""From the config to the optimizer: rates, decay, layers and phases, parameter by parameter."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from recorder import Place, Recorder, make_place
from weft.tokenization.tokenizer import Tokenizer

FLAT = {"lr_scheduler_type": "constant", "warmup_ratio": 0.0}
EMBEDDINGS, LOWER, UPPER = (
    "encoder.embeddings.words.weight",
    "encoder.blocks.0.widen.weight",
    "encoder.blocks.1.widen.weight",
)
HEAD_A = "heads.<a>.1.weight"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path_factory.mktemp("rates"), tiny_tokenizers["wordpiece"], 0.0)


def test_every_parameter_has_the_rate_and_decay_that_the_config_gives_it(place: Place) -> None:
    settings = {
        "learning_rate": 1e-3,
        "head_learning_rate": 1e-2,
        "layer_decay": 0.5,
        "weight_decay": 0.2,
        "loss_weights": "uncertainty",
    }
    tasks = {"a": place.task("a", 4), "b": place.task("b", 4)}
    seen = place.learn(tasks, "all", training={**FLAT, **settings}, conditioning="label_attention")
    update = seen.updates[0]
    for name, rate in update.rates.items():
        below = 2 if "embeddings" in name else 1 if "blocks.0" in name else 0
        assert rate == pytest.approx(1e-3 * 0.5**below if name.startswith("encoder.") else 1e-2), name
        matrix = update.before[name].ndim == 2
        assert update.decays[name] == (0.2 if matrix else 0.0), name
    expected = {name for name, _ in seen.network.named_parameters()} | {"outside.0", "outside.1"}
    assert update.rates.keys() == expected
    assert update.rates["conditioner.labels.<a>"] == 1e-2
    assert seen.entries[0]["learning_rate"] == pytest.approx(2.5e-4)  # of the lowest part


def test_left_out_options_are_the_defaults(place: Place) -> None:
    document = {"learning_rate": None, "head_learning_rate": None, "batch_size": 4}
    seen = place.learn({"a": place.task("a", 8)}, "defaults", training={**document, "epochs": 5})
    assert len(seen.updates) == 10
    assert seen.course(UPPER)[:4] == pytest.approx([1e-4 / 2, 1e-4, 1e-4 * 8 / 9, 1e-4 * 7 / 9])  # a tenth is warm-up
    update = seen.updates[1]
    assert {rate for name, rate in update.rates.items() if name.startswith("encoder.")} == {1e-4}
    assert {rate for name, rate in update.rates.items() if not name.startswith("encoder.")} == {1e-3}
    assert set(update.decays.values()) == {0.01, 0.0}


def test_the_optimizer_is_adamw_with_its_usual_constants(place: Place) -> None:
    """Two updates, worked out by hand."""
    settings = {**FLAT, "learning_rate": 1e-2, "weight_decay": 0.3}
    seen = place.learn({"a": place.task("a", 4)}, "adamw", training=settings)
    first, second = seen.updates[:2]
    moments: dict[str, tuple[Tensor, Tensor]] = {
        name: (torch.zeros_like(value), torch.zeros_like(value)) for name, value in first.before.items()
    }
    for number, update in enumerate((first, second), 1):
        assert update.gradients.keys() == update.rates.keys()
        for name, gradient in update.gradients.items():
            mean, square = moments[name]
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            moments[name] = mean, square
            step = (mean / (1 - 0.9**number)) / ((square / (1 - 0.999**number)).sqrt() + 1e-8)
            kept = update.before[name] * (1 - 1e-2 * update.decays[name])
            torch.testing.assert_close(update.after[name], kept - 1e-2 * step, rtol=1e-4, atol=1e-5)
    assert all(torch.equal(second.before[name], value) for name, value in first.after.items())


RATES: list[Any] = [
    pytest.param({"head_learning_rate": 5e-3}, {}, (1e-3, 5e-3), id="the run's own for heads"),
    pytest.param({}, {"learning_rate": 2e-3}, (2e-3, 1e-3), id="the phase's for the encoder"),
    pytest.param({"head_learning_rate": 5e-3}, {"learning_rate": 2e-3}, (2e-3, 5e-3), id="heads as in the run"),
    pytest.param({}, {"head_learning_rate": 7e-3}, (1e-3, 7e-3), id="the phase's for heads"),
    pytest.param(
        {"head_learning_rate": 5e-3}, {"learning_rate": 2e-3, "head_learning_rate": 7e-3}, (2e-3, 7e-3), id="both"
    ),
]


@pytest.mark.parametrize(("training", "phase", "rates"), RATES)
def test_a_phase_has_its_own_rates_and_what_it_leaves_out_is_as_in_the_run(
    place: Place,
    training: dict[str, Any],
    phase: dict[str, Any],
    rates: tuple[float, float],
    request: pytest.FixtureRequest,
) -> None:
    output = request.node.callspec.id.replace(" ", "-").replace("'", "")
    plain = {"tasks": ["a"]}
    seen = place.learn({"a": place.task("a", 2)}, output, training={**FLAT, **training}, phases=[phase, plain])
    heads = training.get("head_learning_rate", 1e-3)
    assert [(update.rates[UPPER], update.rates[HEAD_A]) for update in seen.updates] == [rates, (1e-3, heads)]


@pytest.fixture(scope="module")
def phased(place: Place) -> Recorder:
    """Three phases of which each has settings of its own; the tasks have 4, 2 and 1 batches."""
    tasks = {"a": place.task("four", 8), "b": place.task("two", 4), "c": place.task("one", 2)}
    phases = [
        {"tasks": ["c", "b"], "train_layers": 0, "epochs": 2},
        {"tasks": ["b", "a"], "train_layers": 1, "sampling": "proportional"},
        {},
    ]
    phases[1] |= {"learning_rate": 2e-3, "head_learning_rate": 2e-3}
    settings = {"epochs": 1, "warmup_ratio": 0.0}
    until = {"kind": "round_robin", "until": "shortest"}
    return place.learn(tasks, "phased", phases=phases, training=settings, sampling=until)


def test_a_phase_has_its_own_tasks_in_its_own_order_its_epochs_and_its_sampler(phased: Recorder) -> None:
    from weft.sampling.proportional import Proportional

    middle = ["ba"[task] for task in Proportional().order([2, 4], 0, 1, 13)]
    assert phased.tasks == ["c", "b", "c", "b", *middle, "a", "b", "c"]
    assert phased.began == [(13, 0)]
    labels = [label for label, *_ in phased.steps]
    first = ["phase 1 epoch 1"] * 2 + ["phase 1 epoch 2"] * 2
    assert labels == [*first, *["phase 2 epoch 1"] * 6, *["phase 3 epoch 1"] * 3]
    entries = [(entry["phase"], entry["epoch"], entry["step"]) for entry in phased.entries]
    assert entries == [(0, 1, 2), (0, 2, 4), (1, 1, 10), (2, 1, 13)]
    assert [list(entry["losses"]) for entry in phased.entries] == [["c", "b"], ["c", "b"], ["b", "a"], ["a", "b", "c"]]
    assert all(entry["dev"].keys() == {"a", "b", "c"} for entry in phased.entries)


def test_a_phase_trains_its_own_layers_and_the_next_one_its_own_again(phased: Recorder) -> None:
    held = [
        {name.rpartition("blocks.")[2][0] for name in update.rates if "blocks." in name} for update in phased.updates
    ]
    assert held == [set()] * 4 + [{"1"}] * 6 + [{"0", "1"}] * 3
    assert [EMBEDDINGS in update.rates for update in phased.updates] == [False] * 10 + [True] * 3
    assert all(HEAD_A in update.rates for update in phased.updates)
    for update in phased.updates:  # what is frozen stays, bit by bit
        assert all(torch.equal(update.after[n], v) for n, v in update.before.items() if n not in update.rates)


def test_every_phase_has_its_own_schedule_and_a_fresh_optimizer(phased: Recorder) -> None:
    quarters = [1e-3, 7.5e-4, 5e-4, 2.5e-4]
    sixths = [2e-3 * left / 6 for left in (6, 5, 4, 3, 2, 1)]
    thirds = [1e-3, 2e-3 / 3, 1e-3 / 3]
    assert phased.course(HEAD_A) == pytest.approx([*quarters, *sixths, *thirds])
    fresh = [number for number, update in enumerate(phased.updates) if not update.learned_before]
    assert fresh == [0, 4, 10]
    assert phased.updates[4].before.keys() == phased.updates[3].after.keys()
    for before, after in ((3, 4), (9, 10)):  # a phase goes on from the weights of the one before
        assert all(
            torch.equal(phased.updates[after].before[name], value)
            for name, value in phased.updates[before].after.items()
        )


def test_a_phase_without_layers_takes_those_of_the_encoder(place: Place) -> None:
    phases = [{"train_layers": "all"}, {}]
    encoder = {"train_layers": 1}
    seen = place.learn({"a": place.task("a", 2)}, "layers", phases=phases, encoder=encoder)
    assert [EMBEDDINGS in update.rates for update in seen.updates] == [True, False]
    assert [LOWER in update.rates for update in seen.updates] == [True, False]
    assert [UPPER in update.rates for update in seen.updates] == [True, True]


def test_more_layers_than_there_are_leave_only_the_embeddings_out(place: Place) -> None:
    seen = place.learn({"a": place.task("a", 2)}, "many-layers", encoder={"train_layers": 9})
    assert LOWER in seen.updates[0].rates
    assert EMBEDDINGS not in seen.updates[0].rates
