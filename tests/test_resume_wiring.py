"""Breaking off and going on: when a state is written, what is in it, and that a resumed run is the same run."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from recorder import Place, Recorder, Update, interrupt_after, make_place
from weft.checkpoints.state import optimizer_tensors, restore_optimizer
from weft.errors import ConfigError
from weft.tokenization.tokenizer import Tokenizer
from weft.training import state
from weft.training.interrupt import Interrupted


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizers: dict[str, Tokenizer]) -> Place:
    """With dropout, so that chance must go on where it was, too."""
    return make_place(tmp_path_factory.mktemp("resumed"), tiny_tokenizers["wordpiece"], 0.2)


class Clock:
    """A clock that moves only when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(state, "time", found)
    return found


def state_of(place: Place, output: str) -> dict[str, Any] | None:
    path = place.folder / f"{output}.running" / "state.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


# Going on


def tasks_of(place: Place) -> dict[str, Any]:
    return {"a": place.task("a", 8), "b": place.task("b", 6), "c": place.task("c", 4)}


DOCUMENT: dict[str, Any] = {
    "phases": [{"epochs": 2}, {"tasks": ["b", "a"], "train_layers": 1, "learning_rate": 3e-3}],
    "sampling": "proportional",  # 9 batches, in each of two epochs, then 7
    "training": {
        "loss_weights": "uncertainty",
        "gradient_accumulation_steps": 2,
        "head_learning_rate": 1e-2,
        "warmup_ratio": 0.3,
    },
}


@pytest.fixture(scope="module")
def through(place: Place) -> Recorder:
    """A run that was never broken off."""
    return place.train(tasks_of(place), "through", **DOCUMENT)


def assert_same(found: Update, expected: Update) -> None:
    assert found.tasks == expected.tasks
    assert found.rates == expected.rates
    assert found.decays == expected.decays
    assert found.learned_before == expected.learned_before
    assert all(torch.equal(a.ids, b.ids) for a, b in zip(found.batches, expected.batches, strict=True))
    for part in ("before", "gradients", "after"):
        one, other = getattr(found, part), getattr(expected, part)
        assert one.keys() == other.keys()
        assert not [name for name in one if not torch.equal(one[name], other[name])], part


@pytest.mark.parametrize(
    ("stop", "step", "updates"),
    [
        pytest.param(4, 4, 2, id="within the first epoch"),
        pytest.param(9, 9, 5, id="at its end"),
        pytest.param(12, 13, 7, id="within the second"),
        pytest.param(18, 18, 10, id="at the end of the phase"),
        pytest.param(21, 22, 12, id="within the second phase"),
    ],
)
def test_a_resumed_run_makes_the_updates_that_were_left_and_no_others(
    place: Place, through: Recorder, stop: int, step: int, updates: int, request: pytest.FixtureRequest
) -> None:
    output = request.node.callspec.id.replace(" ", "-")
    first = Recorder(interrupt_after(stop))
    with pytest.raises(Interrupted):
        place.train(tasks_of(place), output, callback=first, **DOCUMENT)
    assert first.ended == 1
    state = state_of(place, output)
    assert state is not None
    assert state["step"] == step
    assert len(first.updates) == updates
    second = place.learn(tasks_of(place), output, resume=True, **DOCUMENT)
    assert second.began == [(25, step)]
    assert first.steps + second.steps == through.steps
    assert first.entries + second.entries == through.entries
    assert len(first.updates) + len(second.updates) == len(through.updates) == 14
    for found, expected in zip(first.updates + second.updates, through.updates, strict=True):
        assert_same(found, expected)
    final = state_of(place, output)
    assert final is not None
    loss_history = place.report("through")["loss_history"]
    assert final["losses"]["points"] == loss_history
    for counted in ("tokens", "rows", "row_passes"):
        assert final[counted] == place.report("through")[counted]


def test_only_the_last_state_is_kept_and_it_is_complete(place: Place) -> None:
    """One was written at the end of the first epoch, after nine batches."""
    seen = Recorder(interrupt_after(11))
    with pytest.raises(Interrupted) as caught:
        place.train(tasks_of(place), "last", callback=seen, training={"epochs": 3}, sampling="proportional")
    folder = place.folder / "last.running"
    assert caught.value.folder == folder
    assert caught.value.exit_code == 130
    assert [path.name for path in folder.glob("state-*")] == ["state-0-1-11.safetensors"]
    assert json.loads((folder / "state.json").read_text())["tensors"] == "state-0-1-11.safetensors"


def test_moments_go_back_to_the_parameters_they_came_from() -> None:
    """Also where one name begins like another."""
    values = {"weight.1": 1.0, "weight.10": 2.0, "weight": 3.0, "still": 0.0}
    named = {name: torch.nn.Parameter(torch.tensor([value])) for name, value in values.items()}
    optimizer = torch.optim.AdamW(named.values(), lr=0.1)
    for name, parameter in named.items():
        if name != "still":
            parameter.grad = parameter.detach().clone()
    optimizer.step()
    again = {name: torch.nn.Parameter(torch.tensor([value])) for name, value in values.items()}
    other = torch.optim.AdamW(again.values(), lr=0.1)
    restore_optimizer(other, again, optimizer_tensors(optimizer, named))
    assert other.state.get(again["still"]) is None
    for name in ("weight", "weight.1", "weight.10"):
        found = other.state[again[name]]
        assert found.keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert (float(found["step"]), float(found["exp_avg"])) == (1.0, pytest.approx(0.1 * values[name]))


def test_rows_that_changed_are_refused_by_the_name_of_their_task(place: Place) -> None:
    tasks = {"same": place.task("same", 6), "other": place.task("other", 6)}
    with pytest.raises(Interrupted):
        place.train(tasks, "changed", callback=Recorder(interrupt_after(3)))
    path = place.folder / "other.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    for changed in (lines[1:], lines[::-1], [lines[0].replace("fox", "dog"), *lines[1:]], swapped(lines)):
        path.write_text("\n".join(changed) + "\n", encoding="utf-8")
        with pytest.raises(ConfigError, match="the training rows of other are not those"):
            place.train(tasks, "changed", resume=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert place.learn(tasks, "changed", resume=True).updates


def swapped(lines: list[str]) -> list[str]:
    """The answers of the first two rows exchanged."""
    rows = [json.loads(line) for line in lines]
    rows[0]["label"], rows[1]["label"] = rows[1]["label"], rows[0]["label"]
    return [json.dumps(row) for row in rows]


# States in between


def test_within_an_epoch_a_state_is_written_when_more_than_five_minutes_have_passed(place: Place, clock: Clock) -> None:
    """Each batch takes 101 seconds: the third is the first after five minutes."""
    seen: list[int | None] = []

    def at_step(done: int) -> None:
        clock.now += 101
        state = state_of(place, "timed")
        seen.append(None if state is None else state["step"])

    place.train({"a": place.task("a", 12)}, "timed", callback=Recorder(at_step), training={"epochs": 2})
    # Six batches in an epoch, whose end is a state of its own.
    assert seen == [None, None, None, 3, 3, 3, 6, 6, 6, 9, 9, 9]
    assert place.report("timed")["seconds"] == pytest.approx(12 * 101)


def test_before_five_minutes_have_passed_there_is_no_state(place: Place, clock: Clock) -> None:
    seen: list[Any] = []

    def at_step(done: int) -> None:
        clock.now += 50  # 300 seconds in all
        seen.append(state_of(place, "early"))

    place.learn({"a": place.task("a", 12)}, "early", callback=Recorder(at_step))
    assert seen == [None] * 6


def test_a_run_that_died_goes_on_from_its_last_state(place: Place, clock: Clock) -> None:
    class Died(BaseException):
        pass

    def at_step(done: int) -> None:
        clock.now += 101
        if done == 5:
            raise Died

    tasks = {"a": place.task("a", 12)}
    through = place.learn(tasks, "lived")
    with pytest.raises(Died):
        place.train(tasks, "died", callback=Recorder(at_step))
    second = Recorder(lambda done: setattr(clock, "now", clock.now + 10))
    place.train(tasks, "died", callback=second, resume=True)
    assert second.began == [(6, 3)]
    for found, expected in zip(second.updates, through.updates[3:], strict=True):
        assert_same(found, expected)
    assert place.report("died")["seconds"] == pytest.approx(3 * 101 + 3 * 10)


# Ctrl-C


@pytest.fixture
def handler() -> Iterator[Callable[..., Any]]:
    """A way to take Ctrl-C that is not Python's own."""

    def take(*_: Any) -> None:
        raise AssertionError("nobody asked")

    before = signal.signal(signal.SIGINT, take)
    yield take
    signal.signal(signal.SIGINT, before)


def test_the_second_interruption_ends_the_run_at_once(place: Place, handler: Callable[..., Any]) -> None:
    def at_step(done: int) -> None:
        if done >= 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    seen = Recorder(at_step)
    with pytest.raises(KeyboardInterrupt):
        place.train({"a": place.task("a", 8)}, "twice", callback=seen, training={"gradient_accumulation_steps": 4})
    assert len(seen.steps) == 2  # in the middle of an update
    assert not seen.updates
    assert state_of(place, "twice") is None
    assert seen.ended == 1
    assert signal.getsignal(signal.SIGINT) is handler


def test_the_first_interruption_waits_for_the_update_and_gives_the_signal_back(
    place: Place, handler: Callable[..., Any]
) -> None:
    seen = Recorder(interrupt_after(2))
    with pytest.raises(BaseException) as caught:  # noqa: PT011 (a KeyboardInterrupt would end all tests)
        place.train({"a": place.task("a", 12)}, "once", callback=seen, training={"gradient_accumulation_steps": 3})
    assert caught.type is Interrupted
    assert len(seen.steps) == 3
    assert len(seen.updates) == 1
    assert signal.getsignal(signal.SIGINT) is handler
    place.train({"a": place.task("a", 12)}, "once", resume=True, training={"gradient_accumulation_steps": 3})
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interruption_while_dev_rows_are_looked_at_comes_after_the_state_and_they_are_told_once(
    place: Place,
) -> None:
    class Asking(Recorder):
        def evaluated(self, entry: dict[str, Any]) -> None:
            super().evaluated(entry)
            signal.raise_signal(signal.SIGINT)

    seen = Asking()
    with pytest.raises(Interrupted):
        place.train({"a": place.task("a", 4)}, "looking", callback=seen, training={"epochs": 3})
    state = state_of(place, "looking")
    assert state is not None
    assert (state["step"], state["epoch"], state["index"], len(state["history"])) == (2, 1, 0, 1)
    assert len(seen.entries) == 1
    rest = place.learn({"a": place.task("a", 4)}, "looking", resume=True, training={"epochs": 3})
    assert [entry["epoch"] for entry in (*seen.entries, *rest.entries)] == [1, 2, 3]  # none is told again


def test_a_run_in_another_thread_learns_and_leaves_signals_alone(place: Place, handler: Callable[..., Any]) -> None:
    """Only the main thread may take signals."""
    found: list[Recorder] = []
    thread = threading.Thread(target=lambda: found.append(place.learn({"a": place.task("a", 4)}, "thread")))
    thread.start()
    thread.join()
    assert [len(seen.updates) for seen in found] == [2]
    assert signal.getsignal(signal.SIGINT) is handler
