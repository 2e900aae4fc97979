"""Where a run stands, and how that is written down so that the run can go on as if there had been no break."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.checkpoints.state import load_state, save_document, save_state
from weft.training.loss_history import LossHistory, LossPoint

_SAVE_EVERY = 300.0  # seconds between states within an epoch


@dataclass
class TrainingState:
    """Where a run stands and what it has seen; plain data, so that it can be written down."""

    phase: int = 0
    epoch: int = 0  # within the phase
    index: int = 0  # within the epoch's order of tasks
    step: int = 0  # batches learned from in all
    updates: int = 0  # of the optimizer, within the phase
    learning_rate: float = 0.0  # of the last update
    seconds: float = 0.0
    tokens: int = 0
    padded: int = 0
    rows: int = 0  # different ones learned from
    row_passes: int = 0  # the same, counted each time
    stopped: str = "finished"
    data: dict[str, int] = field(default_factory=dict)  # fingerprints of the training rows
    positions: dict[str, list[int]] = field(default_factory=dict)  # of each task's stream of batches
    stopping: dict[str, Any] = field(default_factory=dict)
    best: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    losses: LossHistory = field(default_factory=LossHistory)

    @property
    def loss_history(self) -> list[LossPoint]:
        """The losses in the course of the run, as step, task and loss."""
        return self.losses.points

    def start_phase(self) -> None:
        """Stand at the beginning of the next phase."""
        self.phase += 1
        self.epoch = self.updates = 0
        self.stopping = {}


class StateFolder:
    """The states of one run on disk, and how long it has run; without `writes` only the latter."""

    def __init__(self, folder: Path, writes: bool = True) -> None:
        self.folder, self.writes = folder, writes
        self._counted = self._saved = time.monotonic()

    def due(self) -> bool:
        """Whether it is long since a state was written."""
        return self.writes and time.monotonic() - self._saved > _SAVE_EVERY

    def save(self, state: TrainingState, tensors: Mapping[str, Tensor]) -> None:
        """Write all of it."""
        now = time.monotonic()
        state.seconds += now - self._counted
        self._counted = self._saved = now
        if self.writes:
            save_state(self.folder, asdict(state), tensors)

    def amend(self, state: TrainingState) -> None:
        """Write the plain data again, beside the tensors of the last `save`."""
        if self.writes:
            save_document(self.folder, asdict(state))

    def load(self) -> tuple[TrainingState, dict[str, Tensor]] | None:
        """What was last saved, or None where the run had not come to that."""
        found = load_state(self.folder)
        if found is None:
            return None
        document, tensors = found
        return TrainingState(**{**document, "losses": LossHistory(**document["losses"])}), tensors
