"""What each conditioning method costs in training, as a ratio to `none`.

    python benchmarks/conditioning.py [--data ../shared/data] [--rounds 7] [--batches 4] [--only label_attention …]

One step is forward + backward of `minilm` with a head of five labels, on SST-5 sentences in random batches of 32, in
training mode with the checkpoint's own dropout; nothing is updated. All methods share one encoder and take turns on
each batch, in a new order every time, so that a busy machine slows all of them alike. A method's ratio in a round is
its time over that of `none`; the median over the rounds is printed.
"""

from __future__ import annotations

import argparse
import csv
import random
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from weft.conditioning import Conditioning, NetworkShape
from weft.encoder.conditioner import Conditioner
from weft.model.embed import TextEncoder, load_encoder
from weft.spec import parse
from weft.tensors import Batch, pack

TASK = "sentiment"
LABELS = ("very negative", "negative", "neutral", "positive", "very positive")
TARGETS = {"label_attention": 1.08, "task_input": 1.03, "task_qkv": 1.03, "task_projected": 1.10}
PAIR = {"kind": "combined", "methods": ["label_attention", "task_qkv"]}


def label_loss(scores: Tensor) -> Tensor:
    """The sum over labels of the loss of calling each label itself, from (L, L) scores."""
    return nn.functional.cross_entropy(scores, torch.arange(len(LABELS)), reduction="sum")


def build_methods(source: TextEncoder, only: list[str]) -> dict[str, Conditioner]:
    """Every kind from its defaults, `none` first; `combined` is label attention with task vectors."""
    shape = NetworkShape(source.encoder.config, (TASK,), {TASK: LABELS}, {TASK: label_loss})
    specs = {kind: PAIR if kind == "combined" else {"kind": kind} for kind in Conditioning.kinds()}
    names = ["none", *(kind for kind in specs if kind != "none" and (not only or kind in only))]
    return {name: parse(Conditioning, specs[name]).build(shape) for name in names}


def make_batches(count: int, data: Path, source: TextEncoder) -> list[Batch]:
    """Random batches of 32 SST-5 sentences."""
    draw = random.Random(0)
    with (data / "sst5" / "train.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["sentence"] for row in csv.DictReader(file)]
    rows = (source.tokenizer.encode(draw.sample(texts, 32), max_length=512) for _ in range(count))
    return [pack([row.ids for row in batch], task=TASK) for batch in rows]


def make_step(encoder: nn.Module, conditioner: Conditioner, head: nn.Module) -> Callable[[Batch], None]:
    """Forward and backward over one batch, the method's own loss included."""

    def step(batch: Batch) -> None:
        scores = head(encoder(batch, conditioner).first())
        loss = nn.functional.cross_entropy(scores, torch.arange(batch.rows) % len(LABELS))
        extra = conditioner.extra_loss(TASK, head)
        (loss if extra is None else loss + extra).backward()

    return step


def measure(
    steps: Mapping[str, Callable[[Batch], None]], batches: list[Batch], forget: Callable[[], None], rounds: int
) -> dict[str, list[float]]:
    """Seconds of each method in every round, after one round of warming up."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    rng = random.Random(0)
    for lap in range(rounds + 1):
        spent = dict.fromkeys(steps, 0.0)
        for batch in batches:
            for name in rng.sample(list(steps), len(steps)):
                forget()
                began = time.perf_counter()
                steps[name](batch)
                spent[name] += time.perf_counter() - began
        for name in steps if lap else ():
            seconds[name].append(spent[name])
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--only", nargs="*", default=[], metavar="KIND", help="these methods, beside none")
    args = parser.parse_args()
    torch.manual_seed(0)
    source = load_encoder("minilm")
    source.encoder.train()
    head = nn.Linear(source.encoder.config.hidden_size, len(LABELS))
    methods = build_methods(source, args.only)
    trained = nn.ModuleList([source.encoder, head, *methods.values()]).train()
    steps = {name: make_step(source.encoder, conditioner, head) for name, conditioner in methods.items()}
    seconds = measure(steps, make_batches(args.batches, args.data, source), trained.zero_grad, args.rounds)
    table = Table("method", "ms per batch", "ratio to none", "target", "added parameters per task")
    for name, conditioner in methods.items():
        ratio = statistics.median(mine / none for mine, none in zip(seconds[name], seconds["none"], strict=True))
        table.add_row(
            name,
            f"{statistics.median(seconds[name]) / args.batches * 1000:,.0f}",
            f"{ratio:.3f}×",
            f"≤ {TARGETS[name]:.2f}×" if name in TARGETS else "",
            f"{sum(parameter.numel() for parameter in conditioner.parameters()):,}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
