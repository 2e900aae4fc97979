"""How long a grid will take: what the first run computes for all counts once, what every run computes each time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weft.comparison.expected import expected_seconds
from weft.comparison.jobs import Job
from weft.errors import WeftError
from weft.training.timing import RunTime


def job(arm: str, seed: int) -> Job:
    return Job(arm, None, seed, None, None, {}, Path(), f"{arm}{seed}")


def expect(
    windows: Mapping[str, Mapping[int, tuple[Hashable, ...]]], at_once: int = 1, room: float = 0.1
) -> dict[str, float]:
    """The seconds of all runs of each arm; every run takes one, and every window of states ten."""

    def timer(job: Job) -> Any:
        names = windows[job.arm][job.seed]
        return SimpleNamespace(
            time=lambda: RunTime(1.0, dict.fromkeys(names, 10.0), room), windows=lambda: dict.fromkeys(names, 7)
        )

    jobs = [job(arm, seed) for seed in (1, 2, 3, 4) for arm in windows]
    return {arm: 4 * seconds for (arm, _), seconds in expected_seconds(jobs, timer, at_once).items()}


SAME = dict.fromkeys((1, 2, 3, 4), ("train", "test"))
DRAWN = {seed: (f"train {seed}", "test") for seed in (1, 2, 3, 4)}


def test_states_that_all_runs_share_count_for_the_first_alone() -> None:
    assert expect({"plain": SAME, "other": SAME}) == {"plain": 4 + 20, "other": 4}


def test_states_of_rows_that_every_seed_draws_anew_count_for_every_run() -> None:
    assert expect({"plain": DRAWN, "other": DRAWN}) == {"plain": 4 + 10 + 4 * 10, "other": pytest.approx(4 + 3 * 10)}


def test_every_process_computes_the_states_for_itself() -> None:
    assert expect({"plain": SAME}, at_once=2) == {"plain": 4 + 2 * 20}


def test_states_that_there_is_no_room_for_count_for_every_run() -> None:
    assert expect({"plain": SAME}, room=1.1) == {"plain": 4 + 4 * 20}


def test_runs_that_cannot_be_timed_are_left_out() -> None:
    def timer(job: Job) -> Any:
        if job.arm == "diverging":
            raise WeftError("the loss is not a number")
        return None

    assert expected_seconds([job("raw", 1), job("diverging", 1)], timer, 1) == {}
