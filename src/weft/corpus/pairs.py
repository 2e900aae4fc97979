"""Pairs of stretches of text, each some consecutive sentences, that are neighbours in a document or are not."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from weft.errors import DataError
from weft.tokenization.examples import Integers

_CHUNK = 1 << 16  # sentences that are walked over at a time


def sentence_pairs(
    offsets: Integers, documents: Integers, max_tokens: int, rng: np.random.Generator, *, file: str | None = None
) -> NDArray[np.int64]:
    """Pairs of texts, (N, 5): first and end token of a, first and end token of b, and 1 where b follows a, else 0.

    A side is some consecutive sentences of one document, up to half of `max_tokens`, or one longer sentence cut to
    that: a keeps its end and b its beginning, so that in a true pair b begins where a ends. Every side that has a
    neighbour is once the first of a pair. Half of them (one less where their number is odd) get that neighbour, and the
    others a side of another document, every such side as likely as any other. Where sides begin, which pairs are true
    and what the others get are drawn anew at each call. The pairs come in the order of the corpus.

    Args:
        offsets: token offsets, (S + 1,): sentence i is the tokens from offsets[i] to offsets[i + 1].
        documents: the document of each sentence, (S,), equal ones together.
        max_tokens: tokens for both sides together.
        file: what an error names.
    """
    if max_tokens < 2:
        raise ValueError(f"max_tokens is {max_tokens}, but two sides need at least 2 tokens")
    half = max_tokens // 2
    first = _sides(offsets, documents, half, rng)
    starts, ends = offsets[first], offsets[np.append(first, len(documents))[1:]]
    of = documents[first]
    borders = np.flatnonzero(of[1:] != of[:-1]) + 1
    if not len(borders):
        raise DataError(
            "next_sentence needs at least 2 documents, to draw sentences that do not follow, but the corpus has "
            f"{min(len(of), 1)}; choose how documents are divided (blocks, rows, or one per file)",
            file=file,
        )
    a = np.flatnonzero(of[1:] == of[:-1])
    if len(a) < 2:
        raise DataError(
            "next_sentence needs documents of several sentences, but hardly any sentence has a neighbour in its "
            "document; where a row or file is one sentence, put the sentences of a document together in a block",
            file=file,
        )
    is_next = rng.permutation(np.arange(len(a)) % 2)
    b = np.where(is_next, a + 1, _elsewhere(a, borders, len(of), rng))
    return np.stack(
        [np.maximum(starts[a], ends[a] - half), ends[a], starts[b], np.minimum(ends[b], starts[b] + half), is_next],
        axis=1,
        dtype=np.int64,
    )


def _elsewhere(sides: Integers, borders: Integers, total: int, rng: np.random.Generator) -> Integers:
    """For each side one of another document; `borders` are the sides at which documents begin, but the first."""
    document = np.searchsorted(borders, sides, side="right")
    begins, after = np.append(0, borders)[document], np.append(borders, total)[document]
    other = rng.integers(total - (after - begins))
    return np.asarray(np.where(other < begins, other, other + after - begins))


def _sides(offsets: Integers, documents: Integers, half: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The first sentences of groups of consecutive sentences, (G,), each filled up to `half` tokens.

    No group crosses documents, and the first of each document ends after any of its sentences, at random. A sentence
    longer than that is a group of its own.
    """
    if not len(documents):
        return np.empty(0, np.int64)
    following = _following(offsets, documents, half)
    begins = np.flatnonzero(np.append(True, documents[1:] != documents[:-1]))
    following[begins] = rng.integers(begins + 1, following[begins] + 1)
    return _chain(following)


def _following(offsets: Integers, documents: Integers, max_tokens: int) -> NDArray[np.int64]:
    """For each sentence the first that does not fit into a group that begins with it, (S,)."""
    following = np.empty(len(documents), np.int64)
    for start in range(0, len(documents), _CHUNK):
        indices = np.arange(start, min(start + _CHUNK, len(documents)))
        fits = np.searchsorted(offsets, offsets[indices] + max_tokens, side="right") - 1
        fits = np.maximum(fits, indices + 1)
        near = documents[start : fits[-1]]  # as far as any of these groups could reach
        ends = start + np.append(np.flatnonzero(near[1:] != near[:-1]) + 1, len(near))
        following[indices] = np.minimum(fits, ends[np.searchsorted(ends, indices, side="right")])
    return following


def _chain(following: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sentences that are reached from the first by going from each to the one that follows it, (G,).

    Walked over a chunk at a time, as plain numbers are quick to go through but large.
    """
    groups, at = array("q"), 0
    for start in range(0, len(following), _CHUNK):
        steps = following[start : start + _CHUNK].tolist()
        while at < start + len(steps):
            groups.append(at)
            at = steps[at - start]
    return np.array(groups, np.int64)
