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

import numpy as np
import torch
from torch import Tensor

from weft.data.records import Input, Prediction
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner, Readout
from weft.errors import ConfigError
from weft.model.inputs import choose_tasks
from weft.model.network import Network
from weft.tasks.base.words import WordTask
from weft.tensors import Batch, FirstTokenAttention, Scores, States
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import TokenizedRow
from weft.tokenization.windows import Window, cut_windows, deciding_windows

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
    """An answer and what was looked at on the way. A siamese pair has two rows, everything else one.

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


@dataclass(frozen=True)
class Run:
    """One example through the network."""

    batch: Batch
    scores: Scores  # of one example
    embedded: Tensor  # (T, H) what the encoder began with, a leaf
    shown: FirstTokenAttention


@dataclass(frozen=True)
class Place:
    """A word of a row: which of its texts, which characters, which tokens."""

    text: int
    start: int
    end: int
    tokens: list[int]


class LeafConditioner(Conditioner):
    """A network's own conditioning, with the embedded tokens kept as a leaf from which gradients can be asked."""

    def __init__(self, inner: Conditioner) -> None:
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

    def at_block(self, x: Tensor, index: int, batch: Batch) -> Tensor | None:
        return self.inner.at_block(x, index, batch)

    def at_output(self, states: States) -> States:
        return self.inner.at_output(states)


@dataclass(frozen=True)
class _Row:
    """The tokens of one row and the numbers of each, S of them."""

    encoded: TokenizedRow
    whole: TokenizedRow  # the same row without a limit
    texts: Texts
    places: list[Place]
    attention: Tensor  # (S,)
    attribution: Tensor  # (S,) gradient × input
    pulled: Tensor | None  # (S, N)
    windows: int = 1

    def absolute(self) -> float:
        """The sum of the absolute attributions of words and special tokens, before they are made shares."""
        words = sum(abs(float(self.attribution[place.tokens].sum())) for place in self.places)
        return words + float(self.attribution[self.outside()].abs().sum())

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
            special_attribution=float(self.attribution[outside].abs().sum()) / total,
            tokens=len(self.encoded.ids),
            dropped=self.encoded.dropped,
            windows=self.windows,
        )

    def word(self, place: Place, total: float, labels: Sequence[str]) -> Word:
        attention, attribution = (float(numbers[place.tokens].sum()) for numbers in (self.attention, self.attribution))
        label_shares = {} if self.pulled is None else count_pulls(self.pulled[place.tokens], labels)
        return Word(place.start, place.end, attention, attribution / total, label_shares)


def inspect(
    network: Network, task: str, given: Texts | Input, layer: int | None = None, heads: Heads = "mean"
) -> Inspection:
    """What one layer's first token looked at while a task answered a text, or a pair.

    The network is as it was afterwards: its mode, its gradients, its parameters.

    Args:
        given: the text or texts, or where its words are known, a text with them.
        layer: 0 the lowest; the last by default.
        heads: the mean over the attention heads, or of each token the strongest head, scaled to add up to 1 again.
    """
    input = given if isinstance(given, Input) else Input(given)
    choose_tasks(network, [task], pair=len(input.texts) == 2)
    target = network.targets[task]
    depth = network.encoder.config.num_hidden_layers
    layer = check_layer(depth - 1 if layer is None else layer, depth)
    tokenized_example = encode_with_offsets(network, task, input, network.max_length(task))
    with _evaluating(network), torch.inference_mode(False), torch.enable_grad():
        run = run_once(network, task, tokenized_example, layer)
        scores = target.compact(run.scores.detached(), [tokenized_example])
        (prediction,) = target.decode(scores, [tokenized_example])
        explained, score = target.explain(run.scores, prediction, tokenized_example)
        (gradient,) = torch.autograd.grad(score, run.embedded)
    attribution = (gradient * run.embedded.detach()).float().sum(1).cpu()
    attention = join_heads(run.shown.weights.detach().float().cpu(), heads, run.batch)
    pulled = None if run.shown.winning_label is None else run.shown.winning_label.cpu()
    labels = target.row_labels if pulled is not None else None
    rows = _rows(network, task, tokenized_example, run.batch, attention, attribution, pulled)
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
        pooling="words" if tokenized_example.sub_words else str(network.tasks[task].pooler.to_dict()["kind"]),
    )


def check_layer(layer: int, depth: int) -> int:
    """The layer, or a ConfigError where the encoder has none of this number."""
    if not 0 <= layer < depth:
        raise ConfigError(f"layer {layer} is out of range; this encoder's layers run from 0 (lowest) to {depth - 1}")
    return layer


def encode_with_offsets(network: Network, task: str, input: Input, max_length: int) -> TokenizedExample:
    """One example exactly as its task reads it, with offsets."""
    return network.tasks[task].encode([input], network.tokenizer.with_offsets(), max_length)[0]


def run_once(network: Network, task: str, tokenized_example: TokenizedExample, layer: int) -> Run:
    """One example through the network, with a gradient path back to its embedded tokens."""
    batch = network.collate(task, [tokenized_example]).to(next(network.parameters()).device)
    conditioner = LeafConditioner(network.conditioner)
    kept = network.tasks[task].layers(network.encoder.config.num_hidden_layers)
    states: States = network.encoder(batch, conditioner, layers=kept, attention=[layer])
    assert conditioner.leaf is not None
    return Run(batch, network.score_states(task, states), conditioner.leaf, states.attention[layer])


def _rows(
    network: Network,
    task: str,
    tokenized_example: TokenizedExample,
    batch: Batch,
    attention: Tensor,
    attribution: Tensor,
    pulled: Tensor | None,
) -> list[_Row]:
    """The rows of an example with their numbers, (T,) and (T, N), each text in one row also where it was in windows."""
    texts = tokenized_example.input.texts
    starts, sizes = batch.row_offsets.tolist(), [len(row.ids) for row in tokenized_example.rows]
    cuts = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    split = tokenized_example.dropped or (tokenized_example.sub_words and len(sizes) > 1)
    full = (
        encode_with_offsets(network, task, tokenized_example.input, _NO_LIMIT).rows if split else tokenized_example.rows
    )
    if tokenized_example.sub_words and len(sizes) > 1:
        shares = [attention[cut] for cut in cuts], [attribution[cut] for cut in cuts]
        joined = join_windows(full[0], tokenized_example.rows, _windows(network, task, full[0]), *shares)
        return [_Row(full[0], full[0], texts, find_words(full[0], texts), *joined, None, len(sizes))]
    own = [texts] if len(sizes) == 1 else [(text,) for text in texts]
    return [
        _Row(
            row,
            whole,
            parts,
            find_words(row, parts),
            attention[cut],
            attribution[cut],
            None if pulled is None else pulled[cut],
        )
        for row, whole, parts, cut in zip(tokenized_example.rows, full, own, cuts, strict=True)
    ]


def _windows(network: Network, task: str, whole: TokenizedRow) -> list[Window]:
    """The windows in which a task reads a row."""
    kind = network.tasks[task]
    assert isinstance(kind, WordTask)
    return cut_windows(whole, network.max_length(task), kind.stride)


def join_windows(
    whole: TokenizedRow,
    rows: Sequence[TokenizedRow],
    windows: Sequence[Window],
    attention: Sequence[Tensor],
    attribution: Sequence[Tensor],
) -> tuple[Tensor, Tensor]:
    """Attention and gradient × input of the tokens of a whole row, (S,) each, from those of its windows.

    A token has the attention of the window that decides about it, a special one the mean over all windows. What spoke
    for the answer is added up over all windows that a token is in.
    """
    assert all(np.array_equal(window.row.ids, row.ids) for window, row in zip(windows, rows, strict=True))
    special = torch.from_numpy(whole.texts < 0)
    decides = torch.from_numpy(deciding_windows(whole, windows)[0])
    looked, spoke = torch.zeros(len(whole)), torch.zeros(len(whole))
    for number, (window, shares, sums) in enumerate(zip(windows, attention, attribution, strict=True)):
        positions = torch.from_numpy(window.positions)
        spoke[positions] += sums
        looked[positions] += torch.where(
            special[positions], shares / len(windows), shares * (decides == number)[positions]
        )
    return looked, spoke


def join_heads(weights: Tensor, heads: Heads, batch: Batch) -> Tensor:
    """The attention of several heads as one, (T, N) → (T,), adding up to 1 over each row."""
    if heads == "mean":
        return weights.mean(1)
    strongest, row_of = weights.amax(1), batch.row_of.cpu()
    return strongest / torch.zeros(batch.rows).index_add(0, row_of, strongest)[row_of]


def find_words(row: TokenizedRow, texts: Texts) -> list[Place]:
    """The words of a row, each with whole characters: what would part a mark from its letter is joined."""
    found: list[Place] = []
    for start, end, tokens in row.word_groups():
        which = int(row.texts[tokens[0]])
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
