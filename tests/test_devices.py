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
from weft.model.devices import half_precision_fault

CONFIG = """
encoder.from = "{encoder}"
training.precision = "{precision}"
tasks.t = {{kind = "classification", train = "rows.csv", dev = "rows.csv"}}
"""


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Each test tries anew, and leaves nothing of its tricks behind."""
    half_precision_fault.cache_clear()
    yield
    half_precision_fault.cache_clear()


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
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    assert half_precision_fault() is None
    assert half_precision_fault() is None
    assert asked == [[sys.executable, "-c", devices._TRIAL]]


def test_the_trial_multiplies_in_half_precision_forward_and_backward() -> None:
    """The program itself ends well where the processor can: its own child says so, never this process."""
    told = "print(x.dtype, bool(x.grad.any()))"
    done = subprocess.run([sys.executable, "-c", f"{devices._TRIAL}\n{told}"], capture_output=True, text=True)
    assert done.returncode == -signal.SIGILL or done.stdout.split() == ["torch.bfloat16", "True"]


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
