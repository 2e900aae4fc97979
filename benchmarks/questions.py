"""Several questions about the same texts: the time of learning them in one pass of the encoder, and in a pass each.

    python benchmarks/questions.py

One epoch on the demo's messages with two and three tasks. Apart, each task has the messages in another order, so
that nothing can be shared. Interleaved, the ratio of each round, its median.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import weft
from weft.demo import FOLDER

TASKS: dict[str, dict[str, Any]] = {
    "urgency": {"kind": "classification", "label": "urgency"},
    "acknowledgement": {"kind": "classification", "label": "acknowledgement"},
    "findings": {"kind": "spans"},
}


def seconds(names: list[str], apart: bool) -> float:
    """Of one epoch, without measuring anything."""
    messages = [json.loads(line) for line in (FOLDER / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    tasks = {}
    for place, name in enumerate(names):
        shift = place if apart else 0
        tasks[name] = {**TASKS[name], "text": "message", "train": messages[shift:] + messages[:shift], "dev": 0}
    settings = {"epochs": 1, "batch_size": 16, "baselines": False, "gradient_agreement": False}
    with tempfile.TemporaryDirectory() as place_:
        began = time.perf_counter()
        weft.train({"tasks": tasks, "phases": [{}], "training": settings}, f"{place_}/model", callback=weft.Callback())
        whole = time.perf_counter() - began
        record = json.loads((Path(place_) / "model" / "report.json").read_text(encoding="utf-8"))
    return float(record["seconds"] or whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| questions | together, s | apart, s | ratio |")
    print("|---|---|---|---|")
    for count in (2, 3):
        names = list(TASKS)[:count] if count < 3 else list(TASKS)
        rounds = [(seconds(names, False), seconds(names, True)) for _ in range(options.rounds)]
        together, apart = (median(column) for column in zip(*rounds, strict=True))
        ratio = median(there / here for here, there in rounds)
        print(f"| {count} | {together:.1f} | {apart:.1f} | {ratio:.2f}× |", flush=True)


if __name__ == "__main__":
    main()
