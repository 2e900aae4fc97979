"""NaN and infinity: seen in the step they appear in, named with task and rows, never written down."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_post_hook

from recorder import TEXTS, Place, Recorder, make_place
from weft.errors import WeftError
from weft.model.network import Network
from weft.tensors import Batch, Scores
from weft.tokenization.tokenizer import Tokenizer
from weft.training.divergence import DivergedStepError

NUMBERS = [math.nan, math.inf, -math.inf]


@pytest.fixture
def place(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path, tiny_tokenizers["wordpiece"], 0.0)


@contextmanager
def weights_after(step: int, value: float) -> Iterator[None]:
    """In this step of the optimizer, counted from 1, one weight of every parameter becomes `value`."""
    done = 0

    def change(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        nonlocal done
        done += 1
        if done == step:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.detach().view(-1)[-1] = value

    hook = register_optimizer_step_post_hook(change)
    try:
        yield
    finally:
        hook.remove()


def assert_nothing_kept(place: Place, output: str) -> None:
    """Neither a model, nor the best weights, nor a state to go on from."""
    assert not (place.folder / output).exists()
    assert not list(place.folder.glob(f"{output}.running/best/**/*.safetensors"))
    assert not list(place.folder.glob(f"{output}.running/state*"))


@pytest.mark.parametrize("value", NUMBERS)
def test_weights_that_turn_in_the_last_step_of_an_epoch_are_seen_before_they_are_kept(
    place: Place, value: float
) -> None:
    """Three batches of two rows: the last step is the third."""
    with weights_after(3, value), pytest.raises(DivergedStepError) as caught:
        place.train({"a": place.task("a", 6)}, "last")
    assert caught.value.exit_code == 1
    assert caught.value.step == 3
    assert [task for task, _ in caught.value.batches] == ["a"]
    assert "'a'" in str(caught.value)
    assert f"a weight is {value}" in str(caught.value)
    assert_nothing_kept(place, "last")


def test_weights_that_turn_within_an_epoch_are_seen_in_that_step(place: Place) -> None:
    seen = Recorder()
    with weights_after(2, math.nan), pytest.raises(DivergedStepError) as caught:
        place.train({"a": place.task("a", 8)}, "within", callback=seen)
    assert caught.value.step == len(seen.updates) == 2


def test_the_rows_of_the_step_are_named_by_their_lines(place: Place) -> None:
    seen = Recorder()
    with weights_after(2, math.nan), pytest.raises(DivergedStepError) as caught:
        place.train({"a": place.task("a", 8), "b": place.task("b", 8)}, "lines", callback=seen)
    clean = Recorder()
    place.learn({"a": place.task("a", 8), "b": place.task("b", 8)}, "clean", callback=clean)
    ((task, lines),) = caught.value.batches
    assert task == clean.updates[1].tasks[0] == "b"
    (batch,) = clean.updates[1].batches
    sizes = [len(TEXTS[line % 8].split()) for line in lines]  # the task `b` begins with the second text
    assert batch.gold is not None
    assert batch.gold.tolist() == [(line - 1) % 2 for line in lines]
    assert [size > sizes[0] for size in sizes] == [length > int(batch.lengths[0]) for length in batch.lengths.tolist()]
    assert f"lines {', '.join(map(str, lines))}" in str(caught.value)


def test_every_batch_of_an_accumulated_step_is_named(place: Place) -> None:
    with weights_after(1, math.inf), pytest.raises(DivergedStepError) as caught:
        place.train(
            {"a": place.task("a", 4), "b": place.task("b", 4)}, "both", training={"gradient_accumulation_steps": 2}
        )
    assert [task for task, _ in caught.value.batches] == ["a", "b"]
    assert "'a'" in str(caught.value)
    assert "'b'" in str(caught.value)


@pytest.mark.parametrize("max_grad_norm", [0.0, 1.0])
def test_a_gradient_that_is_no_number_moves_no_weight(
    place: Place, max_grad_norm: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss is finite, but its slope is infinity times 0."""
    real = Network.forward
    poisoned = [False, False, True]

    def forward(network: Network, batches: Mapping[str, Batch], features: bool = False) -> dict[str, Scores]:
        found = {}
        for task, scores in real(network, batches, features).items():
            steep = (scores.values.sum() * 0).abs().sqrt() if poisoned and poisoned.pop(0) else torch.zeros(())
            found[task] = Scores(scores.values + steep, scores.sizes, scores.transitions)
        return found

    monkeypatch.setattr(Network, "forward", forward)
    seen = Recorder()
    with pytest.raises(DivergedStepError, match="gradient") as caught:
        place.train({"a": place.task("a", 6)}, "steep", callback=seen, training={"max_grad_norm": max_grad_norm})
    assert caught.value.step == 3
    assert len(seen.updates) == 2
    assert_nothing_kept(place, "steep")


@pytest.mark.parametrize("rate", [1e30, 1e38])
@pytest.mark.parametrize("rows", [2, 6])
def test_a_learning_rate_far_too_high_ends_the_run_with_a_message_and_no_model(
    place: Place, rate: float, rows: int
) -> None:
    settings = {"learning_rate": rate, "max_grad_norm": 0, "warmup_ratio": 0, "epochs": 2}
    with pytest.raises(WeftError, match="diverged") as caught:
        place.train({"a": place.task("a", rows)}, "high", training=settings)
    assert "learning_rate" in str(caught.value)
    assert_nothing_kept(place, "high")


def test_finite_weights_whose_scores_are_no_numbers_are_not_kept(place: Place) -> None:
    """Such scores have a largest one all the same, so every dev value is an ordinary number."""
    with weights_after(1, 1e36), pytest.raises(WeftError, match="'a'.*not finite"):
        place.train({"a": place.task("a", 2)}, "huge")
    assert_nothing_kept(place, "huge")


def test_a_loss_that_is_no_number_moves_no_weight(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Network.losses

    def losses(network: Network) -> dict[str, Callable[[Scores, Batch], Tensor]]:
        return {
            task: lambda scores, batch, own=own: own(scores, batch) * math.inf for task, own in real(network).items()
        }

    monkeypatch.setattr(Network, "losses", losses)
    seen = Recorder()
    with pytest.raises(DivergedStepError, match="loss of task 'a' is inf"):
        place.train({"a": place.task("a", 4)}, "loss", callback=seen)
    assert not seen.updates
    assert_nothing_kept(place, "loss")
