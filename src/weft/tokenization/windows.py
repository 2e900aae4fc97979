"""A row that is too long for the encoder as several rows that overlap, and which of them decides about which token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import ConfigError
from weft.tokenization.tokenizer import TokenizedRow

TokenNumbers = NDArray[np.floating]
TokenRange = tuple[int, int]  # tokens [start, end) of the whole row
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Part of a row as a row of its own, special tokens included."""

    row: TokenizedRow
    positions: Positions  # of every token of the window in the whole row


def cut_windows(whole: TokenizedRow, limit: int, overlap: int) -> list[Window]:
    """Cover the row of a single text, encoded with offsets, by windows of at most `limit` tokens.

    A row that fits is one window. Otherwise every window has the special tokens at either end of the row, and two
    neighbours share `overlap` tokens, or fewer where a word would be cut; at most half of the text's tokens are shared.
    Only words longer than a window are ever cut. The last window begins early enough to be as full as the others.
    """
    size = len(whole)
    if size <= limit:
        return [_window(whole, np.arange(size))]
    first, stop = _text(whole)
    max_tokens = limit - first - (size - stop)
    if max_tokens < 1:
        raise ConfigError(
            f"a window of {limit} tokens leaves no room for text beside {limit - max_tokens} special tokens"
        )
    stretches = _stretches(_words(whole), (first, stop), max_tokens, max(0, min(overlap, max_tokens // 2)))
    before, after = np.arange(first), np.arange(stop, size)
    return [_window(whole, np.concatenate([before, np.arange(*stretch), after])) for stretch in stretches]


def deciding_windows(whole: TokenizedRow, windows: Sequence[Window]) -> tuple[Positions, Positions]:
    """For each token of the row the window that decides about it, (T,), and its position in that window, (T,).

    It is the window in which the token's word is whole and farthest from the nearer end of the stretch of text, an end
    of the whole text being no end; the earlier one of equals. So the tokens of a word have the same window, unless no
    window holds all of it: then each token is taken by itself. Special tokens belong to the first window.
    """
    size, text, words = len(whole), _text(whole), _words(whole)
    chosen, inside = np.zeros(size, np.int64), np.zeros(size, np.int64)
    inside[windows[0].positions] = np.arange(len(windows[0].positions))
    best = np.full(size, -1.0)
    for number, window in enumerate(windows):
        own = np.flatnonzero((window.positions >= text[0]) & (window.positions < text[1]))
        positions = window.positions[own]
        context = _context(positions, words[positions], text)
        better = context > best[positions]
        best[positions[better]], chosen[positions[better]] = context[better], number
        inside[positions[better]] = own[better]
    return chosen, inside


def join_windows(
    whole: TokenizedRow, windows: Sequence[Window], shares: Sequence[TokenNumbers], sums: Sequence[TokenNumbers]
) -> tuple[TokenNumbers, TokenNumbers]:
    """Two numbers for each token of a whole row, (S,) each, from those of the tokens of its windows.

    Of `shares` a token has that of the window that decides about it, a special one the mean over all windows. Of `sums`
    it has what all windows that it is in say, added up.
    """
    special, (decides, _) = whole.texts < 0, deciding_windows(whole, windows)
    share, total = np.zeros(len(whole)), np.zeros(len(whole))
    for number, (window, some, more) in enumerate(zip(windows, shares, sums, strict=True)):
        at = window.positions
        total[at] += more
        share[at] += np.where(special[at], some / len(windows), some * (decides[at] == number))
    return share, total


def _context(positions: Positions, words: Positions, text: TokenRange) -> NDArray[np.float64]:
    """How far the word of each token, (K, 2), is from the ends of a window's stretch, in tokens, (K,).

    Where the stretch does not hold all of the word, how far the token itself is; less than any whole word then.
    """
    if not len(positions):
        return np.empty(0)
    begin, end = positions[0], positions[-1] + 1
    whole = (words[:, 0] >= begin) & (words[:, 1] <= end)
    first, last = np.where(whole, words[:, 0], positions), np.where(whole, words[:, 1], positions + 1)
    far = float(2 * (text[1] - text[0]) + 2)  # more than any distance
    before = np.where(begin == text[0], far, first - begin)
    after = np.where(end == text[1], far, end - last)
    return np.asarray(np.minimum(before, after) + np.where(whole, 2 * far, 0.0))


def _text(whole: TokenizedRow) -> TokenRange:
    """The tokens between the special ones at either end of the row."""
    positions = np.flatnonzero(whole.texts >= 0)
    return (int(positions[0]), int(positions[-1]) + 1) if len(positions) else (len(whole), len(whole))


def _words(whole: TokenizedRow) -> Positions:
    """For each token the tokens [start, end) of its word, (T, 2); a token without a word is alone."""
    words = whole.words
    begins = np.flatnonzero(np.append(True, (words[1:] != words[:-1]) | (words[1:] < 0))[: len(words)])
    ends = np.append(begins, len(words))[1:]
    return np.repeat(np.stack([begins, ends], axis=1), ends - begins, axis=0)


def _stretches(words: Positions, text: TokenRange, max_tokens: int, overlap: int) -> list[TokenRange]:
    """Cover a text of more than `max_tokens`; every stretch begins and ends after the one before."""
    stop = text[1]

    def word(position: int) -> TokenRange:
        start, end = words[position].tolist()
        return start, end

    def cuts(position: int) -> bool:
        """Whether a word that fits into a window would be cut before this position."""
        start, end = word(position)
        return start < position and end - start <= max_tokens

    stretches: list[TokenRange] = []
    start = text[0]
    while start + max_tokens < stop:
        end = start + max_tokens
        if cuts(end):
            end = word(end)[0]
        stretches.append((start, end))
        begins, ends = word(end)
        start = end - overlap
        if ends - begins <= max_tokens:  # the next word must fit, or the next stretch would end where this one does
            start = max(start, ends - max_tokens)
        if cuts(start):
            start = word(start)[1]
    start = stop - max_tokens
    return [*stretches, (word(start)[1] if cuts(start) else start, stop)]


def _window(whole: TokenizedRow, positions: Positions) -> Window:
    return Window(whole.take(positions), positions)
