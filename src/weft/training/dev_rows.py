"""The dev rows that are looked at after every epoch, and which weights were the best on them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from weft.data.dataset import Splits
from weft.errors import DivergedError
from weft.model.evaluate import ScoredWindow, TaskResult, TokenizedGroup, evaluate, score_rows, tokenize_rows
from weft.model.network import Network
from weft.training.kept_weights import KeptWeights
from weft.training.selection import gain_of, majority_value, thin_out, with_floor

_HELD = 10_000_000  # scores of all tasks together; more are computed again where they are needed


class DevRows:
    """The dev rows of every task: tokenized once, and the scores of the best weights held for calibration and report.

    After each epoch at most `limit` rows of each task are looked at. Tasks with at least `fewest` are chosen by.
    """

    def __init__(self, network: Network, data: Mapping[str, Splits], limit: int, fewest: int = 1) -> None:
        self.network = network
        self.all = {name: splits.dev for name, splits in data.items() if splits.dev}
        self.telling = {name for name, rows in self.all.items() if len(rows) >= fewest}
        self.rows = {name: thin_out(rows, limit) for name, rows in self.all.items()}
        self.floor = {name: majority_value(network, name, data[name].train, rows) for name, rows in self.rows.items()}
        self.calibratable = {name for name in self.all if network.targets[name].calibratable}
        self._tokenized: list[TokenizedGroup] = []
        self._scored: list[ScoredWindow] | None = None  # by the weights of now; None where there are too many
        self._held: list[ScoredWindow] | None = None  # by the best weights

    def evaluate(self) -> dict[str, TaskResult]:
        """Every task's result with the weights of now, the majority baseline beside it."""
        return with_floor(evaluate(self.network, self.rows, intervals=False, scored=self._score()), self.floor)

    def hold(self) -> None:
        """Keep the scores of the last evaluation: its weights are the best."""
        self._held = self._scored

    def scored_by(self, network: Network, best: bool) -> list[ScoredWindow] | None:
        """What a network says about all dev rows that can be calibrated on; None where that would be too much to hold.

        Args:
            best: whether the weights are those of `hold`, whose scores are known if all rows were looked at.
        """
        seen, rows = (sum(len(part[name]) for name in self.calibratable) for part in (self.rows, self.all))
        if best and self._held is not None and seen == rows:
            return self._held
        if self._scored is None or _size(self._scored) * rows > _HELD * seen:
            return None
        return list(score_rows(network, {name: self.all[name] for name in self.all if name in self.calibratable}))

    def _score(self) -> Iterator[ScoredWindow]:
        """The scores of all rows with the weights of now, those that can be calibrated on held if there is room."""
        rows = {name: part for name, part in self.rows.items() if name in self.calibratable}
        self._tokenized = self._tokenized or list(tokenize_rows(self.network, rows))
        self._scored = []
        for window in score_rows(self.network, rows, self._tokenized):
            if self._scored is not None:
                self._scored.append(window)
                self._scored = self._scored if _size(self._scored) <= _HELD else None
            yield window
        others = {name: part for name, part in self.rows.items() if name not in self.calibratable}
        yield from score_rows(self.network, others)  # raw text: as much as there is


def _size(scored: list[ScoredWindow]) -> int:
    return sum(scores.values.numel() for _, scores, _ in scored)


class BestWeights:
    """The weights that were best so far, `overall` and for each task.

    Args:
        kept: where they are kept.
        choose_by: what `overall` means: the mean gain, or the dev value of a task.
        per_task: whether the weights that were best for each task are kept, too.
    """

    def __init__(self, network: Network, dev: DevRows, kept: KeptWeights, choose_by: str, per_task: bool) -> None:
        self.network, self.dev, self.kept = network, dev, kept
        self.choose_by, self.per_task = choose_by, per_task

    def value(self, entry: Mapping[str, Any]) -> float | None:
        """What an evaluation is chosen by; None where too few rows would tell."""
        if self.choose_by != "overall" and self.choose_by not in self.dev.telling:
            return None
        return gain_of(entry, self.choose_by)

    def keep(self, entry: Mapping[str, Any], best: dict[str, dict[str, Any]]) -> bool:
        """Keep the weights wherever they are better than `best`, which is brought up to date; True if overall.

        Where too few rows would tell, later ones are taken to be better.
        """
        told = {name: value for name, value in entry["dev"].items() if name in self.dev.telling}
        values = {**told, "overall": self.value(entry)}
        better = [name for name, value in values.items() if self._improves(name, value, best.get(name))]
        for name in better:
            if name == "overall" or self.per_task:
                best[name] = {key: entry[key] for key in ("step", "phase", "epoch")} | {"value": values[name]}
                self.kept.put(self.network, name)
        if "overall" in better:
            self.dev.hold()
        return "overall" in better

    def _improves(self, name: str, value: float | None, best: Mapping[str, Any] | None) -> bool:
        if value is None:
            return True
        if not math.isfinite(value):
            raise DivergedError(
                f"training has diverged: the dev value of {name} is {value}; lower training.learning_rate"
            )
        return best is None or value > best["value"]
