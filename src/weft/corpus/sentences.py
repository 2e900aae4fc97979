"""Sentences: where they end, and pairs of them, joined up to a length, that are neighbours or are not.

The splitter looks at marks and capitals only. It knows the common English abbreviations, initials and the full stops of
Chinese and Japanese; elsewhere it errs towards longer sentences where no capital follows, and that does no harm to
pretraining.
"""

from __future__ import annotations

import re
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import DataError

Integers = NDArray[np.integer[Any]]

# Possessive throughout, so that no text, however odd, is gone through more than a few times.
_END = re.compile(
    r"""
    (?<![.!?…]) (?P<mark>[.!?…]++) ["'”’»)\]]*+        # marks, and what closes with them
    (?=\s++ ["'“‘«(\[¿¡–—-]*+ (?P<next>\w))            # then a blank, and a word that something may open
    | [。！？]++ [”’」』）]*+                             # marks that need no blank after them
    | (?<!\n) \n++                                     # a line's end
    """,
    re.VERBOSE,
)
_CHUNK = 1 << 16  # sentences that are walked over at a time
_LONGEST = 8  # letters of an abbreviation, and more
_TITLES = frozenset(
    (
        "adm",
        "capt",
        "cmdr",
        "col",
        "dr",
        "fr",
        "gen",
        "gov",
        "hon",
        "lt",
        "maj",
        "messrs",
        "mlle",
        "mme",
        "mr",
        "mrs",
        "ms",
        "msgr",
        "mt",
        "pres",
        "prof",
        "rep",
        "rev",
        "sen",
        "sgt",
        "st",
        "vs",
    )
)
_BEFORE_NUMBERS = frozenset(
    (
        "approx",
        "apr",
        "art",
        "aug",
        "ca",
        "ch",
        "dec",
        "ed",
        "feb",
        "fig",
        "figs",
        "jan",
        "jul",
        "jun",
        "mar",
        "no",
        "nos",
        "nov",
        "oct",
        "p",
        "pp",
        "sec",
        "sep",
        "sept",
        "vol",
    )
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with the blanks before it; joined, they are the text again.

    A sentence ends with a line, and at . ! ? … before a blank and a capital, a digit or a letter without case. A full
    stop after an initial, a title or (before a digit) an abbreviation such as "No." ends nothing.
    """
    cuts = [found.end() for found in _END.finditer(text) if _ends(found)]
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return [piece for piece in pieces if piece]


def _ends(found: re.Match[str]) -> bool:
    following = found["next"]
    if following is None:
        return True
    if following.islower() or following == "_":
        return False
    if found["mark"] != ".":
        return True
    word = _word_before(found.string, found.start())
    if len(word) == 1 and word.isupper() and word != "I":  # an initial
        return False
    if word.lower() in _TITLES:
        return False
    return not (following.isdigit() and word.lower() in _BEFORE_NUMBERS)


def _word_before(text: str, end: int) -> str:
    """The letters that end here, as far back as matters for an abbreviation."""
    start = end
    while start > max(0, end - _LONGEST) and text[start - 1].isalnum():
        start -= 1
    return text[start:end]


def sentence_pairs(
    offsets: Integers, documents: Integers, max_tokens: int, rng: np.random.Generator, *, file: str | None = None
) -> NDArray[np.int64]:
    """Pairs of texts, (N, 5): first and end token of a, first and end token of b, and 1 where b follows a, else 0.

    A side is some consecutive sentences of one document, up to half the room, or one longer sentence cut to that: a
    keeps its end and b its beginning, so that in a true pair b begins where a ends. Every side that has a neighbour is
    once the first of a pair. Half of them (one less where their number is odd) get that neighbour, and the others a
    side of another document, every such side as likely as any other. Where sides begin, which pairs are true and what
    the others get are drawn anew at each call. The pairs come in the order of the corpus.

    Args:
        offsets: token offsets, (S + 1,): sentence i is the tokens from offsets[i] to offsets[i + 1].
        documents: the document of each sentence, (S,), equal ones together.
        room: tokens for both sides together.
        file: what an error names.
    """
    if max_tokens < 2:
        raise ValueError(f"room is {max_tokens}, but two sides need at least 2 tokens")
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
    drawn = rng.integers(total - (after - begins))
    return np.asarray(np.where(drawn < begins, drawn, drawn + after - begins))


def _sides(offsets: Integers, documents: Integers, half: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The first sentences of groups of consecutive sentences, (G,), each filled up to half the room.

    No group crosses documents, and the first of each document ends after any of its sentences, at random. A sentence
    longer than half the room is a group of its own.
    """
    if not len(documents):
        return np.empty(0, np.int64)
    following = _following(offsets, documents, half)
    begins = np.flatnonzero(np.append(True, documents[1:] != documents[:-1]))
    following[begins] = rng.integers(begins + 1, following[begins] + 1)
    return _chain(following)


def _following(offsets: Integers, documents: Integers, max_tokens: int) -> NDArray[np.int64]:
    """For each sentence the first that has no place in a group that begins with it, (S,)."""
    following = np.empty(len(documents), np.int64)
    for start in range(0, len(documents), _CHUNK):
        places = np.arange(start, min(start + _CHUNK, len(documents)))
        fits = np.searchsorted(offsets, offsets[places] + max_tokens, side="right") - 1
        fits = np.maximum(fits, places + 1)
        near = documents[start : fits[-1]]  # as far as any of these groups could reach
        ends = start + np.append(np.flatnonzero(near[1:] != near[:-1]) + 1, len(near))
        following[places] = np.minimum(fits, ends[np.searchsorted(ends, places, side="right")])
    return following


def _chain(following: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places that are reached from the first by going from each to the one that follows it, (G,).

    Walked over a chunk at a time, as plain numbers are quick to go through but large.
    """
    groups, at = array("q"), 0
    for start in range(0, len(following), _CHUNK):
        steps = following[start : start + _CHUNK].tolist()
        while at < start + len(steps):
            groups.append(at)
            at = steps[at - start]
    return np.array(groups, np.int64)
