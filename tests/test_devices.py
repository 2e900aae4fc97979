"""Half precision is tried in a child process before it is used, since on some processors it is fatal."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import weft
from conftest import RunWeft
from weft.model import devices
from weft.model.devices import half_precision_fault, slow_half_precision

CONFIG = """
encoder.from = "{encoder}"
training.precision = "{precision}"
tasks.t = {{kind = "classification", train = "rows.csv", dev = "rows.csv"}}
"""


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Each test tries anew, and leaves nothing of its tricks behind."""
    devices._trial.cache_clear()
    yield
    devices._trial.cache_clear()


@pytest.fixture
def config(tmp_path: Path, small_encoder: str) -> Path:
    (tmp_path / "rows.csv").write_text("text,label\n" + "the quick fox,a\na lazy dog,b\n" * 4)
    path = tmp_path / "run.toml"
    path.write_text(CONFIG.format(encoder=small_encoder, precision="bf16"))
    return path


def give(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(devices, "_TRIAL", program)


def test_a_child_that_is_killed_is_told_with_its_signal_and_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    fault = half_precision_fault()
    assert fault is not None
    assert "killed by SIGILL" in fault
    assert "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16" in fault
    assert 'training.precision = "fp32"' in fault


def test_a_child_that_fails_is_told_with_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "raise SystemExit(3)")
    assert "ended with exit code 3" in (half_precision_fault() or "")


def test_a_child_that_succeeds_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        asked.append(command)
        return SimpleNamespace(returncode=0, stdout="1.0\n")

    monkeypatch.setattr(subprocess, "run", run)
    assert half_precision_fault() is None
    assert slow_half_precision("bf16", "cpu") is None
    assert half_precision_fault() is None
    assert asked == [[sys.executable, "-c", devices._TRIAL]]


def test_the_trial_multiplies_in_half_precision_forward_and_backward() -> None:
    """The program itself ends well where the processor can: its own child says so, never this process."""
    told = "print(x.dtype, bool(x.grad.any()), 0.01 < best[1] / best[0] < 1000)"
    done = subprocess.run([sys.executable, "-c", f"{devices._TRIAL}\n{told}"], capture_output=True, text=True)
    assert done.returncode == -signal.SIGILL or done.stdout.split()[1:] == ["torch.bfloat16", "True", "True"]


@pytest.mark.parametrize("command", ["train", "check"])
def test_commands_end_with_one_message_and_start_nothing(
    monkeypatch: pytest.MonkeyPatch, run_weft: RunWeft, config: Path, command: str
) -> None:
    give(monkeypatch, "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    monkeypatch.chdir(config.parent)
    code, out, err = run_weft(command, config)
    said = " ".join((out + err).split())
    assert code == 1
    assert "training.precision" in said
    assert "killed by SIGILL" in said
    assert not (config.parent / "runs" / "run.running").exists()


def test_training_in_bf16_asks_first_and_other_precisions_never_do(
    monkeypatch: pytest.MonkeyPatch, config: Path, tmp_path: Path
) -> None:
    give(monkeypatch, "raise SystemExit(3)")
    with pytest.raises(weft.ConfigError, match=r"training\.precision: .*exit code 3"):
        weft.train(config, tmp_path / "out", device="cpu")
    assert not (tmp_path / "out.running").exists()
    for precision in ("fp32", "auto"):
        changes = [f"training.precision={precision}", "training.epochs=1", "training.baselines=false"]
        weft.train(config, tmp_path / precision, overrides=changes, device="cpu")


@pytest.mark.parametrize("wanted", ["tpu", "cuda:1", "CPU", ""])
def test_a_device_that_nobody_knows_is_refused_instead_of_another_taken(wanted: Any) -> None:
    with pytest.raises(weft.ConfigError, match="is not one of: auto, cpu, cuda"):
        devices.choose_device(wanted)


def test_slow_half_precision_is_told_with_what_it_costs_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, "print(3.14159)")
    told = "a product in bf16 takes 3.1 times as long as in fp32 on this processor"
    assert slow_half_precision("bf16", "cpu") == told
    assert slow_half_precision("fp32", "cpu") is None
    assert slow_half_precision("auto", "cpu") is None
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert slow_half_precision("bf16", "auto") is None


@pytest.mark.parametrize("program", ["print(1.4)", "print(9.0); raise SystemExit(3)"])
def test_half_precision_that_is_hardly_slower_or_does_not_work_at_all_is_not_called_slow(
    monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    give(monkeypatch, program)
    assert slow_half_precision("bf16", "cpu") is None


@pytest.mark.parametrize("command", ["train", "check", "compare"])
@pytest.mark.usefixtures("half_precision")
def test_commands_say_that_half_precision_is_slow_here_and_what_to_set(
    monkeypatch: pytest.MonkeyPatch, run_weft: RunWeft, config: Path, command: str
) -> None:
    devices._trial.cache_clear()
    give(monkeypatch, "print(3.0)")
    monkeypatch.chdir(config.parent)
    if command == "compare":
        text = config.read_text().replace("encoder.", "base.encoder.").replace("training.", "base.training.")
        lines = "base.training.epochs = 1\nvariants.a = {}\nvariants.b.training.epochs = 2\nseeds = 2\n"
        config.write_text(f"{lines}{text.replace('tasks.', 'base.tasks.')}")
    code, out, err = run_weft(command, config)
    said = " ".join((out + err).split())
    assert code == 0
    assert said.count("takes 3.0 times as long as in fp32 on this processor") == 1
    assert ("--set base.training.precision=fp32" if command == "compare" else '"fp32" is quicker here') in said
