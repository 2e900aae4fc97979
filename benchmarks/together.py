"""Whether tasks that share an encoder do as well as each alone.

    python benchmarks/together.py [CONFIG] [--data ../shared/data] [--seeds 1] [--output runs/together]

Trains every task of a config alone and all of them together, with the same rows, epochs and seeds, and prints each
task's value on its report rows both ways. A difference below -0.02 is named as interference.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tomllib
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import weft

ALLOWED = -0.02


def train(config: dict[str, Any], output: Path, data: Path, seed: int) -> dict[str, Any]:
    """The tasks of a run's report; a run that is there already is not made again."""
    if not output.exists():
        weft.train(config, output, data=data, seed=seed)
    tasks: dict[str, Any] = json.loads((output / "report.json").read_text("utf-8"))["tasks"]
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    recipe = Path(__file__).parent.parent / "recipes" / "sentiment_similarity_entities.toml"
    parser.add_argument("config", type=Path, nargs="?", default=recipe)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("runs/together"))
    args = parser.parse_args()
    config = tomllib.loads(args.config.read_text("utf-8"))
    scores: dict[str, dict[str, list[float]]] = {name: {"alone": [], "together": []} for name in config["tasks"]}
    metrics: dict[str, str] = {}

    def note(way: str, tasks: dict[str, Any]) -> None:
        for name, task in tasks.items():
            metrics[name] = task["metric"]
            scores[name][way].append(task["result"]["measures"]["scores"][task["metric"]])

    for seed in range(args.seeds):
        for name, task in config["tasks"].items():
            note("alone", train({**config, "tasks": {name: task}}, args.output / f"{name}-{seed}", args.data, seed))
        note("together", train(config, args.output / f"all-{seed}", args.data, seed))
    table = Table("task", "metric", "alone", "together", "difference", "")
    for name, ways in scores.items():
        alone, together = (statistics.fmean(ways[way]) for way in ("alone", "together"))
        said = "interference" if together - alone < ALLOWED else ""
        table.add_row(name, metrics[name], f"{alone:.3f}", f"{together:.3f}", f"{together - alone:+.3f}", said)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
