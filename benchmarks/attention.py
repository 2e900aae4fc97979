"""Where the first token of the last layer looks in urgent messages, plainly trained and with label attention.

    python benchmarks/attention.py --seeds 4

Trains both variants of recipes/figures/wang_figure2.toml once per seed and inspects the urgent messages of the demo's
test file, all of which are invented. A run's weights of their words are a column of wang_figure2.csv in
docs/results/figures, its answers one of wang_figure2_answers.csv; runs that are in the files already are not made
again. `python -m docs.results` makes the page and its pictures from these files.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import weft
from weft.comparison.arms import Arm, make_arms
from weft.comparison.grid import read_grid
from weft.data.formats import read_rows
from weft.model.inspection import Inspection

TOP = Path(__file__).parent.parent
RECIPE = TOP / "recipes" / "figures" / "wang_figure2.toml"
FOLDER = TOP / "docs" / "results" / "figures"
Table = dict[tuple[str, ...], dict[str, str]]  # what a line is about, and the cells of the runs


def word_cells(line: int, text: str, inspection: Inspection) -> dict[tuple[str, ...], str]:
    """The weight of every word of a message, by line, characters and word."""
    return {
        (str(line), str(word.start), str(word.end), text[word.start : word.end]): f"{word.attention:.4f}"
        for word in inspection.words
    }


def run(arm: Arm, seed: int, data: str, messages: Mapping[int, str]) -> dict[int, Inspection]:
    """What a model that learned with a seed looked at in each message."""
    with tempfile.TemporaryDirectory() as folder:
        model = weft.train(arm.at(seed), Path(folder) / "run", data=data)
    return {line: model.inspect(text, task="urgency", leave_words_out=False) for line, text in messages.items()}


def urgent_messages(file: Path) -> dict[int, str]:
    """The urgent messages of a file by their lines."""
    return {row.line: row.columns["message"] for row in read_rows(file) if row.columns["urgency"] == "urgent"}


def read(file: Path, keys: int) -> Table:
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as opened:
        header, *lines = csv.reader(opened)
    return {tuple(line[:keys]): dict(zip(header[keys:], line[keys:], strict=True)) for line in lines}


def write(file: Path, names: Sequence[str], found: Table) -> None:
    runs = list(dict.fromkeys(run for cells in found.values() for run in cells))
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow([*names, *runs])
        writer.writerows([*about, *(cells[run] for run in runs)] for about, cells in found.items())


def add(found: Table, name: str, cells: Mapping[tuple[str, ...], Any]) -> None:
    for about, cell in cells.items():
        found.setdefault(about, {})[name] = cell


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="1 to this number")
    parser.add_argument("--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    grid = read_grid(RECIPE)
    data = grid.base["data"]
    messages = urgent_messages(Path(data) / grid.base["tasks"]["urgency"]["test"])
    weights, answers = options.output / "wang_figure2.csv", options.output / "wang_figure2_answers.csv"
    words, said = read(weights, 4), read(answers, 1)
    for seed in range(1, options.seeds + 1):
        for arm in make_arms(grid):
            name = f"{arm.name} {seed}"
            if any(name in cells for cells in words.values()):
                continue
            for line, inspection in run(arm, seed, data, messages).items():
                add(words, name, word_cells(line, messages[line], inspection))
                add(said, name, {(str(line),): str(inspection.prediction.gold)})
            write(weights, ("line", "start", "end", "word"), words)
            write(answers, ("line",), said)


if __name__ == "__main__":
    main()
