"""Several runs of a grid at once, each in a process of its own with its share of the cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from weft.comparison.engine import Engine, Listener
from weft.comparison.jobs import Job
from weft.comparison.worker import Worker
from weft.errors import WeftError
from weft.model.devices import Device
from weft.training.interrupt import Interrupted, Interruption

_LOOK = 0.2  # seconds between looks at whether somebody wants it to stop
_TELL = 0.5  # seconds between two reports of a run's progress
_TRIES = 2  # a process that the system ends twice over the same run would end a third time


@dataclass
class _Member:
    """A process, the line to it, and the run it is at."""

    process: BaseProcess
    line: Connection
    job: Job | None = None


class Processes(Engine):
    """So many processes, each taking the next run when it has finished one.

    A process that is killed costs the run it was at, which another begins again where its last state was.
    """

    def __init__(self, folder: Path, device: Device, keep: bool, count: int) -> None:
        self.count, self.threads = count, max(1, available_cores() // count)
        self.arguments = folder, device, keep, self.threads
        self.deaths: Counter[str] = Counter()

    def run(self, jobs: Sequence[Job], listener: Listener) -> None:
        waiting, members = deque(jobs), [self._start() for _ in range(min(self.count, len(jobs)))]
        try:
            with Interruption(listener.interrupted) as interruption:
                for member in members:
                    _give(member, waiting, listener)
                while busy := [member for member in members if member.job is not None]:
                    for line in wait([member.line for member in busy], _LOOK):
                        member = next(member for member in members if member.line is line)
                        members[members.index(member)] = self._hear(member, waiting, listener)
                    if interruption.asked:
                        _stop(members, listener)
                        raise Interrupted(self.arguments[0], number=interruption.asked)
        finally:
            for member in members:
                member.process.kill()
                member.line.close()

    def _start(self) -> _Member:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may never answer
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, *self.arguments), daemon=True)
        process.start()
        theirs.close()
        return _Member(process, ours)

    def _hear(self, member: _Member, waiting: deque[Job], listener: Listener) -> _Member:
        """Take what a process says; the one to go on with, a new one where it has died."""
        job = member.job
        assert job is not None
        try:
            what, said = member.line.recv()
        except (EOFError, ConnectionError):
            self._bury(job, waiting, listener)
            member.line.close()
            member = self._start()
        else:
            if what == "progress":
                listener.progress(job, said)
                return member
            _pass_on(job, what, said, listener)
        _give(member, waiting, listener)
        return member

    def _bury(self, job: Job, waiting: deque[Job], listener: Listener) -> None:
        self.deaths[job.key] += 1
        if self.deaths[job.key] < _TRIES:
            waiting.appendleft(job)
        else:
            listener.failed(job, "its process was ended twice by the system; is there enough memory for --jobs?")


def available_cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pass_on(job: Job, what: str, said: Any, listener: Listener) -> None:
    if what == "bug":
        raise RuntimeError(f"in {job.name}:\n{said}")
    if what == "finished":
        listener.finished(job, said)
    else:
        listener.failed(job, said)


def _give(member: _Member, waiting: deque[Job], listener: Listener) -> None:
    """Hand the next run to a process."""
    member.job = waiting.popleft() if waiting else None
    if member.job is not None:
        listener.started(member.job)
        with suppress(ConnectionError):  # where it has died since, the line says so when it is read
            member.line.send(member.job)


def _stop(members: Sequence[_Member], listener: Listener) -> None:
    """Have every process write its state down, and hear of the runs that end meanwhile."""
    busy = [member for member in members if member.job is not None]
    for member in busy:
        if member.process.pid is not None and member.process.is_alive():
            os.kill(member.process.pid, signal.SIGTERM)
    for member in busy:
        try:
            while (said := member.line.recv())[0] == "progress":
                pass
        except (EOFError, ConnectionError):
            continue
        if said[0] == "finished" and member.job is not None:
            listener.finished(member.job, said[1])


def _serve(line: Connection, folder: Path, device: Device, keep: bool, threads: int) -> None:
    """What a process does: run what it is handed until there is no more."""
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C reaches the first process only, which passes it on once
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    worker = Worker(folder, device, keep)
    while True:
        job: Job = line.recv()
        try:
            line.send(("finished", worker.run(job, _throttled(line))))
        except Interrupted:
            return
        except WeftError as error:
            line.send(("failed", str(error)))
        except Exception:
            line.send(("bug", traceback.format_exc()))


def _throttled(line: Connection) -> Any:
    """Progress, told at most every so often."""
    last = 0.0

    def tell(part: float) -> None:
        nonlocal last
        if time.monotonic() - last > _TELL:
            last = time.monotonic()
            line.send(("progress", part))

    return tell


def _end_with_parent() -> None:
    """End when the first process does, however that ends: nobody would take the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
