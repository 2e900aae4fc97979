"""When training no longer gets better."""

from __future__ import annotations

import math
from typing import Any


class EarlyStopping:
    """Says stop after `patience` evaluations in a row without a new best; never, if patience is None.

    `best` is the highest value so far, None before the first; `waited` counts the evaluations since then.
    """

    def __init__(self, patience: int | None) -> None:
        if patience is not None and patience < 1:
            raise ValueError(f"patience is {patience}, but must be at least 1, or None")
        self.patience = patience
        self.best: float | None = None
        self.waited = 0

    def update(self, value: float) -> bool:
        """Take in one evaluation, higher being better; True means stop.

        A value is a new best if it is higher than all before it. The same again is not, and NaN never is.
        """
        if self._improves(value):
            self.best, self.waited = value, 0
        else:
            self.waited += 1
        return self.done

    @property
    def done(self) -> bool:
        """Whether the last evaluation said stop."""
        return self.patience is not None and self.waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        """Plain data from which `load_state_dict` goes on; patience is not part of it."""
        return {"best": self.best, "waited": self.waited}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from where `state_dict` was taken."""
        self.best, self.waited = state["best"], state["waited"]

    def _improves(self, value: float) -> bool:
        return not math.isnan(value) if self.best is None else value > self.best
