"""Tokens per second and peak memory of the encoder, as ratios to `transformers`.

    python benchmarks/encoder.py [--data ../shared/data] [--rounds 7] [--batches 4]

Both sides have the same weights (`minilm`), the same texts and the same threads, and take turns within each round;
the median over the rounds is printed. Forward runs in inference mode, forward + backward in training mode with the
checkpoint's own dropout. Three mixtures of lengths:

    a  SST-5 sentences in random batches of 32
    b  log-normal lengths, mean 60 tokens, up to 350, batches of 32
    c  equal lengths of 128, batches of 32
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from rich.console import Console
from rich.table import Table

from weft.checkpoints.source import find_folder
from weft.model.embed import load_encoder
from weft.tensors import Batch, pack

Rows = list[list[int]]
SIDES = ("weft", "transformers")


def make_rows(case: str, count: int, data: Path) -> list[Rows]:
    """Batches of 32 rows of token ids."""
    draw = random.Random(0)

    def invent(length: int) -> list[int]:
        return [101, *(draw.randrange(1000, 30000) for _ in range(length - 2)), 102]

    if case == "a":
        with (data / "sst5" / "train.csv").open(encoding="utf-8", newline="") as file:
            texts = [row["sentence"] for row in csv.DictReader(file)]
        encode = load_encoder("minilm").tokenizer.encode
        return [[row.ids.tolist() for row in encode(draw.sample(texts, 32), max_length=512)] for _ in range(count)]
    if case == "b":
        spread = 0.9
        centre = math.log(60) - spread**2 / 2
        lengths = [
            [min(350, max(3, round(draw.lognormvariate(centre, spread)))) for _ in range(32)] for _ in range(count)
        ]
        return [[invent(length) for length in batch] for batch in lengths]
    return [[invent(128) for _ in range(32)] for _ in range(count)]


def pad(rows: Rows) -> dict[str, torch.Tensor]:
    longest = max(map(len, rows))
    return {
        "input_ids": torch.tensor([row + [0] * (longest - len(row)) for row in rows]),
        "attention_mask": torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows]),
    }


def make_step(side: str, backward: bool) -> tuple[Callable[[Any], None], Callable[[Rows], Any]]:
    """What one step does with a prepared batch, and how a batch is prepared."""
    if side == "weft":
        model: torch.nn.Module = load_encoder("minilm").encoder

        def first(batch: Batch) -> torch.Tensor:
            return model(batch).first()

        prepare: Callable[[Rows], Any] = pack
    else:
        model = transformers.BertModel.from_pretrained(find_folder("minilm"), attn_implementation="sdpa")

        def first(batch: dict[str, torch.Tensor]) -> torch.Tensor:  # type: ignore[misc]
            return model(**batch).last_hidden_state[:, 0]

        prepare = pad
    model.train(backward)

    def step(batch: Any) -> None:
        if not backward:
            with torch.inference_mode():
                first(batch)
            return
        model.zero_grad()
        first(batch).square().mean().backward()

    return step, prepare


def measure(rows: list[Rows], backward: bool, rounds: int) -> dict[str, list[float]]:
    """Tokens per second of each side in every round, after one round of warming up."""
    tokens = sum(len(row) for batch in rows for row in batch)
    steps = {side: make_step(side, backward) for side in SIDES}
    batches = {side: [prepare(batch) for batch in rows] for side, (_, prepare) in steps.items()}
    speeds: dict[str, list[float]] = {side: [] for side in SIDES}
    for lap in range(rounds + 1):
        for side in SIDES if lap % 2 else SIDES[::-1]:
            began = time.perf_counter()
            for batch in batches[side]:
                steps[side][0](batch)
            if lap:
                speeds[side].append(tokens / (time.perf_counter() - began))
    return speeds


def peak_memory(side: str, case: str, backward: bool, args: argparse.Namespace) -> float:
    """MiB a process needs beyond what it held once the model was loaded, in a process of its own."""
    flags = [f"--memory={side}", f"--case={case}", f"--batches={args.batches}", f"--data={args.data}"]
    command = [sys.executable, __file__, *flags, *(["--backward"] if backward else [])]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def run_for_memory(args: argparse.Namespace) -> None:
    rows = make_rows(args.case, args.batches, args.data)
    step, prepare = make_step(args.memory, args.backward)
    batches = [prepare(batch) for batch in rows]
    step(prepare([[101, 102]]))
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of loading (Linux)
    before = resident("VmRSS")
    for batch in batches:
        step(batch)
    sys.stdout.write(f"{resident('VmHWM') - before:.1f}\n")


def resident(name: str) -> float:
    """MiB held now (VmRSS) or at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--case", default="abc")
    parser.add_argument("--memory", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--backward", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    if args.memory:
        run_for_memory(args)
        return
    table = Table("lengths", "pass", "padding", "weft tok/s", "transformers tok/s", "speed ratio", "memory ratio")
    for case in args.case:
        rows = make_rows(case, args.batches, args.data)
        real = sum(len(row) for batch in rows for row in batch)
        padded = sum(len(batch) * max(map(len, batch)) for batch in rows)
        for backward in (False, True):
            speeds = measure(rows, backward, args.rounds)
            ratio = statistics.median(w / t for w, t in zip(*speeds.values(), strict=True))
            memory = [peak_memory(side, case, backward, args) for side in SIDES]
            table.add_row(
                case,
                "forward + backward" if backward else "forward",
                f"{1 - real / padded:.0%}",
                *(f"{statistics.median(speeds[side]):,.0f}" for side in SIDES),
                f"{ratio:.2f}×",
                f"{memory[0] / memory[1]:.2f}×",
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
