"""Texts to token ids and back to characters, on the Hugging Face `tokenizers` library."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import tokenizers
from numpy.typing import NDArray

from weft.data.formats import holds_half_character
from weft.errors import CheckpointError, ConfigError, DataError
from weft.tokenization.folder import read_folder, write_folder

Text = str | tuple[str, str]  # a text, or a pair of texts
Truncation = Literal["head", "tail", "head_tail"]


@dataclass(frozen=True, slots=True)
class TokenizedRow:
    """One text or pair as tokens.

    The last three are empty unless offsets were asked for. They have one entry per token; special tokens have no text
    and no word, and the offset (0, 0). Offsets leave out blanks at either end, whatever the tokenizer counts to a
    token, so that a token of blanks only covers no character.
    """

    ids: list[int]
    segments: list[int]
    dropped: int  # tokens of the text that did not fit
    offsets: Sequence[tuple[int, int]] = ()  # characters [start, end) of the text as the user wrote it
    texts: Sequence[int | None] = ()  # 0 the first text, 1 the second of a pair
    words: Sequence[int | None] = ()  # number of the word within its text

    def word_groups(self) -> list[tuple[int, int, list[int]]]:
        """Start, end (characters) and token places of every word, in order; needs offsets.

        Words of blanks only, which byte-level tokenizers know, are left out.
        """
        groups: dict[tuple[int, int], list[int]] = {}
        for place, (text, word) in enumerate(zip(self.texts, self.words, strict=True)):
            if text is not None and word is not None:
                groups.setdefault((text, word), []).append(place)
        return [(*span, places) for places in groups.values() if (span := self._span(places))]

    def _span(self, places: Sequence[int]) -> tuple[int, int] | None:
        """The characters from the first to the last of these tokens that cover any."""
        spans = [span for span in (self.offsets[place] for place in places) if span[0] < span[1]]
        return (spans[0][0], spans[-1][1]) if spans else None


class Tokenizer:
    """A trained tokenizer. Truncation is chosen per call and always counted, never silent."""

    def __init__(self, backend: tokenizers.Tokenizer, settings: Mapping[str, Any] | None = None) -> None:
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.settings = settings  # tokenizer_config.json as it came, without which transformers lower-cases every text
        self._frames: dict[bool, list[tuple[int, int, int | None]]] = {}

    @classmethod
    def from_folder(cls, folder: Path) -> Tokenizer:
        """The tokenizer of a model folder, from `tokenizer.json` or from the older vocabulary files."""
        return cls(*read_folder(folder))

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json`, and `tokenizer_config.json` where there was one, into a folder."""
        write_folder(self.backend, self.settings, folder)

    @property
    def size(self) -> int:
        """One more than the highest id, special and added tokens included."""
        return max(self.backend.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    @property
    def mask_id(self) -> int:
        """The id of the token that hides others."""
        named = (self.settings or {}).get("mask_token")
        named = named.get("content") if isinstance(named, dict) else named
        found = (self.backend.token_to_id(name) for name in (named, "[MASK]", "<mask>") if name)
        number = next((one for one in found if one is not None), None)
        if number is None:
            raise CheckpointError(
                "this tokenizer has no mask token, so that no token can be masked; use another encoder"
            )
        return number

    def join(
        self, parts: Sequence[NDArray[np.int32]], begins_word: Sequence[NDArray[np.bool_]]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[int]]:
        """Tokenized parts as one row: ids with the special tokens between, where words begin, and segments."""
        pieces: list[Any] = []
        starts: list[Any] = []
        segments: list[int] = []
        for number, segment, part in self._frame(len(parts) > 1):
            pieces.append([number] if part is None else parts[part])
            starts.append([False] if part is None else begins_word[part])
            segments += [segment] * len(pieces[-1])
        return np.concatenate(pieces).astype(np.int64), np.concatenate(starts).astype(bool), segments

    def specials(self, pair: bool) -> int:
        """How many special tokens a row of one text has, or a row of a pair."""
        return sum(part is None for *_, part in self._frame(pair))

    def _frame(self, pair: bool) -> list[tuple[int, int, int | None]]:
        """What a row is put together from: each special token's id and segment, and between them the parts by number.

        Learned from a short text, since only the tokenizer itself knows where its special tokens stand.
        """
        if pair not in self._frames:
            found: list[tuple[int, int, int | None]] = []
            row = self._short_row(pair)
            for one in zip(row.ids, row.type_ids, row.sequence_ids, strict=True):
                if one[2] is None or not found or found[-1][2] != one[2]:
                    found.append(one)
            self._frames[pair] = found
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
        pairs = zip(texts, self.encodings(texts, offsets=offsets), strict=True)
        return [_fit(text, encoding, max_length, truncation, offsets) for text, encoding in pairs]

    def encodings(
        self, texts: Sequence[Text], *, special: bool = True, offsets: bool = True
    ) -> list[tokenizers.Encoding]:
        """Whole texts as the library gives them."""
        encode = self.backend.encode_batch if offsets else self.backend.encode_batch_fast
        try:
            return encode(texts, add_special_tokens=special)
        except Exception as error:  # the library raises bare Exception, and what it says might hold the text
            unknown = "unk" in str(error).lower()
            lacks = ", as it has no unknown token to stand for what it does not know" if unknown else ""
            raise CheckpointError(
                f"the tokenizer cannot encode this text{lacks}; use another tokenizer, or learn one: weft vocab"
            ) from None


def check_texts(texts: Sequence[Text], first: int = 0) -> None:
    """Raise for the first thing that is not a text, by row (counted from `first`) and type, never by its content."""
    refuse_bare_text(texts)
    for row, text in enumerate(texts, first):
        parts = text if isinstance(text, tuple) and len(text) == 2 else (text,)
        if not all(isinstance(part, str) for part in parts):
            kinds = " and ".join(type(part).__name__ for part in parts)
            raise DataError(f"row {row} is not a text but {kinds}; allowed: a str, or a pair of them as a tuple")
        if any(holds_half_character(part) for part in parts):
            raise DataError(f"row {row} holds half a character (a lone surrogate); decode its source as UTF-8")


def refuse_bare_text(texts: Iterable[Text]) -> None:
    """Raise for a text where texts are expected, which would be taken for a list of its characters."""
    if isinstance(texts, str):
        raise DataError("received one text where a list of texts is expected; put it into a list")


def _fit(text: Text, encoding: Any, limit: int, truncation: Truncation, offsets: bool) -> TokenizedRow:
    columns: list[Sequence[Any]] = [encoding.ids, encoding.type_ids]
    if offsets:
        columns += [_trimmed(encoding, text), encoding.sequence_ids, encoding.word_ids]
    dropped = max(0, len(encoding.ids) - limit)
    if dropped:
        keep = kept_places(encoding.sequence_ids, limit, truncation)
        columns = [[column[place] for place in keep] for column in columns]
    ids, segments, *places = columns
    return TokenizedRow(list(ids), list(segments), dropped, *places)


def _trimmed(encoding: Any, text: Text) -> list[tuple[int, int]]:
    """The offsets of all tokens without the blanks at their ends."""
    parts = text if isinstance(text, tuple) else (text,)
    return [
        span if part is None else _trim(parts[part], *span)
        for part, span in zip(encoding.sequence_ids, encoding.offsets, strict=True)
    ]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    inner = text[start:end].lstrip()
    return end - len(inner), end - len(inner) + len(inner.rstrip())


def kept_places(texts: Sequence[int | None], limit: int, truncation: Truncation) -> list[int]:
    """The token places that stay when a row is cut to `limit` tokens: all special ones, and of each text a part."""
    places: dict[int, list[int]] = {0: [], 1: []}
    special: list[int] = []
    for place, text in enumerate(texts):
        (special if text is None else places[text]).append(place)
    max_tokens = limit - len(special)
    if max_tokens < 1:
        raise ConfigError(f"max_length {limit} leaves no room for text beside {len(special)} special tokens")
    shorter = min(len(places[0]), len(places[1]), max_tokens // 2)
    sizes = (max_tokens - shorter, shorter) if len(places[0]) >= len(places[1]) else (shorter, max_tokens - shorter)
    return sorted(special + _part(places[0], sizes[0], truncation) + _part(places[1], sizes[1], truncation))


def _part(places: list[int], size: int, truncation: Truncation) -> list[int]:
    if size >= len(places):
        return places
    tail = {"head": 0, "tail": size, "head_tail": size // 2}[truncation]
    return places[: size - tail] + places[len(places) - tail :]
