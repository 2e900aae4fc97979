"""Scores of three tasks after every epoch, while all learn in turn and then one of them alone.

    python benchmarks/interference.py --data ../shared/data --seeds 4

Trains recipes/figures/ogada_curves.toml once per seed. After each epoch rows of all tasks are answered, also of those
that are not learning; these scores are written to docs/results/figures/ogada_curves.csv as each run ends, and seeds
that are in the file already are not run again. `python -m docs.results` makes the page and its picture from the file.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import weft
from weft.config.document import read_document
from weft.data.formats import read_rows
from weft.reports.record import RunRecord, read_record
from weft.training.selection import thin_out

TOP = Path(__file__).parent.parent
RECIPE = TOP / "recipes" / "figures" / "ogada_curves.toml"
OUTPUT = TOP / "docs" / "results" / "figures" / "ogada_curves.csv"
FIELDS = ("seed", "phase", "epoch", "task", "metric", "score")


def lines_of(record: RunRecord) -> Iterator[dict[str, Any]]:
    """A line per evaluation and task, phases counted from 1."""
    for entry in record.history:
        for task, score in entry.dev.items():
            place = {"seed": record.seed, "phase": entry.phase + 1, "epoch": entry.epoch}
            yield place | {"task": task, "metric": record.tasks[task].metric, "score": f"{score:.5f}"}


def recipe(data: Path) -> dict[str, Any]:
    """The recipe, without the dev rows that no epoch looks at: at the end a run would answer them all."""
    document = read_document(RECIPE)
    for task in document["tasks"].values():
        rows = [row.columns for row in read_rows(data / task["dev"])]
        task["dev"] = thin_out(rows, document["training"]["max_dev_rows"])
    return document


def run(data: Path, seed: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        weft.train(recipe(data), Path(folder) / "run", data=data, seed=seed)
        return list(lines_of(read_record(Path(folder) / "run")))


def read(file: Path) -> list[Mapping[str, Any]]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=4, help="1 to this number")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    rows = read(options.output)
    done = {int(row["seed"]) for row in rows}
    for seed in range(1, options.seeds + 1):
        if seed not in done:
            rows += run(options.data, seed)
            write(options.output, rows)


if __name__ == "__main__":
    main()
