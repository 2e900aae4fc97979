"""Heads fitted with every label counting alike, or every row: accuracy and macro F1 on labels of very different size.

    python benchmarks/imbalance.py --data ../shared/data

The fifty fine labels of TREC (from 4 to 962 of 5,452 questions) and its six coarse ones (86 to 1,250), on the frozen
`minilm`; rows are drawn as they come, so small draws lack most rare labels. Each figure is the mean over draws.

    python benchmarks/imbalance.py --several --data ../shared/data

Any number of labels per row: which of four kinds of entity a sentence of CoNLL-2003 names, micro and macro F1 on 1,000
sentences of the training file that were not drawn.
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path
from statistics import mean

import torch
from sklearn.metrics import f1_score
from torch import Tensor, nn

import weft
from weft.data.formats import read_rows
from weft.losses.binary import Binary
from weft.losses.cross_entropy import CrossEntropy
from weft.training.fit import HeadRows, fit_layer


def read(file: Path, column: str) -> tuple[list[str], list[str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    return [row["sentence"] for row in rows], [row[column] for row in rows]


def vectors(texts: list[str]) -> Tensor:
    found = torch.as_tensor(weft.load_encoder("minilm", device="cpu").embed(texts))
    return nn.functional.normalize(found, dim=1).double()


def answers(loss: CrossEntropy, features: Tensor, labels: list[str], asked: Tensor) -> list[str]:
    """What a head that is fitted to these rows says of others."""
    names = sorted(set(labels))
    layer = nn.Linear(features.shape[1], len(names))
    gold = torch.tensor([names.index(label) for label in labels])
    fit_layer(layer, [HeadRows(features, gold, loss.build([labels.count(name) for name in names]))])
    return [names[index] for index in layer(asked.float()).argmax(1)]


def several(file: Path, draws: int) -> None:
    """The table for sentences with any number of labels."""
    rows = [row.columns for row in read_rows(file)]
    named = [{tag.split("-", 1)[1] for tag in row["tags"] if "-" in tag} for row in rows]
    kinds = sorted(set().union(*named))
    gold = torch.tensor([[kind in one for kind in kinds] for one in named]).double()
    known = vectors([" ".join(row["tokens"]) for row in rows])
    print("| rows | micro F1, rows alike | labels alike | macro F1, rows alike | labels alike |")
    print("|---|---|---|---|---|")
    for size in (60, 200, 1000):
        found: dict[str, list[tuple[float, float]]] = {"rows": [], "labels": []}
        for draw in range(draws):
            order = random.Random(draw).sample(range(len(rows)), size + 1000)
            learned, asked = order[:size], order[size:]
            counts = [int(count) for count in gold[learned].sum(0)]
            for way, loss in (("rows", Binary()), ("labels", Binary().balanced())):
                layer = nn.Linear(known.shape[1], len(kinds))
                fit_layer(layer, [HeadRows(known[learned], gold[learned], loss.build(counts, size))])
                said = layer(known[asked].float()) > 0
                scores = [float(f1_score(gold[asked], said, average=by, zero_division=0)) for by in ("micro", "macro")]
                found[way].append((scores[0], scores[1]))
        means = {way: [mean(column) for column in zip(*values, strict=True)] for way, values in found.items()}
        cells = [means[way][metric] for metric in (0, 1) for way in ("rows", "labels")]
        print(f"| {size:,} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--several", action="store_true", help="any number of labels per row")
    options = parser.parse_args()
    if options.several:
        several(options.data / "conll2003" / "train.jsonl", options.draws)
        return
    print("| labels | rows | accuracy, rows alike | labels alike | macro F1, rows alike | labels alike |")
    print("|---|---|---|---|---|---|")
    known = {name: vectors(read(options.data / f"trec/{name}.csv", "label")[0]) for name in ("train", "test")}
    for column in ("fine_label", "label"):
        gold = {name: read(options.data / f"trec/{name}.csv", column)[1] for name in known}
        for size in (100, 300, 1000):
            found: dict[str, list[tuple[float, float]]] = {"rows": [], "labels": []}
            for draw in range(options.draws):
                rows = random.Random(draw).sample(range(len(gold["train"])), size)
                labels = [gold["train"][row] for row in rows]
                for way, loss in (("rows", CrossEntropy()), ("labels", CrossEntropy().balanced())):
                    said = answers(loss, known["train"][rows], labels, known["test"])
                    right = mean(one == other for one, other in zip(said, gold["test"], strict=True))
                    both = sorted({*labels} & {*gold["test"]})
                    f1 = f1_score(gold["test"], said, labels=both, average="macro", zero_division=0)
                    found[way].append((right, float(f1)))
            means = {way: [mean(column) for column in zip(*values, strict=True)] for way, values in found.items()}
            cells = [means[way][metric] for metric in (0, 1) for way in ("rows", "labels")]
            print(
                f"| {len(set(gold['train']))} | {size} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
