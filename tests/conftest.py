"""Tiny tokenizers and encoders, the packaged real one, and the command run in this process."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest
import tokenizers
import torch
from hypothesis import settings

from weft.checkpoints.hf import write_encoder
from weft.cli import main as cli
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.metrics.bootstrap import intervals_of
from weft.metrics.workload import measure_workload
from weft.model.devices import half_precision_fault
from weft.model.embed import TextEncoder, load_encoder
from weft.tokenization.tokenizer import Tokenizer

WIDE = "500"  # columns, so that messages break nowhere, however long the paths in them
with pytest.MonkeyPatch.context() as _patch:
    _patch.setenv("COLUMNS", WIDE)
    importlib.import_module("weft.cli.screen")  # whose consoles look at it once
# The same examples everywhere, nothing written, and no clock; pytest --hypothesis-profile=explore looks for new ones.
settings.register_profile("weft", deadline=None, max_examples=50, derandomize=True, database=None)
settings.register_profile("explore", deadline=None, max_examples=300, database=None)
settings.load_profile("weft")
RESAMPLED = [cast(Any, one).__kwdefaults__ for one in (intervals_of, measure_workload)]
for _defaults in RESAMPLED:
    assert _defaults["rounds"] == 1000
    _defaults["rounds"] = 50  # in every run that a test starts; but see `_resamples`
if "OMP_NUM_THREADS" not in os.environ:
    torch.set_num_threads(1)  # for tensors this small, threads that wait for each other are slower than one

TraceFunction = Callable[[FrameType, str, object], object]
RunWeft = Callable[..., tuple[int, str, str]]
TINY = ("wordpiece", "bytes", "unigram")


def tiny_tokenizer(kind: str) -> Tokenizer:
    """One of the committed tokenizers, by its name in `TINY`; see vocabularies/make.py."""
    return Tokenizer(tokenizers.Tokenizer.from_file(str(Path(__file__).parent / "vocabularies" / f"{kind}.json")))


def lines_run(action: Callable[[], object]) -> int:
    """How many lines of Python an action runs through: its cost, and the same on every machine, however busy."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


@pytest.fixture(scope="session")
def tiny_tokenizers() -> dict[str, Tokenizer]:
    """One tokenizer of each kind, by `wordpiece`, `bytes` and `unigram`."""
    return {kind: tiny_tokenizer(kind) for kind in TINY}


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", WIDE)


@pytest.fixture(autouse=True)
def _resamples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests marked `resamples` are about intervals, so they get as many resamples as users do."""
    if "resamples" in request.keywords:
        for defaults in RESAMPLED:
            monkeypatch.setitem(defaults, "rounds", 1000)


@pytest.fixture
def run_weft(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> RunWeft:
    """Run `weft` with arguments in this process: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["weft", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return int(caught.value.code or 0), out, err

    return call


@pytest.fixture
def half_precision() -> None:
    """Skips where a product in bf16 would kill the process."""
    if fault := half_precision_fault():
        pytest.skip(fault)


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    """The folder of a random BERT of five layers that takes 24 tokens."""
    return make_tiny_folder(tmp_path)


def make_tiny_folder(place: Path) -> Path:
    """As the fixture, in a place of its own."""
    torch.manual_seed(0)
    tokenizer = tiny_tokenizer("wordpiece")
    config = EncoderConfig(
        vocab_size=tokenizer.size,
        hidden_size=16,
        num_hidden_layers=5,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=24,
        initializer_range=0.3,
    )
    folder = place / "tiny"
    write_encoder(Encoder(config), folder)
    tokenizer.save(folder)
    return folder


@pytest.fixture
def tiny(tiny_folder: Path) -> TextEncoder:
    """The encoder of `tiny_folder`."""
    return load_encoder(tiny_folder)


@pytest.fixture(scope="session")
def minilm() -> TextEncoder:
    """The packaged real encoder."""
    return load_encoder("minilm")


@pytest.fixture(scope="session")
def small_encoder(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> str:
    """The folder of a random BERT of two layers that takes 32 tokens, and learns in a second; for `encoder.from`."""
    torch.manual_seed(0)
    tokenizer = tiny_tokenizers["wordpiece"]
    config = EncoderConfig(
        vocab_size=tokenizer.size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=32,
        initializer_range=0.3,
    )
    folder = tmp_path_factory.mktemp("encoders") / "small"
    write_encoder(Encoder(config), folder)
    tokenizer.save(folder)
    return str(folder)
