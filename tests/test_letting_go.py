"""What a process that trains or predicts again and again still holds afterwards: nothing.

The garbage collector is off here. Objects that refer to each other wait for it, and it seldom looks at old ones, while
a network that waits is a hundred megabytes that it does not see.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import weft
from shared_runs import CONFIGS, FOX, LONG, WORDS, Run, make_files, runner
from weft.model.network import Network
from weft.tokenization.tokenizer import Tokenizer

SEVERAL = {"fox": FOX, "long": LONG}
RUNS: dict[str, dict[str, Any]] = {
    **CONFIGS,
    "gradients compared": {"tasks": SEVERAL, "training": {"gradient_agreement": True}},
    "conflicts projected": {
        "tasks": SEVERAL,
        "training": {"gradient_accumulation_steps": 2, "conflict": "pcgrad", "loss_weights": "uncertainty"},
    },
    "lora": {"tasks": {"fox": FOX}, "conditioning": {"kind": "lora"}},
    "frozen": {"tasks": {"fox": FOX}, "encoder": {"train_layers": 0}},
}


@pytest.fixture
def run(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer], small_encoder: str) -> Run:
    """Trains a config on small files and drops the model."""
    return runner(make_files(tmp_path, tiny_tokenizers["wordpiece"]), small_encoder)


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Network]]:
    """Every network that is built from now on, as long as something else holds it."""
    built: list[weakref.ref[Network]] = []
    build = Network.__init__

    def watched(self: Network, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        built.append(weakref.ref(self))

    monkeypatch.setattr(Network, "__init__", watched)
    return built


@pytest.fixture(scope="module")
def _imported(
    tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer], small_encoder: str
) -> None:
    """What libraries import in the first run of a process, some of which keep the frames that they were imported in."""
    runner(make_files(tmp_path_factory.mktemp("first"), tiny_tokenizers["wordpiece"]), small_encoder)(
        RUNS["gradients compared"]
    )


@pytest.fixture(autouse=True)
def _uncollected(_imported: None) -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def count_tensors() -> int:
    return sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects())


@pytest.mark.parametrize("resumable", [True, False])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_leaves_no_network_and_no_tensor(
    run: Run, networks: list[weakref.ref[Network]], name: str, resumable: bool
) -> None:
    before = count_tensors()
    run(RUNS[name], resumable=resumable)
    assert networks
    assert [network for network in networks if network() is not None] == []
    assert count_tensors() == before


def test_a_model_that_is_dropped_takes_its_network_along(run: Run, networks: list[weakref.ref[Network]]) -> None:
    folder = run(CONFIGS["few labels"])
    before = count_tensors()
    for number in range(3):
        model = weft.load(folder)
        model.predict([" ".join(WORDS[: number + 1])])
        del model
        assert count_tensors() == before
    assert all(network() is None for network in networks)


def test_a_model_that_answers_again_and_again_holds_no_more_than_before(run: Run) -> None:
    model = weft.load(run(CONFIGS["two tasks on one file"]))
    held = []
    for turn in range(6):
        model.predict([" ".join(WORDS[: 1 + (turn * length) % 12]) for length in range(40)])
        gc.collect()
        held.append((count_tensors(), len(gc.get_objects())))
    tensors, objects = map(list, zip(*held[2:], strict=True))  # after what is learned once
    assert max(tensors) == tensors[0]
    # What is kept of a call is kept of every call; the process around the test may take up an object once.
    assert min(after - before for before, after in pairwise(objects)) <= 0
