"""How a vocabulary cuts words and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tokenizers import decoders

from weft.corpus.subwords import SPECIAL
from weft.corpus.vocabulary import parts, read_texts
from weft.tokenization.tokenizer import Tokenizer


def segment_word(tokenizer: Tokenizer, word: str) -> list[str]:
    """The pieces of a word inside a text, where a blank comes before it.

    Pieces of bytes are shown as the characters they stand for, a blank as ▁; those that end within a character are
    shown as the vocabulary spells them.
    """
    backend = tokenizer.backend
    ids = backend.encode(f" {word}", add_special_tokens=False).ids
    pieces = [str(backend.id_to_token(id)) for id in ids]
    if not isinstance(backend.decoder, decoders.ByteLevel):
        return pieces
    spelled = [backend.decode([id], skip_special_tokens=False).replace(" ", "▁") for id in ids]
    return [piece if "\N{REPLACEMENT CHARACTER}" in text else text for piece, text in zip(pieces, spelled, strict=True)]


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """How a vocabulary cuts texts."""

    words: int  # between blanks
    tokens: int
    unknown: int  # tokens that are [UNK]


def measure(tokenizer: Tokenizer, files: Sequence[Path], column: str = "text", texts: int = 10_000) -> TokenCounts:
    """Words, tokens and unknown tokens of the first texts of files."""
    words = tokens = unknown = 0
    first = islice((text for file in files for text in read_texts(file, column)), texts)
    pieces = (part for text in first for part in parts(text))
    while batch := list(islice(pieces, 256)):
        words += sum(len(text.split()) for text in batch)
        for encoding in tokenizer.backend.encode_batch_fast(batch, add_special_tokens=False):
            tokens += len(encoding.ids)
            unknown += encoding.ids.count(SPECIAL.index("[UNK]"))
    return TokenCounts(words, tokens, unknown)
