"""What a person sees while a run goes on."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from weft.training.progress import ProgressCallback


class Clock:
    """A clock that stands still unless it is moved on."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def screen() -> tuple[ProgressCallback, Callable[[], str]]:
    """A watcher, and what it has written since it was last asked."""
    file = io.StringIO()
    callback = ProgressCallback(Console(file=file, force_terminal=True, color_system=None, width=160, highlight=False))

    def read() -> str:
        if callback.bar is not None:
            callback.bar.refresh()
        text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", file.getvalue())
        file.seek(0)
        file.truncate()
        return text

    return callback, read


def test_the_bar_shows_steps_losses_and_speed(
    screen: tuple[ProgressCallback, Callable[[], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    callback, read = screen
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock)
    callback.begin(10, 4)
    assert " 4/10 " in read()
    clock.now += 2
    callback.step("epoch 1/2", "fox", 1.0, 16)
    text = read()
    assert "epoch 1/2 · fox 1.000 " in text
    assert (" 5/10 " in text, " 8 rows/s " in text) == (True, True)
    callback.step("epoch 1/2", "odd", 0.5, 8)
    callback.step("epoch 2/2", "fox", 3.0, 16)
    text = read()
    assert "epoch 2/2 · fox 1.200 · odd 0.500 " in text  # nine tenths of what it was, a tenth of what is new
    assert (" 7/10 " in text, " 20 rows/s " in text) == (True, True)
    assert callback.bar is not None
    assert callback.bar.live.is_started
    callback.end()
    assert not callback.bar.live.is_started


def test_a_second_phase_begins_its_own_bar_and_speed(
    screen: tuple[ProgressCallback, Callable[[], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    callback, read = screen
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock)
    callback.begin(4, 0)
    callback.step("1", "fox", 1.0, 100)
    callback.end()
    clock.now += 100
    callback.begin(3, 1)
    clock.now += 1
    callback.step("1", "fox", 1.0, 6)
    text = read()
    assert (" 2/3 " in text, " 6 rows/s " in text) == (True, True)
    callback.end()


def test_a_step_before_the_beginning_and_an_end_without_one_are_no_fault() -> None:
    callback = ProgressCallback(Console(file=io.StringIO()))
    callback.step("1", "fox", 1.0, 6)
    callback.end()


def test_an_evaluation_is_one_line_with_what_was_chosen(screen: tuple[ProgressCallback, Callable[[], str]]) -> None:
    callback, read = screen
    entry = {"epoch": 1.5, "dev": {"fox": 0.81249, "odd": 0.5}, "overall": 0.1234, "best": True}
    callback.evaluated(entry)
    assert read() == "epoch 1.5: dev fox 0.812 · odd 0.500 · overall gain +0.123 best so far\n"
    callback.evaluated({**entry, "best": False, "overall": -0.02})
    assert read() == "epoch 1.5: dev fox 0.812 · odd 0.500 · overall gain -0.020\n"
    hidden = {"epoch": 2, "dev": {"words": 0.02, "fox": 1.0}, "overall": 0.0}
    callback.evaluated({**hidden, "scores": {"words": {"perplexity": 12.34}, "fox": {"accuracy": 1.0}}})
    assert read() == "epoch 2: dev words perplexity 12.3 · fox 1.000 · overall gain +0.000\n"


def test_an_evaluation_of_a_later_phase_names_it(screen: tuple[ProgressCallback, Callable[[], str]]) -> None:
    callback, shown = screen
    for phase in (0, 1):
        callback.evaluated({"phase": phase, "epoch": 1, "dev": {"fox": 0.5}, "overall": None})
    assert [line.strip() for line in shown().splitlines() if line.strip()] == [
        "epoch 1: dev fox 0.500",
        "phase 2 epoch 1: dev fox 0.500",
    ]


def test_a_note_is_a_line_and_reading_shows_the_bytes_that_are_done(
    screen: tuple[ProgressCallback, Callable[[], str]],
) -> None:
    callback, read = screen
    callback.note("fox: 2 wrong tags were mended (repair)")
    assert read() == "fox: 2 wrong tags were mended (repair)\n"
    with callback.reading() as tell:
        tell(2_500_000)
    text = read()
    assert "tokenizing" in text
    assert "2.5/? MB" in text
