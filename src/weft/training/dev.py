"""The dev rows that are looked at after every epoch, and which weights were the best on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.data.dataset import Splits
from weft.errors import WeftError
from weft.model.evaluate import TaskResult, evaluate
from weft.model.folder import save_network
from weft.model.network import Network
from weft.training.selection import gain_of, majority_value, thin_out, with_floor


class DevRows:
    """At most `limit` dev rows of every task, and what always giving the commonest answer reaches on them."""

    def __init__(self, network: Network, data: Mapping[str, Splits], limit: int) -> None:
        self.network = network
        self.rows = {name: thin_out(splits.dev, limit) for name, splits in data.items()}
        self.floor = {name: majority_value(network, name, data[name].train, rows) for name, rows in self.rows.items()}

    def evaluate(self) -> dict[str, TaskResult]:
        """Every task's result with the weights of now, the majority baseline beside it."""
        return with_floor(evaluate(self.network, self.rows, intervals=False), self.floor)


class BestWeights:
    """The weights that were best so far, `overall` and for each task, in the folder `best` of a run.

    Args:
        choose_by: what `overall` means: the mean gain, or the dev value of a task.
        per_task: whether the weights that were best for each task are kept, too.
    """

    def __init__(self, network: Network, folder: Path, choose_by: str, per_task: bool) -> None:
        self.network, self.folder, self.choose_by, self.per_task = network, folder, choose_by, per_task

    def value(self, entry: Mapping[str, Any]) -> float:
        """What an evaluation is chosen by."""
        return gain_of(entry, self.choose_by)

    def keep(self, entry: Mapping[str, Any], best: dict[str, dict[str, Any]]) -> bool:
        """Write the weights down wherever they are better than `best`, which is brought up to date; True if overall."""
        values = {**entry["dev"], "overall": self.value(entry)}
        better = [name for name, value in values.items() if self._improves(name, value, best.get(name))]
        for name in better:
            if name == "overall" or self.per_task:
                best[name] = {key: entry[key] for key in ("step", "phase", "epoch")} | {"value": values[name]}
                save_network(self.network, self.folder / "best" / name)
        return "overall" in better

    def _improves(self, name: str, value: float, best: Mapping[str, Any] | None) -> bool:
        if not math.isfinite(value):
            raise WeftError(f"training has diverged: the dev value of {name} is {value}; lower training.learning_rate")
        return best is None or value > best["value"]
