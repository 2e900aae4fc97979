"""How much time products in single precision take by oneDNN, as a ratio to those of torch itself.

    python benchmarks/products.py [--data ../shared/data] [--rounds 7]

First one product of each shape of a layer, forward and both gradients; then SST-5 sentences in batches of 16 through
`minilm`: answers, and whole training steps. Both ways take turns within each round; the median over rounds is printed.
`weft` takes oneDNN where `encoder/linear.py` says so; here both are measured whatever the processor.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from weft.encoder import linear
from weft.model.embed import load_encoder
from weft.tensors import pack

SHAPES = ((384, 384), (384, 1536), (1536, 384))
ROWS, BATCHES = 16, 8


def ratio(run: Callable[[], object], rounds: int, repeats: int = 1) -> tuple[float, float, float]:
    """Seconds by torch over seconds by oneDNN: the median over rounds, the least, the most."""
    found = []
    for turn in range(rounds + 1):
        seconds = {}
        for onednn in (turn % 2 == 0, turn % 2 == 1):
            linear.onednn_is_quicker = lambda onednn=onednn: onednn  # type: ignore[assignment,misc]
            began = time.perf_counter()
            for _ in range(repeats):
                run()
            seconds[onednn] = time.perf_counter() - began
        found.append(seconds[False] / seconds[True])
    found = found[1:]  # the first round warms up
    return statistics.median(found), min(found), max(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    table = Table("what", "oneDNN's speed", "rounds from", "to")

    def measured(name: str, run: Callable[[], object], repeats: int = 1) -> None:
        table.add_row(name, *(f"{number:.2f}×" for number in ratio(run, options.rounds, repeats)))

    for inputs, outputs in SHAPES:
        x, weight = torch.randn(400, inputs, requires_grad=True), torch.randn(outputs, inputs, requires_grad=True)
        into = torch.randn(400, outputs)
        measured(
            f"400 × {inputs} → {outputs}",
            lambda x=x, weight=weight, into=into: linear.linear(x, weight).backward(into),  # type: ignore[misc]
            50,
        )

    with (options.data / "sst5" / "train.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["sentence"] for row in csv.DictReader(file)]
    loaded = load_encoder("minilm", device="cpu")
    draw = random.Random(0)
    batches = [
        pack([row.ids for row in loaded.tokenizer.encode(draw.sample(texts, ROWS), max_length=512)])
        for _ in range(BATCHES)
    ]
    encoder = loaded.encoder
    encoder.embeddings.requires_grad_(False)
    optimizer = torch.optim.AdamW(encoder.blocks.parameters(), lr=1e-9, fused=True)

    def answers() -> None:
        with torch.no_grad():
            for batch in batches:
                encoder(batch)

    def steps() -> None:
        for batch in batches:
            encoder(batch).tokens.square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

    encoder.eval()
    measured("minilm, answers", answers)
    encoder.train()
    measured("minilm, training steps", steps)
    Console().print(table)


if __name__ == "__main__":
    main()
