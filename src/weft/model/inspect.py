"""What a model looked at: the first token's attention, the labels that pulled it, and what spoke for the answer.

Attention says where a layer gathered from, not why the answer is what it is. Beside it stand gradient × input, which
tells of small changes of a word's embedding, and what really becomes of the answer when a word is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.data.records import Input
from weft.encoder.attention import SelfAttention
from weft.encoder.conditioner import Conditioner, Readout
from weft.errors import ConfigError
from weft.model.inputs import choose_tasks
from weft.model.inspection import Heads, Inspection, ReadRow, ReadText, Stretch, Word
from weft.model.leave_out import LeftOut, PlacedWord, leave_out
from weft.model.network import Network
from weft.tensors import Batch, FirstTokenAttention, Scores, States
from weft.tokenization.examples import TokenizedExample
from weft.tokenization.tokenizer import TokenizedRow
from weft.tokenization.windows import TokenNumbers, join_windows
from weft.tokenization.words import TextWord, whole_words

Texts = tuple[str, ...]  # one text, or the two of a pair

_NO_LIMIT = 10**9


@dataclass(frozen=True)
class ForwardPass:
    """One example through the network."""

    batch: Batch
    scores: Scores  # of one example
    embedded: Tensor  # (T, H) what the encoder began with, a leaf
    shown: FirstTokenAttention


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
class _InspectedRow:
    """The tokens of one row and the numbers of each, S of them."""

    encoded: TokenizedRow
    whole: TokenizedRow  # the same row without a limit
    texts: Texts
    words: list[TextWord]
    attention: TokenNumbers  # (S,)
    attribution: TokenNumbers  # (S,) gradient × input
    winning_label: NDArray[np.int64] | None  # (S, N)
    windows: int = 1
    first: int = 0  # the number of its first text among those of the example

    def placed(self) -> Iterator[PlacedWord]:
        """Of each word the number of its text among all texts of the example, and its characters."""
        return ((self.first + word.text, word.start, word.end) for word in self.words)

    def absolute(self) -> float:
        """The sum of the absolute attributions of words and special tokens, before they are made shares."""
        words = sum(abs(float(self.attribution[word.tokens].sum())) for word in self.words)
        return words + float(np.abs(self.attribution[self.outside()]).sum())

    def outside(self) -> list[int]:
        """The tokens that belong to no word."""
        inside = {token for word in self.words for token in word.tokens}
        return [token for token in range(len(self.encoded)) if token not in inside]

    def read(self, total: float, labels: Sequence[str], left_out: Iterator[float | None]) -> ReadRow:
        """The row in words; attributions are divided by `total`, and each word takes the next of `left_out`."""
        outside, whole = self.outside(), whole_words(self.whole, self.texts)
        texts = []
        for which, text in enumerate(self.texts):
            kept = [word for word in self.words if word.text == which]
            unread, lost = unread_stretches(kept, [word for word in whole if word.text == which])
            words = tuple(self.word(word, total, labels, next(left_out)) for word in kept)
            texts.append(ReadText(text, words, unread, lost))
        return ReadRow(
            tuple(texts),
            special_attention=float(self.attention[outside].sum()),
            special_attribution=float(np.abs(self.attribution[outside]).sum()) / total,
            tokens=len(self.encoded),
            dropped=self.encoded.dropped,
            windows=self.windows,
        )

    def word(self, word: TextWord, total: float, labels: Sequence[str], left_out: float | None) -> Word:
        attention, attribution = (float(numbers[word.tokens].sum()) for numbers in (self.attention, self.attribution))
        shares = {} if self.winning_label is None else label_shares(self.winning_label[word.tokens], labels)
        return Word(word.start, word.end, attention, attribution / total, left_out, shares)


def inspect(
    network: Network,
    task: str,
    given: Texts | Input,
    layer: int | None = None,
    heads: Heads = "mean",
    *,
    leave_words_out: bool = True,
) -> Inspection:
    """What one layer's first token looked at while a task answered a text, or a pair.

    The network is as it was afterwards: its mode, its gradients, its parameters.

    Args:
        given: the text or texts, or where its words are known, a text with them.
        layer: 0 the lowest; the last by default.
        heads: the mean over the attention heads, or of each token the strongest head, scaled to add up to 1 again.
        leave_words_out: whether to ask also what is answered without each word, which takes a row per word.
    """
    input = given if isinstance(given, Input) else Input(given)
    choose_tasks(network, [task], pair=len(input.texts) == 2)
    target = network.targets[task]
    depth = network.encoder.config.num_hidden_layers
    layer = check_layer(depth - 1 if layer is None else layer, depth)
    if heads not in get_args(Heads):
        raise ConfigError(f"heads {heads!r} is not one of: {', '.join(get_args(Heads))}")
    tokenized_example = encode_with_offsets(network, task, input, network.max_length(task))
    with _evaluating(network):
        with torch.inference_mode(False), torch.enable_grad():
            run = run_once(network, task, tokenized_example, layer)
            scores = target.compact(run.scores.detached(), [tokenized_example])
            (prediction,) = target.decode(scores, [tokenized_example])
            explained, score = target.explain(run.scores, prediction, tokenized_example)
            (gradient,) = torch.autograd.grad(score, run.embedded)
        attribution = (gradient * run.embedded.detach()).float().sum(1).cpu().numpy()
        rows = _rows(network, task, tokenized_example, run, attribution, heads)
        words = [word for row in rows for word in row.placed()]
        left_out = leave_out(network, task, input, words) if leave_words_out else LeftOut.nothing(len(words))
    labels = target.row_labels if run.shown.winning_label is not None else None
    total = sum(row.absolute() for row in rows) or 1.0
    drops = iter(left_out.drops)
    return Inspection(
        task=task,
        prediction=prediction,
        rows=tuple(row.read(total, labels or (), drops) for row in rows),
        explained=explained,
        labels=labels,
        layer=layer,
        depth=depth,
        heads=heads,
        pooling="words" if tokenized_example.sub_words else str(network.tasks[task].pooler.to_dict()["kind"]),
        left_out_together=left_out.together,
    )


def check_layer(layer: int, depth: int) -> int:
    """The layer, or a ConfigError where the encoder has none of this number."""
    if not 0 <= layer < depth:
        raise ConfigError(f"layer {layer} is out of range; this encoder's layers run from 0 (lowest) to {depth - 1}")
    return layer


def encode_with_offsets(network: Network, task: str, input: Input, max_length: int) -> TokenizedExample:
    """One example exactly as its task reads it, with offsets."""
    return network.tasks[task].encode([input], network.tokenizer.with_offsets(), max_length)[0]


def run_once(network: Network, task: str, tokenized_example: TokenizedExample, layer: int) -> ForwardPass:
    """One example through the network, with a gradient path back to its embedded tokens."""
    batch = network.collate(task, [tokenized_example]).to(next(network.parameters()).device)
    conditioner = LeafConditioner(network.conditioner)
    kept = network.tasks[task].layers(network.encoder.config.num_hidden_layers)
    states: States = network.encoder(batch, conditioner, layers=kept, attention=[layer])
    assert conditioner.leaf is not None
    return ForwardPass(batch, network.score_states(task, states), conditioner.leaf, states.attention[layer])


def _rows(
    network: Network,
    task: str,
    tokenized_example: TokenizedExample,
    run: ForwardPass,
    attribution: TokenNumbers,
    heads: Heads,
) -> list[_InspectedRow]:
    """The rows of an example with the numbers of their tokens, each text in one row also where it was in windows."""
    texts = tokenized_example.input.texts
    attention = join_heads(run.shown.weights.detach().float().cpu(), heads, run.batch).numpy()
    winning = None if run.shown.winning_label is None else run.shown.winning_label.cpu().numpy()
    starts, sizes = run.batch.row_offsets.tolist(), [len(row) for row in tokenized_example.rows]
    cuts = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    in_windows = tokenized_example.sub_words is not None and len(sizes) > 1
    full = tokenized_example.rows
    if tokenized_example.dropped or in_windows:
        full = encode_with_offsets(network, task, tokenized_example.input, _NO_LIMIT).rows
    if in_windows:
        windows = network.tasks[task].windows(full[0], network.max_length(task))
        assert [len(window.row) for window in windows] == sizes
        joined = join_windows(full[0], windows, [attention[cut] for cut in cuts], [attribution[cut] for cut in cuts])
        return [_InspectedRow(full[0], full[0], texts, whole_words(full[0], texts), *joined, None, len(sizes))]
    together: list[tuple[int, Texts]] = [(0, texts)]
    apart: list[tuple[int, Texts]] = [(number, (text,)) for number, text in enumerate(texts)]
    own = {1: together, 2: apart, 3: together + apart}[len(sizes)]
    return [
        _InspectedRow(
            row,
            whole,
            parts,
            whole_words(row, parts),
            attention[cut],
            attribution[cut],
            None if winning is None else winning[cut],
            first=first,
        )
        for row, whole, (first, parts), cut in zip(tokenized_example.rows, full, own, cuts, strict=True)
    ]


def join_heads(weights: Tensor, heads: Heads, batch: Batch) -> Tensor:
    """The attention of several heads as one, (T, N) → (T,), adding up to 1 over each row."""
    if heads == "mean":
        return weights.mean(1)
    strongest, row_of = weights.amax(1), batch.row_of.cpu()
    return strongest / torch.zeros(batch.rows).index_add(0, row_of, strongest)[row_of]


def unread_stretches(kept: Sequence[TextWord], whole: Sequence[TextWord]) -> tuple[tuple[Stretch, ...], int]:
    """The stretches of a text that hold none of the kept words, and how many words they hold."""
    read = {character for word in kept for character in range(word.start, word.end)}
    runs = groupby(whole, lambda word: read.isdisjoint(range(word.start, word.end)))
    lost = [list(run) for cut, run in runs if cut]
    return tuple((run[0].start, run[-1].end) for run in lost), sum(map(len, lost))


def label_shares(winning: NDArray[np.int64], labels: Sequence[str]) -> dict[str, float]:
    """Each label's share of a word's tokens × heads, (tokens, N), strongest first; labels without any are left out."""
    counts = np.bincount(winning.ravel() + 1, minlength=len(labels) + 1)[1:] / winning.size
    shares = zip(labels, counts.tolist(), strict=True)
    return dict(sorted(((label, share) for label, share in shares if share), key=lambda pair: -pair[1]))


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
