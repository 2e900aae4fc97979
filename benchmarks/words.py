"""What a CRF, and spans, cost in training, as ratios to tagging each word by itself.

    python benchmarks/words.py [--data ../shared/data] [--rounds 7] [--batches 4]

One step is forward + backward of `minilm` on 32 random CoNLL-2003 sentences, in training mode with the checkpoint's own
dropout; nothing is updated. All kinds share one encoder and take turns on each batch, in a new order every time; the
median over the rounds of each kind's time over that of greedy tagging is printed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from weft.model.embed import load_encoder
from weft.model.network import Network
from weft.spec import parse
from weft.tasks import Task
from weft.tensors import Batch
from weft.training.reading import read_examples

TASKS = {
    "greedy": {"kind": "tagging", "decoder": "greedy"},
    "constrained": {"kind": "tagging", "decoder": "constrained"},
    "crf": {"kind": "tagging", "decoder": "crf"},
    "spans": {"kind": "spans", "max_width": 10},
    "spans, attention": {"kind": "spans", "max_width": 10, "content": "attention"},
}
TARGETS = {"crf": 1.25}


def build(path: Path) -> Network:
    """A network with all kinds as tasks."""
    tasks = {name: parse(Task, options) for name, options in TASKS.items()}
    rows = read_examples(tasks["greedy"], path)
    source = load_encoder("minilm")
    source.encoder.pooler = None
    targets = {name: task.target().fit(row.gold for row in rows) for name, task in tasks.items()}
    return Network(source.encoder, source.tokenizer, tasks, targets).train()


def make_batches(network: Network, path: Path, count: int) -> dict[str, list[Batch]]:
    """The same random sentences for every kind."""
    rng = random.Random(0)
    rows = read_examples(network.tasks["greedy"], path)
    chosen = [rng.sample(rows, 32) for _ in range(count)]
    batches_of: dict[str, list[Batch]] = {}
    for name in network.tasks:
        tokenized = [network.encode(name, some) for some in chosen]
        batches_of[name] = [
            replace(network.collate(name, some), gold=torch.cat(network.targets[name].gold_tensors(examples, some)))
            for examples, some in zip(chosen, tokenized, strict=True)
        ]
    return batches_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batches", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    path = args.data / "conll2003" / "train.jsonl"
    network = build(path)
    batches, losses, rng = make_batches(network, path, args.batches), network.losses(), random.Random(0)
    seconds: dict[str, list[float]] = {name: [] for name in TASKS}
    for lap in range(args.rounds + 1):  # the first only warms up
        spent = dict.fromkeys(TASKS, 0.0)
        for index in range(args.batches):
            for name in rng.sample(list(TASKS), len(TASKS)):
                network.zero_grad()
                began = time.perf_counter()
                losses[name](network(batches[name][index]), batches[name][index]).backward()
                spent[name] += time.perf_counter() - began
        for name in TASKS if lap else ():
            seconds[name].append(spent[name])
    table = Table("kind", "ms per batch", "ratio to greedy", "target")
    for name in TASKS:
        ratio = statistics.median(own / base for own, base in zip(seconds[name], seconds["greedy"], strict=True))
        target = f"≤ {TARGETS[name]:.2f}×" if name in TARGETS else ""
        table.add_row(name, f"{statistics.median(seconds[name]) / args.batches * 1000:,.0f}", f"{ratio:.3f}×", target)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
