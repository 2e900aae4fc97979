"""Texts to token ids and back to characters, on the Hugging Face `tokenizers` library."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import tokenizers
from numpy.typing import NDArray

from weft.data.texts import refuse_one
from weft.data.unicode import holds_half_character
from weft.errors import CheckpointError, ConfigError, DataError
from weft.tokenization.folder import read_folder, write_folder

Text = str | tuple[str, str]  # a text, or a pair of texts
Truncation = Literal["head", "tail", "head_tail"]


_NO_OFFSETS = np.empty((0, 2), np.int32)
_NO_TEXTS = np.empty(0, np.int8)
_NO_WORDS = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedRow:
    """One text or pair as T tokens, in as few bytes as may be: a run holds all its training rows like this.

    The last three are empty unless offsets were asked for. Special tokens have no text and no word, which is -1, and
    the offset (0, 0). Offsets leave out blanks at either end, whatever the tokenizer counts to a token, so that a token
    of blanks only covers no character.
    """

    ids: NDArray[np.int32]  # (T,)
    segments: NDArray[np.uint8] | None  # (T,) 0 for the first text, 1 for the second of a pair; None where all are 0
    dropped: int  # tokens of the text that did not fit
    # characters [start, end) of the text as the user wrote it, (T, 2)
    offsets: NDArray[np.int32] = field(default_factory=lambda: _NO_OFFSETS)
    # 0 the first text, 1 the second of a pair, (T,)
    texts: NDArray[np.int8] = field(default_factory=lambda: _NO_TEXTS)
    # number of the word within its text, (T,)
    words: NDArray[np.int32] = field(default_factory=lambda: _NO_WORDS)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, positions: NDArray[np.integer[Any]], dropped: int = 0) -> TokenizedRow:
        """Some of the tokens as a row of their own."""
        segments = None if self.segments is None else self.segments[positions]
        columns = (self.offsets, self.texts, self.words) if len(self.texts) else ()
        return TokenizedRow(self.ids[positions], segments, dropped, *(column[positions] for column in columns))

    def without_offsets(self) -> TokenizedRow:
        """The same tokens without what is known about their characters."""
        return TokenizedRow(self.ids, self.segments, self.dropped)

    def word_groups(self) -> list[tuple[int, int, list[int]]]:
        """Start, end (characters) and token positions of every word, in order; needs offsets.

        Words of blanks only, which byte-level tokenizers know, are left out.
        """
        groups: dict[tuple[int, int], list[int]] = {}
        for position, key in enumerate(zip(self.texts.tolist(), self.words.tolist(), strict=True)):
            if key[0] >= 0 and key[1] >= 0:
                groups.setdefault(key, []).append(position)
        offsets = self.offsets.tolist()
        return [(*span, group) for group in groups.values() if (span := _covered(offsets, group))]


def _covered(offsets: Sequence[Sequence[int]], positions: Sequence[int]) -> tuple[int, int] | None:
    """The characters from the first to the last of some tokens that cover any."""
    first, last = offsets[positions[0]], offsets[positions[-1]]
    if first[0] < first[1] and last[0] < last[1]:
        return first[0], last[1]
    covering = [offset for offset in (offsets[position] for position in positions) if offset[0] < offset[1]]
    return (covering[0][0], covering[-1][1]) if covering else None


class Tokenizer:
    """A trained tokenizer. Truncation is chosen per call and always counted, never silent."""

    def __init__(
        self, backend: tokenizers.Tokenizer, settings: Mapping[str, Any] | None = None, keeps_offsets: bool = False
    ) -> None:
        backend.no_truncation()
        backend.no_padding()
        self.backend, self.keeps_offsets = backend, keeps_offsets
        self.settings = settings  # tokenizer_config.json as it came, without which transformers lower-cases every text
        self._frames: dict[bool, list[tuple[int, int, int | None]]] = {}

    def __repr__(self) -> str:
        return f"Tokenizer({type(self.backend.model).__name__}, {self.size:,} tokens known)"

    @classmethod
    def from_folder(cls, folder: Path) -> Tokenizer:
        """The tokenizer of a model folder, from `tokenizer.json` or from the older vocabulary files."""
        return cls(*read_folder(folder))

    def with_offsets(self) -> Tokenizer:
        """The same tokenizer, whose rows always know their characters."""
        return Tokenizer(self.backend, self.settings, keeps_offsets=True)

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json`, and `tokenizer_config.json` where there was one, into a folder."""
        write_folder(self.backend, self.settings, folder)

    @property
    def size(self) -> int:
        """One more than the highest id, special and added tokens included."""
        return max(self.backend.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The token of every id, "" for ids without one."""
        tokens = [""] * self.size
        for token, id in self.backend.get_vocab(with_added_tokens=True).items():
            tokens[id] = token
        return tuple(tokens)

    @property
    def mask_id(self) -> int:
        """The id of the mask token."""
        named = (self.settings or {}).get("mask_token")
        named = named.get("content") if isinstance(named, dict) else named
        ids = (self.backend.token_to_id(name) for name in (named, "[MASK]", "<mask>") if name)
        mask_id = next((id for id in ids if id is not None), None)
        if mask_id is None:
            raise CheckpointError(
                "this tokenizer has no mask token, so that no token can be masked; use another encoder"
            )
        return mask_id

    def join(
        self, parts: Sequence[NDArray[np.int32]], begins_word: Sequence[NDArray[np.bool_]]
    ) -> tuple[TokenizedRow, NDArray[np.bool_]]:
        """Tokenized parts as one row with the special tokens between, and which of its tokens begin a word, (T,)."""
        frame = self._frame(len(parts) > 1)
        ids = [np.array([id], np.int32) if part is None else parts[part] for id, _, part in frame]
        begins = [np.array([False]) if part is None else begins_word[part] for *_, part in frame]
        segments = np.repeat(np.array([segment for _, segment, _ in frame], np.uint8), [len(piece) for piece in ids])
        row = TokenizedRow(np.concatenate(ids, dtype=np.int32), segments if segments.any() else None, 0)
        return row, np.concatenate(begins, dtype=np.bool_)

    def specials(self, pair: bool) -> int:
        """How many special tokens a row of one text has, or a row of a pair."""
        return sum(part is None for *_, part in self._frame(pair))

    def _frame(self, pair: bool) -> list[tuple[int, int, int | None]]:
        """What a row is put together from: each special token's id and segment, and between them the parts by number.

        Learned from a short text, since only the tokenizer itself knows where its special tokens stand.
        """
        if pair not in self._frames:
            frame: list[tuple[int, int, int | None]] = []
            row = self._short_row(pair)
            for token in zip(row.ids, row.type_ids, row.sequence_ids, strict=True):
                if token[2] is None or not frame or frame[-1][2] != token[2]:
                    frame.append(token)
            self._frames[pair] = frame
        return self._frames[pair]

    def _short_row(self, pair: bool) -> Any:
        for word in ("a", *self.backend.get_vocab()):
            with contextlib.suppress(Exception):  # as some raise for a word they do not know
                row = self.backend.encode(word, word if pair else None)
                if {0, int(pair)} <= set(row.sequence_ids):
                    return row
        raise CheckpointError("this tokenizer makes no token of any word of its own vocabulary; use another encoder")

    def encode(
        self,
        texts: Sequence[Text],
        *,
        max_length: int,
        truncation: Truncation = "head",
        offsets: bool = False,
    ) -> list[TokenizedRow]:
        """Tokenize texts or pairs, special tokens added, none longer than `max_length` tokens.

        What does not fit is dropped from the end (`head` stays), the beginning (`tail` stays) or the middle
        (`head_tail`), from the longer text of a pair first; `TokenizedRow.dropped` counts it.
        """
        if truncation not in get_args(Truncation):
            raise ConfigError(f"truncation {truncation!r} is not one of: {', '.join(get_args(Truncation))}")
        check_texts(texts)
        offsets = offsets or self.keeps_offsets
        pairs = zip(texts, self.encodings(texts, offsets=offsets), strict=True)
        return [self._fit(text, encoding, max_length, truncation, offsets) for text, encoding in pairs]

    def _fit(self, text: Text, encoding: Any, limit: int, truncation: Truncation, offsets: bool) -> TokenizedRow:
        segments = None if isinstance(text, str) and self._has_one_segment else _segments(encoding)
        columns: tuple[NDArray[Any], ...] = ()
        if offsets:
            columns = (_trimmed(encoding, text), _numbers(encoding.sequence_ids, np.int8), _numbers(encoding.word_ids))
        row = TokenizedRow(np.array(encoding.ids, np.int32), segments, 0, *columns)
        dropped = max(0, len(row) - limit)
        if not dropped:
            return row
        return row.take(kept_positions(_numbers(encoding.sequence_ids, np.int8), limit, truncation), dropped)

    @cached_property
    def _has_one_segment(self) -> bool:
        """Whether all tokens of a single text are of segment 0, so that none need be looked at."""
        try:
            return not any(segment for _, segment, _ in self._frame(pair=False))
        except CheckpointError:
            return False

    @property
    def _has_unknown(self) -> bool:
        """Whether there is a token for what the vocabulary does not know."""
        model = json.loads(self.backend.to_str())["model"]
        return model.get("unk_id") is not None or self.backend.token_to_id(model.get("unk_token") or "") is not None

    def encodings(
        self, texts: Sequence[Text], *, special: bool = True, offsets: bool = True
    ) -> list[tokenizers.Encoding]:
        """Whole texts as the library gives them."""
        encode = self.backend.encode_batch if offsets else self.backend.encode_batch_fast
        try:
            return encode(texts, add_special_tokens=special)
        except Exception:  # the library raises nothing else, and what it says might hold the text
            lacks = "" if self._has_unknown else ", as it has no unknown token to stand for what it does not know"
            raise CheckpointError(
                f"the tokenizer cannot encode this text{lacks}; use another tokenizer, or learn one: weft vocab"
            ) from None


def check_texts(texts: Sequence[Text], first: int = 0) -> None:
    """Raise for the first thing that is not a text, by row (counted from `first`) and type, never by its content."""
    refuse_one(texts)
    for row, text in enumerate(texts, first):
        parts = text if isinstance(text, tuple) and len(text) == 2 else (text,)
        if not all(isinstance(part, str) for part in parts):
            kinds = " and ".join(type(part).__name__ for part in parts)
            raise DataError(f"row {row} is not a text but {kinds}; allowed: a str, or a pair of them as a tuple")
        if any(holds_half_character(part) for part in parts):
            raise DataError(f"row {row} holds half a character (a lone surrogate); decode its source as UTF-8")


def _segments(encoding: Any) -> NDArray[np.uint8] | None:
    return np.array(encoding.type_ids, np.uint8) if any(encoding.type_ids) else None


def _numbers(column: Sequence[int | None], kind: type[np.signedinteger[Any]] = np.int32) -> NDArray[Any]:
    """A column of the library's, with -1 for None."""
    return np.array([-1 if number is None else number for number in column], kind)


def _trimmed(encoding: Any, text: Text) -> NDArray[np.int32]:
    """The offsets of all tokens without the blanks at their ends, (T, 2)."""
    parts = text if isinstance(text, tuple) else (text,)
    trimmed = [
        span if part is None or _is_tight(parts[part], *span) else _trim(parts[part], *span)
        for part, span in zip(encoding.sequence_ids, encoding.offsets, strict=True)
    ]
    return np.fromiter(chain.from_iterable(trimmed), np.int32, 2 * len(trimmed)).reshape(-1, 2)


def _is_tight(text: str, start: int, end: int) -> bool:
    """Whether characters neither begin nor end with a blank."""
    return start < end and not (text[start].isspace() or text[end - 1].isspace())


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    inner = text[start:end].lstrip()
    return end - len(inner), end - len(inner) + len(inner.rstrip())


def kept_positions(texts: NDArray[np.int8], limit: int, truncation: Truncation) -> NDArray[np.int64]:
    """The tokens that stay when a row is cut to `limit`, ascending: all special ones, and of each text a part.

    Args:
        texts: the text of each token, (T,), -1 for special ones.
    """
    special, first, second = (np.flatnonzero(texts == text) for text in (-1, 0, 1))
    max_tokens = limit - len(special)
    if max_tokens < 1:
        raise ConfigError(f"max_length {limit} leaves no room for text beside {len(special)} special tokens")
    shorter = min(len(first), len(second), max_tokens // 2)
    sizes = (max_tokens - shorter, shorter) if len(first) >= len(second) else (shorter, max_tokens - shorter)
    parts = (_part(first, sizes[0], truncation), _part(second, sizes[1], truncation))
    return np.sort(np.concatenate([special, *parts]))


def _part(positions: NDArray[np.int64], size: int, truncation: Truncation) -> NDArray[np.int64]:
    if size >= len(positions):
        return positions
    tail = {"head": 0, "tail": size, "head_tail": size // 2}[truncation]
    return np.concatenate([positions[: size - tail], positions[len(positions) - tail :]])
