"""Where the first token of the last layer looked in urgent messages: a page, and painted messages.

    line, start, end, word, plain 1, …     the weight of each word of a message of the demo's test file, by run
    line, plain 1, …                       the run's answer

What a run looked at is held against what people marked in the same messages.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from docs.results.draws import resamples, table
from docs.results.painted import PaintedWord, painted
from docs.results.pictures import by_itself
from docs.results.recipe import Recipe, head
from weft.comparison.crossed import PairedDifference, paired_difference
from weft.comparison.resampling import RunScores
from weft.data.formats import read_rows
from weft.demo import FOLDER as DEMO
from weft.metrics.classification import Floats
from weft.reports.comparison_sentences import points

LOOKED_FOR = "symptom"  # the kind of marked spans
ROUNDING = 1e-9
SHOWN = 3  # messages, the first ones of the file: none was picked for how it looks


@dataclass(frozen=True)
class Message:
    """A message of R words and the weights of S runs of each variant."""

    line: int
    text: str
    words: Sequence[tuple[int, int]]  # (R, 2) characters [start, end)
    marked: Sequence[bool]  # (R,) whether people marked it
    weights: Mapping[str, Floats]  # by variant, (S, R)
    answers: Mapping[str, Sequence[str]]  # by variant, of each run

    def on_marked(self, variant: str) -> Floats:
        """The share of all attention that falls on marked words, (S,)."""
        found: Floats = self.weights[variant][:, np.array(self.marked)].sum(1)
        return found

    def on_words(self, variant: str) -> Floats:
        """The share that falls on words, (S,); the rest is on special tokens."""
        found: Floats = self.weights[variant].sum(1)
        return found


@dataclass(frozen=True)
class Share:
    """A share of a run's attention, message by message."""

    name: str
    of: Callable[[Message, str], Floats]  # (S,)


SHARES = (
    Share("words of symptoms", Message.on_marked),
    Share("other words", lambda message, variant: message.on_words(variant) - message.on_marked(variant)),
    Share("special tokens", lambda message, variant: 1 - message.on_words(variant)),
    Share(
        "symptoms, of what falls on words",
        lambda message, variant: message.on_marked(variant) / message.on_words(variant),
    ),
)


@dataclass(frozen=True)
class Looks:
    """All messages, as both variants looked at them with the same seeds."""

    messages: Sequence[Message]

    @property
    def variants(self) -> tuple[str, str]:
        first, second = self.messages[0].weights
        return first, second

    @property
    def seeds(self) -> int:
        return len(self.messages[0].weights[self.variants[0]])

    @cached_property
    def differences(self) -> list[PairedDifference]:
        """The second variant against the first, of each share."""
        drawn = resamples(len(self.messages))
        first, second = self.variants
        return [paired_difference(self._scores(one, second), self._scores(one, first), drawn) for one in SHARES]

    def shares(self, share: Share, variant: str) -> Floats:
        """(S, messages)"""
        return np.stack([share.of(message, variant) for message in self.messages], 1)

    def same_strongest(self) -> int:
        """In how many messages both variants look most at the same word."""
        strongest = [{int(one.weights[name].mean(0).argmax()) for name in self.variants} for one in self.messages]
        return sum(len(words) == 1 for words in strongest)

    def urgent(self, variant: str) -> str:
        """How many messages a variant answers as urgent, from the seed with the fewest to that with the most."""
        by_seed = zip(*(message.answers[variant] for message in self.messages), strict=True)
        counts = sorted(answers.count("urgent") for answers in by_seed)
        return f"{counts[0]} to {counts[-1]}"

    def _scores(self, share: Share, variant: str) -> RunScores:
        values = self.shares(share, variant)
        return RunScores(values.mean(1), values @ resamples(values.shape[1]).rows.T / values.shape[1])


def read_looks(weights: Path, answers: Path, test: Path = DEMO / "test.jsonl") -> Looks:
    """What runs looked at and answered, and what is marked in the same messages."""
    rows = {row.line: row.columns for row in read_rows(test)}
    by_line: dict[int, list[dict[str, str]]] = {}
    for cells in _read(weights):
        by_line.setdefault(int(cells["line"]), []).append(cells)
    said = {int(cells.pop("line")): cells for cells in _read(answers)}
    return Looks([_message(line, cells, said[line], rows[line]) for line, cells in by_line.items()])


def _read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def _message(
    line: int, cells: Sequence[Mapping[str, str]], said: Mapping[str, str], row: Mapping[str, object]
) -> Message:
    text, spans = str(row["message"]), row["spans"]
    assert isinstance(spans, list)
    words = [(int(cell["start"]), int(cell["end"])) for cell in cells]
    if [text[start:end] for start, end in words] != [cell["word"] for cell in cells]:
        raise ValueError(f"the message in line {line} is not the one whose words were weighed; weigh them again")
    marks = [(start, end) for start, end, label in spans if label == LOOKED_FOR]
    marked = [any(a < end and b > start for start, end in marks) for a, b in words]
    runs = {name: name.rpartition(" ")[0] for name in said}
    weights = {
        variant: np.array([[float(cell[name]) for cell in cells] for name in runs if runs[name] == variant])
        for variant in runs.values()
    }
    answers = {variant: [said[name] for name in runs if runs[name] == variant] for variant in weights}
    return Message(line, text, words, marked, weights, answers)


def attention_files(recipe: Recipe, folder: Path) -> dict[str, str]:
    """The page of a recipe whose CSV files are there, and its painted messages, by file name."""
    looks = read_looks(folder / f"{recipe.name}.csv", folder / f"{recipe.name}_answers.csv")
    files = {}
    for message in looks.messages[:SHOWN]:
        for variant in looks.variants:
            name = f"{recipe.name}_{message.line}_{variant.replace(' ', '_')}.svg"
            files[name] = by_itself(_paint(message, variant))
    return {f"{recipe.name}.md": _page(recipe, looks, list(files))} | files


def _page(recipe: Recipe, looks: Looks, pictures: Sequence[str]) -> str:
    pairs = zip(looks.messages[:SHOWN], pictures[::2], pictures[1::2], strict=True)
    first, second = looks.variants
    shown = [f"![{first}, line {one.line}]({a}) ![{second}, line {one.line}]({b})" for one, a, b in pairs]
    seeds = f"{looks.seeds} seeds"
    marked = fmean(fmean(message.marked) for message in looks.messages)
    every = (
        f"Shares of the first token's attention in the last layer, the mean over its heads, over all "
        f"{len(looks.messages)} urgent messages of the test file and over {seeds} (lowest to highest seed). Words of "
        f"symptoms are those that the demo's spans of this kind mark, {100 * marked:.0f} % of a message's words. "
        f"The word with the largest share, by the mean over the seeds, is the same for both in "
        f"{looks.same_strongest()} messages; {first} answers {looks.urgent(first)} of all as urgent, {second} "
        f"{looks.urgent(second)}."
    )
    how = (
        "A word's ground and its line show its share, the mean over the seeds; equal shades are equal shares in both "
        "pictures of a message. Bold are the words of symptoms, which no model was told of. Shown are the first "
        f"{len(shown)} urgent messages of the test file, on a narrow screen one below the other."
    )
    told = (
        "The difference is that of the same seeds on the same messages; intervals are over other seeds and other "
        "messages at once ([how](../../statistics.md)), each line by itself. What attention says and what it does not: "
        "[reading attention pages](../../inspect.md)."
    )
    parts = [
        *head(recipe, f"{seeds} of each"),
        "## Painted",
        how,
        *shown,
        "## Measured",
        every,
        table([*share_lines(looks)]),
        told,
    ]
    return "\n\n".join(parts) + "\n"


def share_lines(looks: Looks) -> Iterator[list[str]]:
    heads = ("difference (points)", "95 % interval", "more with how many seeds", "in how many messages")
    yield ["attention on", *looks.variants, *heads]
    yield ["---", *["---:"] * 6]
    for share, found in zip(SHARES, looks.differences, strict=True):
        before, after = (looks.shares(share, variant) for variant in looks.variants)
        cells = [f"{one.mean():.3f} ({one.mean(1).min():.3f} to {one.mean(1).max():.3f})" for one in (before, after)]
        ends = f"{points(found.low)} to {points(found.high)}"
        more = [(values > ROUNDING).sum() for values in ((after - before).mean(1), (after - before).mean(0))]
        counts = [f"{count} of {whole}" for count, whole in zip(more, after.shape, strict=True)]
        yield [share.name, *cells, points(found.mean), ends, *counts]


def _paint(message: Message, variant: str) -> str:
    means = {name: weights.mean(0) for name, weights in message.weights.items()}
    most = max(float(weights.max()) for weights in means.values())
    words = [
        PaintedWord(start, end, float(share), marked)
        for (start, end), share, marked in zip(message.words, means[variant], message.marked, strict=True)
    ]
    symptoms, others, special = (f"{100 * share.of(message, variant).mean():.0f} %" for share in SHARES[:3])
    answers = message.answers[variant]
    notes = (
        f"symptoms {symptoms}, other words {others}",
        f"special tokens {special}; urgent to {answers.count('urgent')} of {len(answers)} models",
    )
    return painted(message.text, words, most, variant, notes)
