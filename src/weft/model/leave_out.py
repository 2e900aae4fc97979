"""What becomes of an answer when words are left out of the text, one at a time: a row for each, in packed batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil

from weft.data.records import Input
from weft.model.network import Network
from weft.model.predict import predict

MOST_VARIANTS = 64  # of a text; of longer ones, neighbouring words are left out together

PlacedWord = tuple[int, int, int]  # the number of its text, and its characters [start, end)


@dataclass(frozen=True)
class LeftOut:
    """How far an answer falls without each word, in the order of the words, negative where it rises."""

    drops: list[float | None]  # None where nobody asked, there was nothing to lose, or the kind of answer cannot say
    together: int = 1  # words left out at a time

    @classmethod
    def nothing(cls, words: int) -> LeftOut:
        """No word was left out."""
        return cls([None] * words)


@dataclass(frozen=True)
class Variant:
    """An input without some of its characters."""

    input: Input
    kept: list[int]  # for each character of the shortened text, where it stands in the whole one


def leave_out(network: Network, task: str, input: Input, words: Sequence[PlacedWord]) -> LeftOut:
    """How far the answer of a task falls when each word is left out: its probability, or for numbers the number.

    What is asked is the text as if it had been written without the word, so in a text that was cut, words that did not
    fit may move up. Beyond 64 words of a text, as many neighbours are left out together as needed, and each of them
    has the whole effect.
    """
    groups, together = _group(words)
    variants = [without(input, group[0][0], group[0][1], group[-1][2]) for group in groups]
    whole, *others = predict(network, ({task: asked} for asked in (input, *(variant.input for variant in variants))))
    target, prediction = network.targets[task], whole.predictions[task]
    if prediction.spans == ():
        return LeftOut.nothing(len(words))
    before = target.support(prediction, prediction, range(len(input.texts[0])))
    drops: list[float | None] = []
    for group, variant, other in zip(groups, variants, others, strict=True):
        after = target.support(prediction, other.predictions[task], variant.kept)
        drops += [None if before is None or after is None else before - after] * len(group)
    return LeftOut(drops, together)


def without(input: Input, text: int, start: int, end: int) -> Variant:
    """An input whose `text`th text lacks the characters [start, end) and the blanks before them, or else after."""
    whole = input.texts[text]
    start = len(whole[:start].rstrip())
    if start == 0:
        end = len(whole) - len(whole[end:].lstrip())
    texts = (*input.texts[:text], whole[:start] + whole[end:], *input.texts[text + 1 :])

    def moved(index: int) -> int:
        return min(index, start) if index < end else index - (end - start)

    spans = [(moved(first), moved(stop)) for first, stop in input.words or ()]
    words = None if input.words is None else tuple((first, stop) for first, stop in spans if first < stop)
    return Variant(replace(input, texts=texts, words=words), [*range(start), *range(end, len(whole))])


def _group(words: Sequence[PlacedWord]) -> tuple[list[list[PlacedWord]], int]:
    """The words that are left out together, neighbours of one text, and how many they are at most."""
    by_text = [list(some) for _, some in groupby(words, lambda word: word[0])]
    together = max((ceil(len(some) / MOST_VARIANTS) for some in by_text), default=1)
    return [some[i : i + together] for some in by_text for i in range(0, len(some), together)], together
