"""The runs of a grid on a Ray cluster, or on a local instance where none is named.

Every machine must find the data and the encoder under the same paths; results come back by value, so nothing else is
shared.
"""

from __future__ import annotations

import logging
import os
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.comparison.engine import Engine, Listener
from weft.comparison.jobs import Job
from weft.comparison.worker import FinishedRun, Worker
from weft.errors import ConfigError, WeftError
from weft.model.devices import Device
from weft.training.interrupt import Interrupted, Interruption

_LOOK = 0.5  # seconds between looks at whether somebody wants it to stop
_TRIES = 3  # machines that are lost over the same run


class RayCluster(Engine):
    """So many actors, each with its share of the cores; a lost one costs the run it was at.

    Args:
        count: runs at once; as many as there are cores if None.
        address: of the cluster; by default `RAY_ADDRESS`, and a local instance where that is not set.
    """

    def __init__(
        self, folder: Path, device: Device, keep: bool, count: int | None = None, address: str | None = None
    ) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere unless somebody asks
        try:
            import ray
        except ImportError:
            raise ConfigError("the engine ray is not installed; run: pip install 'weft[ray]'") from None
        self.ray: Any = ray
        self.folder, self.count, self.address = folder, count, address
        self.arguments = (folder.resolve(), device, keep)
        self.losses: Counter[str] = Counter()

    def run(self, jobs: Sequence[Job], listener: Listener) -> None:
        ours = not self.ray.is_initialized()
        if ours:
            self.ray.init(
                address=self.address, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
            )
        try:
            self._run(deque(jobs), listener)
        finally:
            if ours:
                self.ray.shutdown()

    def _run(self, waiting: deque[Job], listener: Listener) -> None:
        cores = int(self.ray.cluster_resources().get("CPU", 1))
        count = min(self.count or cores, cores)
        threads = max(
            1, cores // max(1, count)
        )  # however few runs are left: with more, a run would round in another way
        actor = self.ray.remote(num_cpus=threads)(_Actor)
        under_way: dict[Any, tuple[Any, Job]] = {}

        def give(member: Any) -> None:
            if waiting:
                job = waiting.popleft()
                listener.started(job)
                under_way[member.run.remote(job)] = (member, job)

        with Interruption(listener.interrupted) as interruption:
            for _ in range(min(count, len(waiting))):
                give(actor.remote(*self.arguments, threads))
            while under_way:
                done, _ = self.ray.wait(list(under_way), num_returns=1, timeout=_LOOK)
                for promise in done:
                    member, job = under_way.pop(promise)
                    lost = self._hear(promise, job, waiting, listener)
                    give(actor.remote(*self.arguments, threads) if lost else member)
                if interruption.asked:
                    for member, _ in under_way.values():
                        self.ray.kill(member)
                    raise Interrupted(self.folder, number=interruption.asked)

    def _hear(self, promise: Any, job: Job, waiting: deque[Job], listener: Listener) -> bool:
        """Take what a run gave; True where the machine it was on is lost."""
        try:
            listener.finished(job, self.ray.get(promise))
        except self.ray.exceptions.RayTaskError as error:
            cause = error.as_instanceof_cause()
            if not isinstance(cause, WeftError):
                raise
            listener.failed(job, str(error.cause))
        except self.ray.exceptions.RayError:
            self.losses[job.key] += 1
            if self.losses[job.key] < _TRIES:
                waiting.appendleft(job)
            else:
                listener.failed(job, f"the machine or process it was on was lost {_TRIES} times")
            return True
        return False


class _Actor:
    """A worker somewhere in the cluster."""

    def __init__(self, folder: Path, device: Device, keep: bool, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self.worker = Worker(folder, device, keep)

    def run(self, job: Job) -> FinishedRun:
        return self.worker.run(job, lambda part: None)
