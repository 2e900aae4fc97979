"""The records of an inspection: an answer, and word by word what was looked at and what spoke for it.

Plain numbers; `reports.inspect_page` paints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.data.predictions import Prediction
from weft.metrics.regression import spearman

Heads = Literal["mean", "max"]
Stretch = tuple[int, int]  # characters [start, end) of a text as the user wrote it

_FEWEST = 3  # words to rank


@dataclass(frozen=True)
class Word:
    """One word with the shares of its tokens added up.

    A mark that belongs to the word's last character (an accent written by itself, an emoji's variant) belongs to the
    word, also where the tokenizer drops it or takes it for a word of its own.
    """

    start: int
    end: int
    attention: float  # share of the row's attention
    attribution: float  # share of what spoke for the answer, negative for what spoke against it
    left_out: float | None  # how far the answer falls without it, negative where it rises; None where not asked
    label_shares: Mapping[str, float]  # by label, its share of the word's heads × tokens, strongest first; no zeros

    @property
    def winning_label(self) -> str | None:
        """The label that won most of the word, None where none won any."""
        return next(iter(self.label_shares), None)


@dataclass(frozen=True)
class Piece:
    """A stretch of a text: a word, what lies between words, or (`read` being False) what was cut off."""

    text: str
    word: Word | None = None
    read: bool = True


@dataclass(frozen=True)
class ReadText:
    """A text, the words of it that were read, and the parts that were not."""

    text: str
    words: tuple[Word, ...]
    unread: tuple[Stretch, ...] = ()
    unread_words: int = 0

    def pieces(self) -> Iterator[Piece]:
        """The whole text in order, in pieces; put together they are the text again."""
        parts: list[tuple[Stretch, Word | None]] = [((word.start, word.end), word) for word in self.words]
        parts += [(stretch, None) for stretch in self.unread]
        at = 0
        for (start, end), word in sorted(parts, key=lambda part: part[0]):
            if at < start:
                yield Piece(self.text[at:start])
            yield Piece(self.text[start:end], word, read=word is not None)
            at = end
        if at < len(self.text):
            yield Piece(self.text[at:])


@dataclass(frozen=True)
class ReadRow:
    """One row of tokens: a text, or both texts of a cross-encoded pair.

    The attention of all words and `special_attention` add up to 1. A text that was read in several windows is still one
    row: the attention of a word is its share of the window that decides about it, that of special tokens the mean over
    the windows, and attributions add up what a token did in every window that it is in.
    """

    texts: tuple[ReadText, ...]
    special_attention: float  # on [CLS], [SEP] and the like
    special_attribution: float  # the absolute shares of those tokens
    tokens: int
    dropped: int  # tokens that did not fit
    windows: int = 1  # rows in which it was read


@dataclass(frozen=True)
class Inspection:
    """An answer and what was looked at on the way. A siamese pair has two rows, everything else one;
    a pair that is read both ways has three, both texts and then each by itself.

    The absolute attributions of all words and special tokens, over all rows, add up to 1 (or are all 0).
    """

    task: str
    prediction: Prediction
    rows: tuple[ReadRow, ...]
    explained: tuple[str, ...]  # the labels whose scores the attribution is about; none for a number
    labels: tuple[str, ...] | None  # those that may pull; None where labels have no part in this layer's attention
    layer: int
    depth: int
    heads: Heads
    pooling: str  # how the task reads the row: only `cls` reads the first token alone, `words` none but the words
    left_out_together: int = 1  # words that were left out at a time, more than one in long texts

    @property
    def words(self) -> list[Word]:
        """The words of all texts."""
        return [word for row in self.rows for text in row.texts for word in text.words]

    @property
    def agreement(self) -> float | None:
        """Spearman's rank correlation of gradient × input with what leaving words out does; None where it has none.

        Words that were left out together count as one.
        """
        size = self.left_out_together
        texts = [text.words for row in self.rows for text in row.texts]
        groups = [words[i : i + size] for words in texts for i in range(0, len(words), size)]
        drops = [some[0].left_out for some in groups if some[0].left_out is not None]
        gradients = [sum(word.attribution for word in some) for some in groups]
        if len(drops) < max(_FEWEST, len(groups)) or len(set(gradients)) == 1 or len(set(drops)) == 1:
            return None
        return spearman(np.array(gradients), np.array(drops))
