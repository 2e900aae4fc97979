"""What is kept of every run of a grid: numbers about the run, and the outcome of each row, by what the run is made of.

    OUTPUT/results/KEY.json           scores, seconds, parameters, baselines
    OUTPUT/results/KEY.safetensors    the outcomes of each task's rows: numbers, never a text

A run is finished when both are there; the JSON is written last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from weft.data.atomic import write_atomically
from weft.errors import CheckpointError, WeftError
from weft.metrics.outcomes import Outcomes
from weft.metrics.outcomes.file import read_outcomes, write_outcomes

Figures = Mapping[str, Mapping[str, float | None]]  # by task and metric; None where it is not finite


@dataclass(frozen=True)
class RunResult:
    """What is kept of one finished run."""

    seconds: float  # of learning
    parameters: int  # beside the encoder's: heads and conditioning
    trained_parameters: int
    dev: float  # by which its weights were chosen
    reported_on: Mapping[str, str]  # by task: the rows it was measured on, test or dev
    scores: Figures
    baselines: Mapping[str, Figures]  # by task, method and metric
    agreement: Mapping[str, float | None]  # of the tasks' gradients, by pair, at the last evaluation
    diverged: str = ""  # why it has no scores, where training came to numbers that are none

    @classmethod
    def without_scores(cls, why: str) -> RunResult:
        """What is kept of a run that diverged: it would again, so it is not made a second time."""
        return cls(0.0, 0, 0, 0.0, {}, {}, {}, {}, why)


@dataclass(frozen=True)
class Store:
    """The results of a grid, in its folder."""

    folder: Path

    def __contains__(self, key: str) -> bool:
        return self._json(key).exists() and self._outcomes(key).exists()

    def has_scores(self, key: str) -> bool:
        """Whether a run is finished and did not diverge."""
        return key in self and not self.result(key).diverged

    def write(self, key: str, result: RunResult, outcomes: Mapping[str, Outcomes]) -> None:
        """Keep a run."""
        write_outcomes(self._outcomes(key), outcomes)
        text = json.dumps(asdict(result), indent=1, sort_keys=True) + "\n"
        write_atomically(self._json(key), partial(Path.write_text, data=text, encoding="utf-8"))

    def result(self, key: str) -> RunResult:
        """What is known of a finished run."""
        try:
            return RunResult(**json.loads(self._json(key).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            problem = f"{self._json(key)} cannot be read ({type(error).__name__})"
            raise WeftError(f"{problem}; remove it, and it is run again") from None

    def outcomes(self, key: str) -> dict[str, Outcomes]:
        """The outcome of each row, by task."""
        try:
            return read_outcomes(self._outcomes(key))
        except CheckpointError:
            raise WeftError(f"{self._outcomes(key)} is damaged; remove it, and it is run again") from None

    def _json(self, key: str) -> Path:
        return self.folder / "results" / f"{key}.json"

    def _outcomes(self, key: str) -> Path:
        return self.folder / "results" / f"{key}.safetensors"
