"""Seconds of training of weft's defaults and of SetFit's two recipes, with 8, 16 and 64 labels per class.

    pip install setfit==1.2.0
    python benchmarks/few_labels_seconds.py

For a machine that does nothing else. weft is trained in full; of SetFit, which would take hours, some steps are timed
between weft's runs, and a recipe takes as many of the median step as its trainer counts (its loading, its pairs and its
head are left out). Each measure is written as it ends, so that a long run can be interrupted and goes on.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

from few_labels import SETS, Job, done, draw, read, record, setfit, weft_run

STEPS, FIRST = 25, 5  # timed, and not counted among them: a model is slow at first
RECIPES: dict[str, dict[str, Any]] = {"setfit_paper": {"num_iterations": 20}, "setfit_default": {}}
BATCH = 16


def pairs(labels: list[str], num_iterations: int = 0) -> int:
    """How many pairs of texts a recipe learns from: as many of one label as of two."""
    if num_iterations:
        return 2 * num_iterations * len(labels)
    counts = [labels.count(label) for label in set(labels)]
    alike = sum(count * (count + 1) // 2 for count in counts)  # a text is also a pair with itself
    return 2 * max(alike, len(labels) * (len(labels) + 1) // 2 - alike)


def seconds_of_a_step(job: Job) -> float:
    """The median step of SetFit on these rows."""
    from transformers import TrainerCallback

    ends: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            ends.append(time.perf_counter())

    setfit(job, callbacks=[Clock()], num_iterations=20, max_steps=FIRST + STEPS)
    return median(after - before for before, after in zip(ends[FIRST - 1 :], ends[FIRST:], strict=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("docs/results/few_labels/seconds"))
    parser.add_argument("--sets", nargs="+", default=[name for name, of in SETS.items() if len(of.texts) == 1])
    parser.add_argument("--per-class", nargs="+", type=int, default=[8, 16, 64])
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for per_class in options.per_class:
        for seed in range(1, options.seeds + 1):
            for name in options.sets:
                cells = (name, str(per_class), str(seed))
                if cells in done(options.output / "weft.csv"):
                    continue
                train = draw(read(options.data / name / "train.csv", SETS[name].texts), per_class, seed)
                job = Job(SETS[name], train, train[:1], seed)
                step = seconds_of_a_step(job)
                for recipe, settings in RECIPES.items():
                    took = step * -(-pairs(job.labels, **settings) // BATCH)
                    record(options.output / f"{recipe}.csv", *cells, 0, f"{took:.1f}", "")
                took, _ = weft_run(job)
                record(options.output / "weft.csv", *cells, 0, f"{took:.1f}", "")
                print(f"{name}, {per_class} per class: weft {took:.1f} s; a step of SetFit {step:.3f} s", flush=True)


if __name__ == "__main__":
    main()
