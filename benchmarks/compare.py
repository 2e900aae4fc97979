"""What `weft compare` costs beyond the training itself, and how soon a finished grid answers.

    python benchmarks/compare.py --data ../shared/data

Two variants and eight seeds on 300 TREC questions. The bare training time is that of the same sixteen runs through
`weft.train` in one warm process, each with its own loading and reports; the grid is one call of the command in a
process of its own, from nothing to the page. Bare runs and the grid take turns.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tomli_w

import weft

VARIANTS: dict[str, dict[str, Any]] = {"plain": {}, "label attention": {"conditioning": {"kind": "label_attention"}}}


def base(data: Path, rows: int) -> dict[str, Any]:
    task = {"kind": "classification", "train": "trec/train.csv", "test": "trec/test.csv", "limit": rows}
    return {
        "data": str(data.resolve()),
        "tasks": {"question": {**task, "text": "sentence", "label": "label"}},
        "training": {"epochs": 3, "learning_rate": 1e-4, "head_learning_rate": 1e-3},
    }


def bare(config: dict[str, Any], seeds: int, folder: Path) -> float:
    """Seconds of all runs, one after the other."""
    began = time.perf_counter()
    for seed in range(1, seeds + 1):
        for name, change in VARIANTS.items():
            weft.train({**config, **change, "seed": seed}, folder / f"{name} {seed}", callback=weft.Callback())
    return time.perf_counter() - began


def command(grid: Path, output: Path) -> float:
    """Seconds of one call of the command."""
    began = time.perf_counter()
    arguments = [sys.executable, "-m", "weft", "compare", str(grid), "--output", str(output)]
    subprocess.run(arguments, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    config = base(options.data, options.rows)
    grid = {"base": config, "variants": VARIANTS, "seeds": options.seeds, "metric": "accuracy"}
    ratios, again = [], []
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "grid.toml"
        file.write_text(tomli_w.dumps(grid), encoding="utf-8")
        bare(config, 1, Path(place) / "warm")  # so that both begin with files in memory
        for number in range(options.rounds):
            trained = bare(config, options.seeds, Path(place) / f"bare{number}")
            shutil.rmtree(Path(place) / f"bare{number}")
            whole = command(file, Path(place) / f"grid{number}")
            again.append(command(file, Path(place) / f"grid{number}"))
            ratios.append(whole / trained)
            print(f"bare {trained:.1f} s, grid {whole:.1f} s: {ratios[-1]:.3f}; again {again[-1]:.2f} s", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}, finished grid {statistics.median(again):.2f} s")


if __name__ == "__main__":
    main()
