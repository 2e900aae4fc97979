"""The score that stands for an answer, from which gradients are asked when a model is looked into."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from weft.data.records import Prediction
from weft.errors import ConfigError
from weft.layers.candidates import place_of
from weft.layers.words import first_of_words, mean_by_word
from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.targets.score import ScoreTarget
from weft.targets.spans import SpansTarget
from weft.targets.tags import TagsTarget
from weft.tensors import Scores
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.words import word_range


def check_explicable(task: str, target: Target) -> None:
    """Raise a ConfigError for answers of which it is not known what their score is."""
    known = (LabelTarget, LabelsTarget, ScoreTarget, TagsTarget, SpansTarget)
    if not isinstance(target, known):
        raise ConfigError(f"the answers of the task {task!r} cannot be inspected; labels, scores, tags and spans can")


def explained_score(target: Target, scores: Tensor, prediction: Prediction) -> tuple[tuple[str, ...], Tensor]:
    """The labels that were given and their score, as a scalar, from scores (1, O); the number itself where that is all.

    Where one score stands for two labels, that of the first label is its negative. Where any number of labels may be
    given, their scores are added; where none was, the likeliest stands for them.
    """
    if isinstance(target, LabelTarget):
        label: str = prediction["label"]
        place = target.labels.index(label)
        if scores.shape[1] == 1:
            return (label,), scores[0, 0] if place else -scores[0, 0]
        return (label,), scores[0, place]
    if isinstance(target, LabelsTarget):
        given = prediction["labels"] or [target.labels[int(scores[0].argmax())]]
        return tuple(given), scores[0, [target.labels.index(label) for label in given]].sum()
    return (), scores[0, 0]


def explained_marks(
    target: TagsTarget | SpansTarget, scores: Scores, prediction: Prediction, tokenized_example: TokenizedExample
) -> tuple[tuple[str, ...], Tensor]:
    """The labels of the marks that were given, and the sum of their scores, as a scalar.

    The score of a tag is that of the chosen tag at each word of the mark; that of a span its label's. Where nothing was
    marked, the highest score that speaks for a mark stands for them; where there are no words, there is nothing.
    """
    if not len(tokenized_example.by_word):
        return (), scores.values.sum()
    if isinstance(target, SpansTarget):
        values, rows, columns = scores.values, *_given_spans(target, prediction, tokenized_example)
        names = ("", *target.labels)
    else:
        values, rows, columns = _given_tags(target, scores, prediction, tokenized_example)
        names = tuple(tag.partition("-")[2] for tag in target.tags)
    if prediction:
        return tuple(dict.fromkeys(one["label"] for one in prediction)), values[rows, columns].sum()
    highest = values[:, 1:].max()  # score 0 is that of no mark
    column = int((values[:, 1:] == highest).nonzero()[0, 1]) + 1
    return (names[column],), highest


def _given_spans(
    target: SpansTarget, prediction: Prediction, tokenized_example: TokenizedExample
) -> tuple[list[int], list[int]]:
    """Where the scores of given spans stand: which candidates, which labels."""
    words = len(tokenized_example.by_word)
    rows = []
    for first, stop in _words_of(prediction, tokenized_example):
        place = place_of(first, stop - 1, words, target.max_width)
        assert place is not None  # it was a candidate
        rows.append(place)
    return rows, [target.labels.index(one["label"]) + 1 for one in prediction]


def _given_tags(
    target: TagsTarget, scores: Scores, prediction: Prediction, tokenized_example: TokenizedExample
) -> tuple[Tensor, list[int], list[int]]:
    """The scores of words, (U, L), and where those of given marks stand: which words, which tags."""
    word_of = torch.from_numpy(tokenized_example.by_word.word)
    chosen, _ = target.decode(scores.detached(), word_of, [len(tokenized_example.by_word)])
    firsts, where = first_of_words(word_of), word_of.to(scores.values.device)
    values = scores.values[firsts] if target.decided == "first" else mean_by_word(scores.values, where, len(firsts))
    rows = [word for span in _words_of(prediction, tokenized_example) for word in range(*span)]
    return values, rows, [chosen[word] for word in rows]


def _words_of(prediction: Prediction, tokenized_example: TokenizedExample) -> Iterator[tuple[int, int]]:
    """The words [first, stop) of each mark."""
    for one in prediction:
        held = word_range(tokenized_example.words, one["start"], one["end"])
        assert held is not None
        yield held
