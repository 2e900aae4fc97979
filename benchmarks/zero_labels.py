"""How far label names alone go: accuracy and log loss of zero-label answers, by scale and by wording.

    python benchmarks/zero_labels.py [--data ../shared/data]

Measured on the training rows of each set, which nothing has learned from: the scale and the wording are chosen here, so
no test row may be looked at. `others` is the log loss at the scale that the other sets would have chosen.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import weft
from weft.data.formats import read_rows
from weft.data.label_words import label_words

SETS: Mapping[str, Mapping[str, str]] = {  # descriptions, where the labels are no words
    "banking77": {},
    "symptom2disease": {},
    "medical_abstracts": {},
    "trec": {},
    "trec, described": {
        "ABBR": "abbreviation",
        "DESC": "description or definition",
        "ENTY": "entity or thing",
        "HUM": "person or group of people",
        "LOC": "location or place",
        "NUM": "number, date or amount",
    },
    "sst5, described": {"0": "very negative", "1": "negative", "2": "neutral", "3": "positive", "4": "very positive"},
}
TEMPLATES = ("{}", "{}.", "This text is about {}.", "This example is {}.", "The topic is {}.", "a message about {}")
SCALES = (1, 2, 3, 5, 7, 10, 12, 14, 16, 18, 20, 22, 25, 30, 35, 40, 50, 70, 100)
Numbers = NDArray[np.float64]


def log_loss(cosines: Numbers, gold: NDArray[np.int64], scale: float) -> float:
    """The mean negative log of the probability given to the right label; cosines (rows, L)."""
    scores = cosines * scale
    top = scores.max(1, keepdims=True)
    norm = top[:, 0] + np.log(np.exp(scores - top).sum(1))
    return float((norm - scores[np.arange(len(gold)), gold]).mean())


def measure(encoder: weft.TextEncoder, vectors: Numbers, gold: NDArray[np.int64], words: Sequence[str]) -> Numbers:
    """Accuracy, then the log loss at each scale."""
    cosines = vectors @ encoder.embed(words, normalize=True).astype(np.float64).T
    accuracy = float((cosines.argmax(1) == gold).mean())
    return np.array([accuracy, *(log_loss(cosines, gold, scale) for scale in SCALES)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--encoder", default="minilm")
    args = parser.parse_args()
    encoder = weft.load_encoder(args.encoder)
    found: dict[str, Numbers] = {}  # by set: (templates, 1 + scales)
    facts: dict[str, tuple[int, int, float]] = {}  # rows, labels, share of the most frequent label
    embedded: dict[Path, Numbers] = {}
    for name, descriptions in SETS.items():
        file = args.data / name.partition(",")[0] / "train.csv"
        rows = [row.columns for row in read_rows(file)]
        if file not in embedded:
            texts = [row["sentence"] for row in rows]
            embedded[file] = np.asarray(encoder.embed(texts, normalize=True), np.float64)
        labels = sorted({row["label"] for row in rows})
        gold = np.array([labels.index(row["label"]) for row in rows])
        words = [descriptions.get(label) or label_words(label) for label in labels]
        measured = [measure(encoder, embedded[file], gold, [t.format(w) for w in words]) for t in TEMPLATES]
        found[name] = np.array(measured)
        facts[name] = len(rows), len(labels), max(Counter(gold.tolist()).values()) / len(rows)
    show(found, facts)


def show(found: Mapping[str, Numbers], facts: Mapping[str, tuple[int, int, float]]) -> None:
    """Three tables: accuracy by wording, log loss by scale, and what the scale costs each set."""
    console = Console(width=160)
    table = Table("accuracy", "rows", "labels", "majority", *TEMPLATES)
    for name, values in found.items():
        rows, labels, majority = facts[name]
        table.add_row(name, f"{rows:,}", str(labels), f"{majority:.3f}", *(f"{v:.3f}" for v in values[:, 0]))
    table.add_row("mean", "", "", "", *(f"{v:.3f}" for v in np.mean([v[:, 0] for v in found.values()], 0)))
    console.print(table)
    bare = {name: values[0, 1:] for name, values in found.items()}
    mean = np.mean(list(bare.values()), 0)
    table = Table("scale", *found, "mean", title="log loss, bare label")
    for place, scale in enumerate(SCALES):
        table.add_row(str(scale), *(f"{values[place]:.3f}" for values in bare.values()), f"{mean[place]:.3f}")
    console.print(table)
    table = Table(
        "set", "uniform", "own best scale", "log loss", "scale of all", "log loss", "of the others", "log loss"
    )
    best = int(mean.argmin())
    for name, values in bare.items():
        others = int(np.mean([v for other, v in bare.items() if other != name], 0).argmin())
        own = int(values.argmin())
        cells = [(SCALES[place], values[place]) for place in (own, best, others)]
        table.add_row(name, f"{np.log(facts[name][1]):.3f}", *(c for s, v in cells for c in (str(s), f"{v:.3f}")))
    console.print(table)


if __name__ == "__main__":
    main()
