"""What a model looked at: the first token's attention, the labels that pulled it, and what spoke for the answer.

Plain numbers, word by word; `reports.attention` paints them. Attention says where a layer gathered from, not why the
answer is what it is; gradient × input stands beside it as a second opinion, made in another way.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import torch
from torch import Tensor

from weft.encoder.attention import SelfAttention
from weft.encoder.seams import Readout, Seams
from weft.errors import ConfigError
from weft.network import Network
from weft.predict import choose_tasks
from weft.records import Content, Prediction
from weft.targets import Target
from weft.targets.label import LabelTarget
from weft.targets.labels import LabelsTarget
from weft.tensors import Batch, Scores, Shown, States
from weft.text.readings import Reading
from weft.text.tokenizer import Encoded, Text, Tokenizer, Truncation

Heads = Literal["mean", "max"]
Texts = tuple[str, ...]  # one text, or the two of a pair
Span = tuple[int, int]  # characters [start, end) of a text as the user wrote it

_NO_LIMIT = 10**9
_JOINERS = "\u200c\u200d"


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
    pulls: Mapping[str, float]  # by label, its share of the word's heads × tokens, strongest first; no zeros

    @property
    def pulled_by(self) -> str | None:
        """The label that won most of the word, None where none won any."""
        return next(iter(self.pulls), None)


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
    unread: tuple[Span, ...] = ()
    unread_words: int = 0

    def pieces(self) -> Iterator[Piece]:
        """The whole text in order, in pieces; put together they are the text again."""
        parts: list[tuple[Span, Word | None]] = [((word.start, word.end), word) for word in self.words]
        parts += [(span, None) for span in self.unread]
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

    The attention of all words and `special_attention` add up to 1.
    """

    texts: tuple[ReadText, ...]
    special_attention: float  # on [CLS], [SEP] and the like
    special_attribution: float  # the absolute shares of those tokens
    tokens: int
    dropped: int  # tokens that did not fit


@dataclass(frozen=True)
class Inspection:
    """An answer and what was looked at on the way. A siamese pair has two rows, everything else one.

    The absolute attributions of all words and special tokens, over all rows, add up to 1 (or are all 0).
    """

    task: str
    prediction: Prediction
    rows: tuple[ReadRow, ...]
    explained: tuple[str, ...]  # the labels whose score the attribution is about; none for a number
    labels: tuple[str, ...] | None  # those that may pull; None where labels have no part in this layer's attention
    layer: int
    depth: int
    heads: Heads
    pooling: str  # how the task reads the row: only `cls` reads the first token alone


@dataclass(frozen=True)
class Run:
    """One example through the network."""

    batch: Batch
    scores: Scores  # of one example
    embedded: Tensor  # (T, H) what the encoder began with, a leaf
    shown: Shown


@dataclass(frozen=True)
class Place:
    """A word of a row: which of its texts, which characters, which tokens."""

    text: int
    start: int
    end: int
    tokens: list[int]


class LeafSeams(Seams):
    """A network's own conditioning, with the embedded tokens kept as a leaf from which gradients can be asked."""

    def __init__(self, inner: Seams) -> None:
        super().__init__()
        self.inner = inner
        self.leaf: Tensor | None = None

    def at_input(self, x: Tensor, batch: Batch) -> Tensor:
        self.leaf = x.detach().requires_grad_()
        return self.inner.at_input(self.leaf, batch)

    def at_qkv(
        self, q: Tensor, k: Tensor, v: Tensor, x: Tensor, layer: SelfAttention, batch: Batch
    ) -> tuple[Tensor, Tensor, Tensor]:
        return self.inner.at_qkv(q, k, v, x, layer, batch)

    def at_readout(self, q_first: Tensor, k: Tensor, v: Tensor, layer: SelfAttention, batch: Batch) -> Readout | None:
        return self.inner.at_readout(q_first, k, v, layer, batch)

    def beside(self, x: Tensor, index: int, batch: Batch) -> Tensor | None:
        return self.inner.beside(x, index, batch)

    def at_output(self, states: States) -> States:
        return self.inner.at_output(states)


class _WithOffsets(Tokenizer):
    """A tokenizer that always says where its tokens lie."""

    def encode(
        self, texts: Sequence[Text], *, max_length: int, truncation: Truncation = "head", offsets: bool = True
    ) -> list[Encoded]:
        return super().encode(texts, max_length=max_length, truncation=truncation, offsets=True)


@dataclass(frozen=True)
class _Row:
    """The tokens of one row and the numbers of each, S of them."""

    encoded: Encoded
    whole: Encoded  # the same row without a limit
    texts: Texts
    places: list[Place]
    attention: Tensor  # (S,)
    toward: Tensor  # (S,) gradient × input
    pulled: Tensor | None  # (S, N)

    def absolute(self) -> float:
        """The sum of the absolute attributions of words and special tokens, before they are made shares."""
        words = sum(abs(float(self.toward[place.tokens].sum())) for place in self.places)
        return words + float(self.toward[self.outside()].abs().sum())

    def outside(self) -> list[int]:
        """The tokens that belong to no word."""
        inside = {token for place in self.places for token in place.tokens}
        return [token for token in range(len(self.encoded.ids)) if token not in inside]

    def read(self, total: float, labels: Sequence[str]) -> ReadRow:
        """The row in words; attributions are divided by `total`."""
        outside, whole = self.outside(), find_words(self.whole, self.texts)
        texts = []
        for which, text in enumerate(self.texts):
            places = [place for place in self.places if place.text == which]
            unread, lost = unread_spans(places, [place for place in whole if place.text == which])
            words = tuple(self.word(place, total, labels) for place in places)
            texts.append(ReadText(text, words, unread, lost))
        return ReadRow(
            tuple(texts),
            special_attention=float(self.attention[outside].sum()),
            special_attribution=float(self.toward[outside].abs().sum()) / total,
            tokens=len(self.encoded.ids),
            dropped=self.encoded.dropped,
        )

    def word(self, place: Place, total: float, labels: Sequence[str]) -> Word:
        attention, toward = (float(numbers[place.tokens].sum()) for numbers in (self.attention, self.toward))
        pulls = {} if self.pulled is None else count_pulls(self.pulled[place.tokens], labels)
        return Word(place.start, place.end, attention, toward / total, pulls)


def inspect(network: Network, task: str, texts: Texts, layer: int | None = None, heads: Heads = "mean") -> Inspection:
    """What one layer's first token looked at while a task answered a text, or a pair.

    The network is as it was afterwards: its mode, its gradients, its parameters.

    Args:
        layer: 0 the lowest; the last by default.
        heads: the mean over the attention heads, or of each token the strongest head, scaled to add up to 1 again.
    """
    choose_tasks(network, [task], pair=len(texts) == 2)
    depth = network.encoder.config.num_hidden_layers
    layer = check_layer(depth - 1 if layer is None else layer, depth)
    reading = encode_with_offsets(network, task, texts, network.max_length(task))
    encoded = reading.rows
    full = encode_with_offsets(network, task, texts, _NO_LIMIT).rows if reading.dropped else encoded
    own = [texts] if len(encoded) == 1 else [(text,) for text in texts]
    with _evaluating(network), torch.inference_mode(False), torch.enable_grad():
        run = run_once(network, task, reading, layer)
        (prediction,) = network.targets[task].predictions(run.scores.detached(), [reading])
        explained, score = explained_score(network.targets[task], run.scores.values, prediction)
        (gradient,) = torch.autograd.grad(score, run.embedded)
    toward = (gradient * run.embedded.detach()).float().sum(1).cpu()
    attention = join_heads(run.shown.weights.detach().float().cpu(), heads, run.batch)
    pulled = None if run.shown.pulled_by is None else run.shown.pulled_by.cpu()
    labels = labels_of(network.targets[task]) if pulled is not None else None
    rows = []
    for place, (row, parts, whole) in enumerate(zip(encoded, own, full, strict=True)):
        start = int(run.batch.starts[place])
        cut = slice(start, start + len(row.ids))
        pulls = None if pulled is None else pulled[cut]
        rows.append(_Row(row, whole, parts, find_words(row, parts), attention[cut], toward[cut], pulls))
    total = sum(row.absolute() for row in rows) or 1.0
    return Inspection(
        task=task,
        prediction=prediction,
        rows=tuple(row.read(total, labels or ()) for row in rows),
        explained=explained,
        labels=labels,
        layer=layer,
        depth=depth,
        heads=heads,
        pooling=str(network.tasks[task].pooler.to_dict()["kind"]),
    )


def check_layer(layer: int, depth: int) -> int:
    """The layer, or a ConfigError where the encoder has none of this number."""
    if not 0 <= layer < depth:
        raise ConfigError(f"layer {layer} is out of range; this encoder's layers run from 0 (lowest) to {depth - 1}")
    return layer


def encode_with_offsets(network: Network, task: str, texts: Texts, max_length: int) -> Reading:
    """One example exactly as its task reads it, with offsets."""
    tokenizer = _WithOffsets(network.tokenizer.backend, network.tokenizer.settings)
    return network.tasks[task].encode([Content(texts)], tokenizer, max_length)[0]


def run_once(network: Network, task: str, reading: Reading, layer: int) -> Run:
    """One example through the network, with a gradient path back to its embedded tokens."""
    batch = network.collate(task, [reading]).to(next(network.parameters()).device)
    seams = LeafSeams(network.conditioner)
    kept = network.tasks[task].layers(network.encoder.config.num_hidden_layers)
    states: States = network.encoder(batch, seams, layers=kept, attention=[layer])
    assert seams.leaf is not None
    return Run(batch, network.score_states(task, states), seams.leaf, states.attention[layer])


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


def labels_of(target: Target) -> tuple[str, ...]:
    """The labels a target has, in order."""
    return target.labels if isinstance(target, LabelTarget | LabelsTarget) else ()


def join_heads(weights: Tensor, heads: Heads, batch: Batch) -> Tensor:
    """The attention of several heads as one, (T, N) → (T,), adding up to 1 over each row."""
    if heads == "mean":
        return weights.mean(1)
    strongest, row_of = weights.amax(1), batch.row_of.cpu()
    return strongest / torch.zeros(batch.rows).index_add(0, row_of, strongest)[row_of]


def find_words(row: Encoded, texts: Texts) -> list[Place]:
    """The words of a row, each with whole characters: what would part a mark from its letter is joined."""
    found: list[Place] = []
    for start, end, tokens in row.word_groups():
        which = row.texts[tokens[0]]
        assert which is not None
        text = texts[which]
        last = found[-1] if found and found[-1].text == which else None
        while end < len(text) and continues(text, end):
            end += 1
        if last is not None and start < last.end:  # the word before already took in this one's first mark
            found[-1] = Place(which, last.start, max(last.end, end), [*last.tokens, *tokens])
        else:
            found.append(Place(which, start, end, tokens))
    return found


def continues(text: str, place: int) -> bool:
    """Whether the character at a place belongs to the one before it: accents, joiners, skin tones and flags' tags."""
    letter = text[place]
    return (
        unicodedata.category(letter).startswith("M")
        or letter in _JOINERS
        or "\U0001f3fb" <= letter <= "\U0001f3ff"
        or "\U000e0020" <= letter <= "\U000e007f"
        or (text[place - 1] == _JOINERS[1] and unicodedata.category(letter) == "So")
    )


def unread_spans(kept: Sequence[Place], whole: Sequence[Place]) -> tuple[tuple[Span, ...], int]:
    """The stretches of a text that hold none of the kept words, and how many words they hold."""
    read = {place for word in kept for place in range(word.start, word.end)}
    runs = groupby(whole, lambda word: read.isdisjoint(range(word.start, word.end)))
    lost = [list(run) for cut, run in runs if cut]
    return tuple((run[0].start, run[-1].end) for run in lost), sum(map(len, lost))


def count_pulls(pulled: Tensor, labels: Sequence[str]) -> dict[str, float]:
    """Each label's share of a word's tokens × heads, (tokens, N), strongest first; labels without any are left out."""
    counts = torch.bincount(pulled.flatten() + 1, minlength=len(labels) + 1)[1:] / pulled.numel()
    shares = zip(labels, counts.tolist(), strict=True)
    return dict(sorted(((label, share) for label, share in shares if share), key=lambda one: -one[1]))


@contextmanager
def _evaluating(network: Network) -> Iterator[None]:
    """The network without dropout; afterwards every part of it is in the mode it was in."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
