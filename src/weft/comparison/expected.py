"""How long the runs of a grid will take, together with what the first of them computes for all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import torch

from weft.comparison.follower import Alike
from weft.comparison.jobs import Job
from weft.errors import WeftError
from weft.training.timing import RunTime, RunTimer

Timer = Callable[[Job], RunTimer | None]


def expected_seconds(jobs: Sequence[Job], timer: Timer, at_once: int) -> dict[Alike, float]:
    """About how many seconds a run of each arm and size takes, on average; only where that can be told.

    States of layers that do not learn are computed by the first run of each process that needs them. Those that a run
    of another seed needs besides, as it draws other rows, are computed by every run; so are all, where there are too
    many to be kept.

    Args:
        timer: makes a run ready to be timed; None where it cannot be.
        at_once: how many processes share the runs.
    """
    alike: dict[Alike, list[Job]] = defaultdict(list)
    for job in jobs:
        alike[job.arm, job.size].append(job)
    known: dict[Hashable, float] = {}
    expected: dict[Alike, float] = {}
    room = 0.0
    for key, runs in alike.items():
        with suppress(WeftError):  # it diverges, which is said when it is run
            if (first := timer(runs[0])) is None:
                continue
            found = first.time()
            begin = _new(found.states, known)
            room += found.room * begin / (sum(found.states.values()) or 1.0)
            known |= found.states
            anew = sum(found.states.values()) if room > 1 else _anew(runs, timer, found, known)
            expected[key] = found.steps + (begin * min(at_once, len(runs)) + anew * (len(runs) - 1)) / len(runs)
    return expected


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Compute on so many cores for a while, as a run of several at once will; None, on as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _anew(runs: Sequence[Job], timer: Timer, found: RunTime, known: Mapping[Hashable, float]) -> float:
    """The seconds of states that a second run computes although the first has been there."""
    if len(runs) == 1 or not found.states or (second := timer(runs[1])) is None:
        return 0.0
    windows = second.windows()
    share = sum(tokens for name, tokens in windows.items() if name not in known) / (sum(windows.values()) or 1)
    return share * sum(found.states.values())


def _new(states: Mapping[Hashable, float], known: Mapping[Hashable, float]) -> float:
    return sum(seconds for name, seconds in states.items() if name not in known)
