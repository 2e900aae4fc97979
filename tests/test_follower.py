"""How far a grid is, and how long the rest takes."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from weft.comparison import follower as module
from weft.comparison.arms import Column
from weft.comparison.follower import Follower
from weft.comparison.jobs import Job
from weft.comparison.progress import ComparisonCallback, in_words


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def job(arm: str, seed: int) -> Job:
    return Job(arm, None, seed, None, None, {}, Path(), f"{arm}{seed}")


JOBS = [job(arm, seed) for seed in (1, 2) for arm in ("plain", "lora")]


def follow(at_once: int = 1) -> Follower:
    store = cast(Any, SimpleNamespace(write=lambda *_: None))
    columns = [Column("t", "lora", "lora"), Column("t", "plain", "plain")]
    expected = {("plain", None): 10.0, ("lora", None): 20.0}
    return Follower(store, columns, {"t": "accuracy"}, JOBS, expected, at_once, ComparisonCallback())


def run(score: float | None) -> Any:
    return SimpleNamespace(result=SimpleNamespace(scores={"t": {"accuracy": score}}, diverged=""), outcomes={})


def test_the_time_left_goes_down_with_every_step() -> None:
    follower = follow()
    assert follower.seconds_left == 60
    follower.started(JOBS[1])
    follower.progress(JOBS[1], 0.5)
    assert follower.seconds_left == 60 - 0.95 * 10
    follower.failed(JOBS[1], "it cannot be")
    assert follower.seconds_left == 40
    assert follower.failures == [(JOBS[1], "it cannot be")]


def test_several_at_once_take_less_time() -> None:
    assert follow(at_once=2).seconds_left == 30


def test_what_such_runs_have_taken_is_expected_of_the_others(clock: Clock) -> None:
    follower = follow()
    follower.started(JOBS[0])
    clock.now = 4.0
    follower.finished(JOBS[0], run(0.5))
    assert follower.seconds_left == 4 + 8 + 8  # the others, too, will take less than was thought


def test_means_so_far_stand_in_the_order_of_the_columns() -> None:
    follower = follow()
    for one, score in zip(JOBS, (0.2, 0.6, 0.4, None), strict=True):
        follower.started(one)
        follower.finished(one, run(score))
    assert [(cell.variant, cell.seeds, cell.mean) for cell in follower.means()] == [
        ("lora", 1, 0.6),
        ("plain", 2, pytest.approx(0.3)),
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "1 s"), (89, "89 s"), (90, "2 min"), (5940, "99 min"), (7500, "2 h 5 min")]
)
def test_time_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == f"about {words}"


def test_what_cannot_be_told_is_known_after_the_first_such_run(clock: Clock) -> None:
    follower = follow()
    del follower.expected["lora", None]
    assert in_words(follower.seconds_left) == "an unknown time"
    follower.started(JOBS[1])
    clock.now = 7.0
    follower.progress(JOBS[1], 1.0)
    assert follower.seconds_left == math.inf
    follower.finished(JOBS[1], run(0.5))
    assert follower.seconds_left == 10 + 10 + 7  # how long it took says nothing about the others
