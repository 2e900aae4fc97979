"""What spans of words are like: their two ends, what lies between, and how wide they are.

A span's vector is act(A·start + B·end + C·content + D[width]), the first layer of a network over the four side by side.
It is computed as the sum of four parts so that each word is multiplied once, and not once for each span it is in.

Shape letters besides those of `weft.tensors`: U words, R spans, of all examples end to end; K the width of a span's
vector.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.layers.features import Features
from weft.tensors import SpanIndex, States

Ends = Literal["plain", "networks"]
ContentOf = Literal["mean", "attention", "none"]

_CHUNK = 16384  # spans scored at once when nothing is learned


class SpanFeatures(Features):
    """A vector for each candidate span, States → (R, K).

    Reads the batch's `WordIndex` and `SpanIndex`.
    """

    def __init__(self, width: int, size: int, max_width: int, ends: Ends, content: ContentOf) -> None:
        super().__init__()
        self.start, self.end = (end_network(width, size, ends) for _ in range(2))
        self.content = None if content == "none" else nn.Linear(width, size)
        self.attention = nn.Linear(width, 1, bias=False) if content == "attention" else None
        self.widths = nn.Embedding(max_width, size)
        nn.init.normal_(self.widths.weight, std=0.02)

    def forward(self, states: States) -> Tensor:
        return self._spans(self._words(states), states, slice(None))

    def score(self, states: States, head: nn.Module) -> Tensor:
        """(R, O); in chunks of spans, so that memory does not grow with the spans' number times their width."""
        spans = len(_spans_of(states).first_words)
        if torch.is_grad_enabled() or spans <= _CHUNK:
            return super().score(states, head)
        words = self._words(states)
        chunks = (slice(begin, begin + _CHUNK) for begin in range(0, spans, _CHUNK))
        return torch.cat([head(self._spans(words, states, chunk)) for chunk in chunks])

    def _words(self, states: States) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Each word as a start, as an end and as content, (U, K) each, and how much it counts as content, (U,)."""
        index = states.batch.indices.words
        assert index is not None
        ends = index.first_sub_words, index.last_sub_words
        first, last = (states.tokens[index.sub_word_positions[end]] for end in ends)
        content = None if self.content is None else self.content(first)
        weight = None if self.attention is None else self.attention(first).squeeze(1)
        return self.start(first), self.end(last), content, weight

    def _spans(
        self, words: tuple[Tensor, Tensor, Tensor | None, Tensor | None], states: States, chunk: slice
    ) -> Tensor:
        start, end, content, weight = words
        index = _spans_of(states)
        first, last = index.first_words[chunk], index.last_words[chunk]
        total: Tensor = start[first] + end[last] + self.widths((last - first).clamp_max(self.widths.num_embeddings - 1))
        if content is not None and len(first):
            inner, begins = inner_words(first, last)
            total = total + gather_content(content, weight, inner, begins)
        return F.gelu(total)


def _spans_of(states: States) -> SpanIndex:
    assert states.batch.indices.spans is not None
    return states.batch.indices.spans


def end_network(width: int, size: int, ends: Ends) -> nn.Module:
    """What an end of a span is turned into: by one matrix, or by a network of its own."""
    if ends == "plain":
        return nn.Linear(width, size)
    return nn.Sequential(nn.Linear(width, size), nn.GELU(), nn.Linear(size, size))


def inner_words(first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """The words of spans end to end, and where each span's begin: (R,), (R,) → (sum of widths,), (R,)."""
    widths = last - first + 1
    begins = widths.cumsum(0) - widths
    within = torch.arange(int(widths.sum()), device=first.device) - begins.repeat_interleave(widths)
    return within + first.repeat_interleave(widths), begins


def gather_content(content: Tensor, weight: Tensor | None, inner: Tensor, begins: Tensor) -> Tensor:
    """The mean of each span's words, or their mean weighted by a softmax within the span, (U, K) → (R, K)."""
    if weight is None:
        return F.embedding_bag(inner, content, begins, mode="mean")
    shares = softmax_in_bags(weight[inner], begins)
    return F.embedding_bag(inner, content, begins, mode="sum", per_sample_weights=shares.to(content.dtype))


def softmax_in_bags(scores: Tensor, begins: Tensor) -> Tensor:
    """Softmax over the entries of each bag; bags lie end to end and none is empty."""
    sizes = torch.diff(begins, append=begins.new_tensor([len(scores)]))
    bag = torch.arange(len(begins), device=scores.device).repeat_interleave(sizes)
    top = scores.new_zeros(len(begins)).scatter_reduce(0, bag, scores.detach(), "amax", include_self=False)
    weights = (scores - top[bag]).exp()
    return weights / weights.new_zeros(len(begins)).index_add(0, bag, weights)[bag]
