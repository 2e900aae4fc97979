"""Spans of words as vectors, against plain loops over all spans."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from weft.layers import spans as layer
from weft.layers.candidates import candidate_index, candidates, count_candidates
from weft.layers.spans import ContentOf, Ends, SpanFeatures, gather_content, inner_words, softmax_in_bags
from weft.layers.words import SubWordFeatures, first_of_words, mean_by_word
from weft.tensors import Indices, SpanIndex, States, WordIndex, pack

WIDTH, SIZE, WIDEST = 6, 5, 3
PIECES = [[1, 3, 2, 1], [2], [1, 1, 4]]  # sub-words of each word of three texts


def spans_of(words: int, max_width: int) -> list[tuple[int, int]]:
    """First and last word of every span, by plain loops."""
    return [(first, last) for first in range(words) for last in range(first, min(first + max_width, words))]


def long(values: list[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.long)


def states_of(pieces: Sequence[Sequence[int]] = PIECES, max_width: int = WIDEST) -> States:
    """Random states of texts between two special tokens each, with the layout of their words and spans."""
    torch.manual_seed(3)
    batch = pack([[1] * (sum(words) + 2) for words in pieces])
    places, word_of, firsts, lasts, first, last = ([] for _ in range(6))  # type: ignore[var-annotated]
    for text, words in enumerate(pieces):
        first += [one + len(firsts) for one, _ in spans_of(len(words), max_width)]
        last += [one + len(firsts) for _, one in spans_of(len(words), max_width)]
        inside = 1
        for size in words:
            word_of += [len(firsts)] * size
            firsts.append(len(places))
            places += [int(batch.row_offsets[text]) + inside + piece for piece in range(size)]
            lasts.append(len(places) - 1)
            inside += size
    words = (places, word_of, firsts, lasts, [len(words) for words in pieces])
    indices = Indices(WordIndex(*map(long, words)), SpanIndex(long(first), long(last)))
    tokens = torch.randn(len(batch.ids), WIDTH, dtype=torch.double, requires_grad=True)
    return States(tokens, replace(batch, indices=indices))


def reader_of(ends: Ends, content: ContentOf) -> SpanFeatures:
    torch.manual_seed(1)
    return SpanFeatures(WIDTH, SIZE, WIDEST, ends, content).double()


def loop_over_spans(reader: SpanFeatures, states: States) -> Tensor:
    """The vector of each span from its definition, one span after the other."""
    words, spans = states.batch.indices.words, states.batch.indices.spans
    assert words is not None
    assert spans is not None
    ends = {"firsts": words.first_sub_words, "lasts": words.last_sub_words}

    def token(word: int, end: str) -> Tensor:
        return states.tokens[words.sub_word_positions[ends[end][word]]]

    found = []
    for first, last in zip(spans.first_words.tolist(), spans.last_words.tolist(), strict=True):
        total = reader.start(token(first, "firsts")) + reader.end(token(last, "lasts"))
        total = total + reader.widths.weight[last - first]
        inside = [token(word, "firsts") for word in range(first, last + 1)]
        if reader.content is not None:
            if reader.attention is None:
                shares = [1 / len(inside)] * len(inside)
            else:
                weights = [reader.attention(one).exp() for one in inside]
                shares = [weight / sum(weights) for weight in weights]
            total = total + sum(share * reader.content(one) for share, one in zip(shares, inside, strict=True))
        found.append(F.gelu(total))
    return torch.stack(found)


def gradients(reader: SpanFeatures, states: States, vectors: Tensor) -> list[Tensor]:
    torch.manual_seed(2)
    weight = torch.randn(vectors.shape, dtype=vectors.dtype)
    return list(torch.autograd.grad((vectors * weight).sum(), [states.tokens, *reader.parameters()]))


every_reader = pytest.mark.parametrize(
    ("ends", "content"), list(product(("plain", "networks"), ("mean", "attention", "none")))
)


@every_reader
def test_spans_are_what_plain_loops_say_and_so_are_their_gradients(ends: Ends, content: ContentOf) -> None:
    reader, states = reader_of(ends, content), states_of()
    vectors, expected = reader(states), loop_over_spans(reader, states)
    assert vectors.shape == (sum(len(spans_of(len(words), WIDEST)) for words in PIECES), SIZE)
    torch.testing.assert_close(vectors, expected, atol=1e-12, rtol=1e-10)
    for mine, reference in zip(gradients(reader, states, vectors), gradients(reader, states, expected), strict=True):
        torch.testing.assert_close(mine, reference, atol=1e-12, rtol=1e-10)


@every_reader
@pytest.mark.parametrize("chunk", [1, 4, 7, 100])
def test_scores_in_chunks_are_those_of_all_spans_at_once(
    ends: Ends, content: ContentOf, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, states, head = reader_of(ends, content), states_of(), nn.Linear(SIZE, 4).double()
    whole, seen = reader.score(states, head), list[int]()
    head.register_forward_hook(lambda module, inputs, output: seen.append(len(output)))
    monkeypatch.setattr(layer, "_CHUNK", chunk)
    with torch.no_grad():
        torch.testing.assert_close(reader.score(states, head), whole, atol=1e-12, rtol=1e-12)
    assert max(seen) <= chunk or chunk == 100
    assert sum(seen) == len(whole)
    seen.clear()
    assert reader.score(states, head).requires_grad  # what learns is not cut
    assert seen == [len(whole)]


@every_reader
def test_texts_without_words_have_no_spans(ends: Ends, content: ContentOf) -> None:
    reader, empty = reader_of(ends, content), states_of([[], []])
    assert reader(empty).shape == (0, SIZE)
    mixed = reader(states_of([[], [2, 1], []]))
    assert mixed.shape == (3, SIZE)
    assert mixed.isfinite().all()


@pytest.mark.usefixtures("half_precision")
@every_reader
def test_half_precision_goes_through_and_stays_near(ends: Ends, content: ContentOf) -> None:
    reader, states = reader_of(ends, content).float(), states_of()
    states = replace(states, tokens=states.tokens.detach().float().requires_grad_())
    whole = reader(states)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = reader(states)
    half.float().sum().backward()
    torch.testing.assert_close(half.float(), whole, atol=0.05, rtol=0.05)


def test_content_may_be_of_another_precision_than_its_weights() -> None:
    """Where a device computes exponentials in full precision only."""
    inner, begins = inner_words(torch.tensor([0, 1]), torch.tensor([1, 2]))
    content, weight = torch.randn(3, 4), torch.randn(3)
    half = gather_content(content.bfloat16(), weight, inner, begins)
    torch.testing.assert_close(half.float(), gather_content(content, weight, inner, begins), atol=0.05, rtol=0.05)


@given(st.lists(st.lists(st.floats(-50, 50), min_size=1, max_size=5), min_size=1, max_size=6))
def test_softmax_in_bags_is_a_softmax_of_each_bag(bags: list[list[float]]) -> None:
    scores = torch.tensor([one for bag in bags for one in bag], dtype=torch.double, requires_grad=True)
    begins = torch.tensor([sum(map(len, bags[:place])) for place in range(len(bags))])
    shares = softmax_in_bags(scores, begins)
    expected = []
    for bag in bags:
        weights = [math.exp(one - max(bag)) for one in bag]
        expected += [weight / sum(weights) for weight in weights]
    assert shares.tolist() == pytest.approx(expected, abs=1e-12)
    weight = torch.arange(1.0, len(scores) + 1, dtype=torch.double)
    (mine,) = torch.autograd.grad((shares * weight).sum(), scores)
    apart = torch.cat([part.softmax(0) for part in scores.split([len(bag) for bag in bags])])
    (reference,) = torch.autograd.grad((apart * weight).sum(), scores)
    torch.testing.assert_close(mine, reference, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("scores", [[1e4, -1e4, 1e4], [-1e30, 3e30, 0.0]])
def test_softmax_in_bags_does_not_overflow(scores: list[float]) -> None:
    shares = softmax_in_bags(torch.tensor(scores), torch.tensor([0, 2]))
    assert shares[:2].sum() == pytest.approx(1.0)
    assert shares[2] == 1.0


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), max_size=8))
def test_inner_words_are_those_from_first_to_last(spans: list[tuple[int, int]]) -> None:
    first = torch.tensor([one for one, _ in spans], dtype=torch.long)
    inner, begins = inner_words(first, first + torch.tensor([more for _, more in spans], dtype=torch.long))
    lists = [list(range(one, one + more + 1)) for one, more in spans]
    assert inner.tolist() == [word for one in lists for word in one]
    assert begins.tolist() == [sum(map(len, lists[:place])) for place in range(len(lists))]


@settings(max_examples=60)
@given(st.integers(0, 30), st.integers(1, 14))
def test_candidates_are_all_spans_up_to_a_width(words: int, max_width: int) -> None:
    expected = spans_of(words, max_width)
    first, last = candidates(words, max_width)
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == expected
    assert first.dtype == last.dtype == "int64"
    assert count_candidates(words, max_width) == len(expected)
    for one in range(words):
        for other in range(one, words):
            place = expected.index((one, other)) if (one, other) in expected else None
            assert candidate_index(one, other, words, max_width) == place


@given(st.lists(st.lists(st.floats(-9, 9), min_size=1, max_size=4), max_size=5))
def test_numbers_of_sub_words_become_numbers_of_words(words: list[list[float]]) -> None:
    values = torch.tensor([[one, -one] for word in words for one in word], dtype=torch.double).reshape(-1, 2)
    word_of = torch.tensor([place for place, word in enumerate(words) for _ in word], dtype=torch.long)
    means = [[sum(word) / len(word), -sum(word) / len(word)] for word in words]
    found = mean_by_word(values, word_of, len(words))
    assert found.shape == (len(words), 2)
    torch.testing.assert_close(found, torch.tensor(means, dtype=torch.double).reshape(-1, 2))
    assert first_of_words(word_of).tolist() == [sum(map(len, words[:place])) for place in range(len(words))]


def test_a_sub_word_is_read_where_it_lies() -> None:
    states = states_of()
    found = SubWordFeatures()(states)
    rows = [states.row(text)[1:-1] for text in range(len(PIECES))]
    assert torch.equal(found, torch.cat(rows))


def test_candidates_of_long_texts_are_not_kept() -> None:
    tracemalloc.start()
    try:
        for words in range(1000, 1050):
            candidates(words, 12)
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
