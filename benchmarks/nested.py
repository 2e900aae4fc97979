"""How many entities inside others a model finds: spans beside a flat tagger, on the nested GENIA sample.

    weft train recipes/genia_nested.toml --data ../shared/data --output runs/genia_spans
    weft train recipes/genia_flat.toml   --data ../shared/data --output runs/genia_flat
    python benchmarks/nested.py runs/genia_spans runs/genia_flat [--data ../shared/data]

Both are held against all gold entities of the test part, nested ones included; the tagger was trained on the longest
entities only, since tags cannot say more.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

import weft
from weft import Prediction, Span
from weft.metrics.spans import nested_recall
from weft.model.predict import predict
from weft.spec import parse
from weft.targets.base.annotations import annotation_outcomes, gold_spans
from weft.tasks import Task
from weft.training.reading import read_examples

TASK = "entities"


def spans_of(prediction: Prediction) -> list[Span]:
    """What was found, as gold is written."""
    return [span.gold for span in prediction.spans or ()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    args = parser.parse_args()
    rows = read_examples(parse(Task, {"kind": "spans"}), args.data / "genia_nested" / "test.jsonl")
    gold = [gold_spans(row) for row in rows]
    labels = tuple(sorted({label for spans in gold for *_, label in spans}))
    table = Table("model", "F1", "precision", "recall", "recall inside others", "holding others", "all other")
    for folder in args.models:
        network = weft.load(folder).network
        answers = [answer.predictions[TASK] for answer in predict(network, ({TASK: row} for row in rows))]
        outcomes = annotation_outcomes(gold, answers, range(len(rows)), labels)
        nested = nested_recall(gold, [spans_of(answer) for answer in answers])
        numbers = [
            *(outcomes.measure(metric)[0] for metric in ("f1", "precision", "recall")),
            *(nested[k] for k in ("inside", "outside", "flat")),
        ]
        table.add_row(folder.name, *(f"{number:.3f}" for number in numbers))
    counts = nested_recall(gold, gold)
    sizes = (f"{counts[f'{part}_support']:,.0f} gold" for part in ("inside", "outside", "flat"))
    table.add_row("", "", "", "", *sizes)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
