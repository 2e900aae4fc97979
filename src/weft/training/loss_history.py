"""The course of the losses in a bounded number of points, however long the run."""

from __future__ import annotations

from dataclasses import dataclass, field

LossPoint = tuple[int, str, float]  # step, task, mean loss of the batches since the task's point before
_POINTS = 512  # of each task, before every two become one


@dataclass
class LossHistory:
    """Every batch's loss at first; each time a task has too many points, every two neighbours become their mean.

    So a task's points are evenly spread over its batches, and the same batches give the same points whether or not
    there was a break in between: all of it is plain data that is written down with the state.
    """

    points: list[LossPoint] = field(default_factory=list)  # in the order of their steps
    batches: dict[str, int] = field(default_factory=dict)  # of each task so far
    strides: dict[str, int] = field(default_factory=dict)  # batches in a point of each task
    pending: dict[str, list[float]] = field(default_factory=dict)  # losses of each task that make no point yet
    recent: dict[str, list[float]] = field(default_factory=dict)  # sum and number of the losses since `start_epoch`

    def __post_init__(self) -> None:
        self.points = [(step, task, loss) for step, task, loss in self.points]  # JSON knows no tuples

    def start_epoch(self) -> None:
        """Begin the means of `mean` anew."""
        self.recent = {}

    def add(self, step: int, task: str, loss: float) -> None:
        """Take in the loss of one batch."""
        total, count = self.recent.get(task, [0.0, 0])
        self.recent[task] = [total + loss, count + 1]
        self.batches[task] = self.batches.get(task, 0) + 1
        stride = self.strides.setdefault(task, 1)
        gathered = self.pending.setdefault(task, [])
        gathered.append(loss)
        if len(gathered) == stride:
            self.points.append((step, task, sum(gathered) / stride))
            gathered.clear()
            if self.batches[task] == _POINTS * stride:
                self._thin_out(task)

    def mean(self, task: str) -> float | None:
        """The mean loss of a task since `start_epoch`; None where it had no batch."""
        total, count = self.recent.get(task, [0.0, 0])
        return total / count if count else None

    def _thin_out(self, task: str) -> None:
        own = [point for point in self.points if point[1] == task]
        pairs = zip(own[::2], own[1::2], strict=True)
        merged = {later[0]: (later[0], task, (earlier[2] + later[2]) / 2) for earlier, later in pairs}
        self.points = [merged.get(point[0], point) for point in self.points if point[1] != task or point[0] in merged]
        self.strides[task] *= 2
