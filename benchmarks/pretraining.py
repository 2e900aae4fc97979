"""Tokens per second and peak memory of masked-word training, as ratios to `transformers`.

    python benchmarks/pretraining.py [--data ../shared/data] [--rounds 5] [--batches 2] [--batch-size 32]

One step makes a batch (15 % of the tokens chosen anew), runs forward and backward in training mode with the
checkpoint's own dropout, and updates with fused AdamW. Both sides begin with the encoder of `minilm` and a fresh head
tied to its word embeddings, read WikiText in rows of at most 128 tokens, and take turns on every batch, in the other
order every time; the median over the rounds is printed. Each side is fed as is usual for it:

    paragraphs  each paragraph alone, cut to 128 tokens; the same rows in the same batches on both sides, which
                `DataCollatorForLanguageModeling` pads to the longest of the batch and weft packs
    blocks      all text: transformers has it end to end in blocks of exactly 128 tokens, which cross articles; weft
                joins whole sentences of one article, so that its rows are a little shorter

Tokens are those of the rows with their special tokens, never padding. `BertForMaskedLM` scores the whole vocabulary at
every position, padding included; weft at the chosen ones only. Memory is what a step needs at most beyond the weights,
gradients and optimizer states that a first step on a single row has left behind.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from itertools import chain, cycle
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from rich.console import Console
from rich.table import Table
from torch import nn

from weft.checkpoints.source import find_folder
from weft.config.training import Batching
from weft.corpus.loading import CorpusLoader
from weft.model.embed import load_encoder
from weft.model.network import Network
from weft.spec import parse
from weft.tasks import Task
from weft.tensors import Batch
from weft.tokenization.tokenizer import Tokenizer
from weft.training.batches import plan
from weft.training.task_batches import TaskBatches

SIDES = ("weft", "transformers")
SETTINGS = {"paragraphs": "rows", "blocks": "blocks"}  # and what a document is to weft
TASK, SHARE, LENGTH, SEED = "words", 0.15, 128, 0

Feature = dict[str, list[int]]


class Learner(NamedTuple):
    """One side of the comparison."""

    first: Any  # a batch of a single row
    draw: Callable[[], Any]  # makes the next batch
    learn: Callable[[Any], int]  # updates the model with a batch; returns its tokens


def build_weft(setting: str, args: argparse.Namespace) -> Learner:
    source = load_encoder("minilm")
    spec = {"kind": "masked_words", "documents": SETTINGS[setting], "max_length": LENGTH, "mlm_probability": SHARE}
    task = parse(Task, spec)
    network = Network(source.encoder, source.tokenizer, {TASK: task}, {TASK: task.target().fit(())}).train()
    with tempfile.TemporaryDirectory() as name:  # the tokens stay mapped when it is gone
        folder, file = Path(name), text_file(args)
        if setting == "paragraphs":
            file = write_cut(file, folder / "paragraphs.txt", source.tokenizer)
        loader = CorpusLoader(source.tokenizer, source.encoder.config.max_length, folder)
        assert task.format is not None
        dataset = loader.rows(file, task.format, SEED)
        batches = TaskBatches(network, TASK, dataset, Batching(batch_size=args.batch_size), SEED)
    loss_of, optimizer = network.losses()[TASK], build_optimizer(network)

    def learn(batch: Batch) -> int:
        optimizer.zero_grad()
        loss_of(network(batch), batch).backward()
        optimizer.step()
        return len(batch.ids)

    (first, _), *_ = batches.first(1)
    return Learner(first, batches.next, learn)


def build_transformers(setting: str, args: argparse.Namespace) -> Learner:
    folder = find_folder("minilm")
    model = transformers.BertForMaskedLM.from_pretrained(folder, attn_implementation="sdpa").train()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    collate = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=SHARE)
    batches = make_features(setting, args)
    stream, optimizer = cycle(batches), build_optimizer(model)

    def learn(batch: Any) -> int:
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
        return int(batch["attention_mask"].sum())

    return Learner(collate(batches[0][:1]), lambda: collate(next(stream)), learn)


BUILDERS = {"weft": build_weft, "transformers": build_transformers}


def build_optimizer(model: nn.Module) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01, fused=True)


def text_file(args: argparse.Namespace) -> Path:
    file: Path = args.data / "wikitext" / "train.txt"
    return file


def read_paragraphs(file: Path) -> list[str]:
    return [line.strip() for line in file.read_text("utf-8").splitlines() if line.strip()]


def write_cut(file: Path, target: Path, tokenizer: Tokenizer) -> Path:
    """Paragraphs without what transformers would cut off, so that weft makes no further rows of it."""
    texts = read_paragraphs(file)
    rows = tokenizer.encode(texts, max_length=LENGTH, offsets=True)
    ends = [row.offsets[-2][1] if row.dropped else None for row in rows]  # the last token is special
    target.write_text("".join(f"{text[:end]}\n" for text, end in zip(texts, ends, strict=True)), "utf-8")
    return target


def make_features(setting: str, args: argparse.Namespace) -> list[list[Feature]]:
    """The batches of one epoch as the collator takes them; paragraphs in the same order as weft's."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(find_folder("minilm"))
    cut = {"truncation": True, "max_length": LENGTH} if setting == "paragraphs" else {"verbose": False}
    columns = dict(tokenizer(read_paragraphs(text_file(args)), return_special_tokens_mask=True, **cut))
    if setting == "blocks":
        columns = {name: in_blocks(list(chain.from_iterable(lists))) for name, lists in columns.items()}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    order = plan([LENGTH] * len(rows), Batching(batch_size=args.batch_size), SEED + zlib.crc32(TASK.encode()), 0)
    return [[rows[index] for index in batch] for batch in order]


def in_blocks(values: list[int]) -> list[list[int]]:
    """Full blocks; what is left at the end is dropped."""
    return [values[end - LENGTH : end] for end in range(LENGTH, len(values) + 1, LENGTH)]


def measure(setting: str, args: argparse.Namespace) -> dict[str, list[float]]:
    """Tokens per second of each side in every round, after one round of warming up."""
    learners = {side: BUILDERS[side](setting, args) for side in SIDES}
    speeds: dict[str, list[float]] = {side: [] for side in SIDES}
    order = SIDES
    for lap in range(args.rounds + 1):
        seconds, tokens = dict.fromkeys(SIDES, 0.0), dict.fromkeys(SIDES, 0)
        for _ in range(args.batches):
            order = order[::-1]
            for side in order:
                began = time.perf_counter()
                tokens[side] += learners[side].learn(learners[side].draw())
                seconds[side] += time.perf_counter() - began
        if setting == "paragraphs" and not lap and len(set(tokens.values())) > 1:
            raise RuntimeError(f"both sides should have read the same rows, but their tokens differ: {tokens}")
        for side in SIDES if lap else ():
            speeds[side].append(tokens[side] / seconds[side])
    return speeds


def padding(setting: str, args: argparse.Namespace) -> float:
    """The share of padding in what transformers reads."""
    lengths = [[len(row["input_ids"]) for row in batch] for batch in make_features(setting, args)]
    return 1 - sum(map(sum, lengths)) / sum(len(batch) * max(batch) for batch in lengths)


def peak_memory(side: str, setting: str, args: argparse.Namespace) -> float:
    """MiB a step needs at most, in a process of its own."""
    flags = [f"--memory={side}", f"--settings={setting}", f"--data={args.data}"]
    sizes = [f"--batches={args.batches}", f"--batch-size={args.batch_size}"]
    run = subprocess.run([sys.executable, __file__, *flags, *sizes], check=True, stdout=subprocess.PIPE, text=True)
    return float(run.stdout.split()[-1])


def run_for_memory(args: argparse.Namespace) -> None:
    learner = BUILDERS[args.memory](args.settings[0], args)
    learner.learn(learner.first)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of loading (Linux)
    before = resident("VmRSS")
    for _ in range(args.batches):
        learner.learn(learner.draw())
    sys.stdout.write(f"{resident('VmHWM') - before:.1f}\n")


def resident(name: str) -> float:
    """MiB held now (VmRSS) or at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--settings", nargs="*", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--memory", choices=SIDES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.manual_seed(SEED)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # that the head is new is known
    if args.memory:
        run_for_memory(args)
        return
    table = Table("rows", "padding", "weft tok/s", "transformers tok/s", "speed ratio", "weft MiB", "transformers MiB")
    table.add_column("memory ratio")
    for setting in args.settings:
        memory = [peak_memory(side, setting, args) for side in SIDES]
        speeds = measure(setting, args)
        ratio = statistics.median(w / t for w, t in zip(*speeds.values(), strict=True))
        table.add_row(
            setting,
            f"{padding(setting, args):.0%}",
            *(f"{statistics.median(speeds[side]):,.0f}" for side in SIDES),
            f"{ratio:.2f}×",
            *(f"{size:,.0f}" for size in memory),
            f"{memory[0] / memory[1]:.2f}×",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
