"""The folder of a run: who may use it, what is asked for again, and what is said when a run goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft
from conftest import RunWeft
from recorder import Place, Recorder, interrupt_after, make_place
from weft.config.document import parse_experiment
from weft.errors import ConfigError
from weft.tokenization.tokenizer import Tokenizer
from weft.training.folder import RunFolder, Started, differences, resume_command
from weft.training.interrupt import Interrupted, Interruption
from weft.training.lock import locked
from weft.training.progress import Callback

HOLD = "import sys, pathlib; from weft.training.lock import locked\nwith locked(pathlib.Path(sys.argv[1]), 'busy'):"


@pytest.fixture
def place(tmp_path: Path, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    return make_place(tmp_path, tiny_tokenizers["wordpiece"], 0.0)


@pytest.fixture
def config(place: Place) -> Path:
    """A file with one task of four batches."""
    import tomli_w

    path = place.folder / "config [draft].toml"
    path.write_text(tomli_w.dumps(place.document({"a": place.task("a", 8)}, {})), encoding="utf-8")
    return path


def hold(path: Path, then: str) -> subprocess.Popen[str]:
    """Another process that holds the lock and has said so."""
    code = f"{HOLD}\n    print('held', flush=True)\n    {then}"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


# One process at a time


def test_a_second_process_is_refused_and_the_lock_of_a_killed_one_is_free(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "x.lock"
    with hold(path, "import time; time.sleep(600)") as process:
        with pytest.raises(ConfigError, match=rf"another process \({process.pid}\) is busy"), locked(path, "busy"):
            pass
        process.kill()
    assert path.exists()
    with locked(path, "busy"), pytest.raises(ConfigError, match="is busy"), locked(path, "busy"):
        pass
    assert not path.exists()


def test_a_lock_is_free_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with pytest.raises(ZeroDivisionError), locked(path, "busy"):
        raise ZeroDivisionError
    with locked(path, "busy"):
        assert path.exists()


def test_a_lock_whose_file_is_removed_and_made_anew_in_between_is_not_taken_for_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.training import lock

    path, real, opened = tmp_path / "x.lock", lock._lock, []

    def late(handle: int) -> None:
        if not opened:  # the one before has just given it back and removed the file
            path.unlink()
        opened.append(handle)
        real(handle)

    monkeypatch.setattr(lock, "_lock", late)
    with locked(path, "busy"):
        assert len(opened) == 2
        with pytest.raises(ConfigError, match="busy"), locked(path, "busy"):
            pass


def test_two_runs_into_one_folder_the_second_is_refused_and_the_first_ends_well(place: Place) -> None:
    tasks = {"a": place.task("a", 4)}
    refused: list[str] = []

    def at_step(done: int) -> None:
        for resume in (False, True):
            with pytest.raises(ConfigError, match="is training into .*one; wait for it") as caught:
                weft.train(place.document(tasks, {}), place.folder / "one", data=place.folder, resume=resume)
            refused.append(str(caught.value))

    place.train(tasks, "one", callback=Recorder(at_step))
    assert len(refused) == 4
    assert not list(place.folder.glob("one.running*"))


# Starting again


@pytest.mark.parametrize(
    "left", [(), ("weft.toml",), ("weft.toml", "started.json", ".started.json.k2.json", "cache/x")]
)
def test_a_run_that_was_killed_before_its_first_state_can_be_started_again(place: Place, left: tuple[str, ...]) -> None:
    folder = place.folder / "killed.running"
    folder.mkdir()
    for name in left:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}", encoding="utf-8")
    place.train({"a": place.task("a", 4)}, "killed")
    assert (place.folder / "killed" / "model.safetensors").exists()


@pytest.mark.parametrize("name", ["state.json", "thesis.docx"])
def test_a_folder_with_a_state_or_with_anything_else_is_never_touched(place: Place, name: str) -> None:
    kept = place.folder / "kept.running" / name
    kept.parent.mkdir()
    kept.write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigError, match="holds an unfinished run"):
        place.train({"a": place.task("a", 4)}, "kept")
    assert kept.read_text(encoding="utf-8") == "mine"


# Going on


def test_going_on_needs_neither_the_changes_nor_the_seed_nor_the_data_folder_again(place: Place, config: Path) -> None:
    elsewhere = config.rename(place.folder.parent / f"{place.folder.name}.toml")
    started: dict[str, Any] = {"overrides": ["training.epochs=2", "training.batch_size=4"], "seed": 5}
    through, output = place.folder / "through", place.folder / "broken"
    weft.train(elsewhere, through, data=place.folder, callback=Callback(), device="cpu", **started)
    stop, seen = Recorder(interrupt_after(3)), Recorder()
    with stop.recording(), pytest.raises(Interrupted):
        weft.train(elsewhere, output, data=place.folder, callback=stop, device="cpu", **started)
    with seen.recording():
        weft.train(elsewhere, output, callback=seen, device="cpu", resume=True)
    assert seen.notes[0] == "going on at step 3 of 4"
    assert place.weights("through").keys() == place.weights("broken").keys()
    assert all((place.weights("broken")[name] == tensor).all() for name, tensor in place.weights("through").items())
    assert place.report("broken")["seed"] == 5
    assert not (output / "started.json").exists()


def test_going_on_with_another_config_is_refused_by_the_keys_that_differ(place: Place, config: Path) -> None:
    output = place.folder / "other"
    with pytest.raises(Interrupted):
        weft.train(config, output, overrides=["training.epochs=2"], callback=Recorder(interrupt_after(1)))
    with pytest.raises(ConfigError) as caught:
        weft.train(config, output, overrides=["training.epochs=4", "seed=1"], callback=Callback(), resume=True)
    assert "seed was 13 and is 1 now; training.epochs was 2 and is 4 now." in str(caught.value)
    config.write_text(config.read_text(encoding="utf-8").replace("batch_size = 2", "batch_size = 3"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"another config: training.batch_size was 2 and is 3 now\. Resume"):
        weft.train(config, output, callback=Callback(), resume=True)


def test_a_run_without_a_state_goes_on_from_the_beginning_and_says_so(place: Place) -> None:
    tasks = {"a": place.task("a", 4)}
    RunFolder(place.folder / "bare").start(parse_experiment(place.document(tasks, {})), Started())
    seen = Recorder()
    place.train(tasks, "bare", callback=seen, resume=True)
    assert seen.notes[0] == "going on from the beginning: no state was saved"
    assert seen.began == [(2, 0)]


def test_differences_are_named_by_their_path_and_long_values_are_cut() -> None:
    before = {"a": {"b": 1, "same": [1]}, "gone": True, "t": {"x": 1}}
    now = {"a": {"b": "x" * 100, "same": [1]}, "new": [1, 2], "t": 3}
    assert list(differences(before, now)) == [
        f'a.b was 1 and is "{"x" * 59}… now',
        "gone was true and is not set now",
        "t was a table and is 3 now",
        "new was not set and is [1, 2] now",
    ]


# Ctrl-C and SIGTERM


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_acknowledged_at_once_with_the_command_to_go_on(
    place: Place, config: Path, number: int, code: int
) -> None:
    seen: Recorder
    said: list[list[str]] = []

    def at_step(done: int) -> None:
        if done == 2:
            signal.raise_signal(number)
            said.append(list(seen.notes))

    seen = Recorder(at_step)
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught:
        weft.train(config, place.folder / "signal", callback=seen, device="cpu")
    assert caught.value.exit_code == code
    command = f"weft train '{config}' --output {place.folder / 'signal'} --device cpu --resume"
    assert str(caught.value).endswith(f"Go on with: {command}")
    ((note,),) = said
    assert note.startswith("stopping after this step")
    assert note.endswith(f"Go on with: {command}")
    assert signal.getsignal(number) is before
    assert json.loads((place.folder / "signal.running" / "state.json").read_text(encoding="utf-8"))["step"] == 2


def test_a_signal_that_comes_while_something_is_written_is_taken_all_the_same() -> None:
    def busy() -> None:
        raise RuntimeError("reentrant call")

    before = signal.signal(signal.SIGTERM, lambda *_: None)  # which by itself would end the tests
    try:
        with Interruption(busy) as interruption:
            signal.raise_signal(signal.SIGTERM)
        assert interruption.asked == signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_config_that_is_no_file_is_resumed_from_python() -> None:
    assert resume_command({}, Path("x")) == "weft.train(config, 'x', resume=True)"
    assert resume_command("a b.toml", Path("x")) == "weft train 'a b.toml' --output x --resume"


def test_ctrl_c_after_the_last_step_says_how_to_go_on(
    place: Place, config: Path, run_weft: RunWeft, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("weft.training.run.Run.finish", interrupted)
    code, _, err = run_weft("train", config, "--output", place.folder / "late")
    assert code == 130
    assert f"Go on with: weft train '{config}' --output {place.folder / 'late'} --resume" in err
