"""What was found out about a grid when it was last checked, so that the same grid is not checked again.

    OUTPUT/results/checked.json

A check reads every arm's files and builds its network, which for a finished grid takes longer than all else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from weft.comparison.check import CheckedArms
from weft.comparison.contents import content_key, digest_json, rows_digester
from weft.comparison.grid import Grid
from weft.data.atomic import write_atomically

_FILE = Path("results") / "checked.json"


@dataclass(frozen=True)
class Checked:
    """A grid without faults."""

    key: str  # of everything that was looked at
    rows: int  # the most training rows of a task


def check_key(arms: CheckedArms, grid: Grid, seeds: Sequence[int], base: Path, device: str) -> str:
    """Equal for grids of which a check finds the same."""
    digest_rows = rows_digester()
    contents = {name: content_key(experiment, base, digest_rows) for name, (_, experiment) in arms.items()}
    return digest_json([contents, list(seeds), list(grid.sizes), grid.folds, device])


def read_checked(folder: Path) -> Checked | None:
    """What a folder says; None where it says nothing that can be read."""
    try:
        found: dict[str, Any] = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return Checked(str(found["key"]), int(found["rows"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_checked(folder: Path, checked: Checked) -> None:
    """Keep it for the next call."""
    text = json.dumps(asdict(checked)) + "\n"
    write_atomically(folder / _FILE, partial(Path.write_text, data=text, encoding="utf-8"))
