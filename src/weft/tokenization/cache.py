"""One tokenization for all tasks that read the same texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.tokenization.tokenizer import Text, TokenizedRow, Tokenizer, Truncation

_LETTER = re.compile(r"\w")  # which every tokenizer makes a token of, be it one for what it does not know


class SharedTokenizer(Tokenizer):
    """A tokenizer that keeps what it made of texts, so that a second task with the same limit tokenizes nothing.

    It keeps everything, so it should live no longer than the rows it is made for.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.__dict__.update(tokenizer.__dict__)  # with whatever it has learned about itself so far
        self._source = tokenizer  # which may itself have kept some
        self._kept: dict[tuple[Text, int, Truncation, bool], TokenizedRow] = {}

    def encode(
        self, texts: Sequence[Text], *, max_length: int, truncation: Truncation = "head", offsets: bool = False
    ) -> list[TokenizedRow]:
        keys = [(text, max_length, truncation, offsets) for text in texts]
        if new := [key for key in dict.fromkeys(keys) if key not in self._kept]:
            rows = self._source.encode(
                [key[0] for key in new], max_length=max_length, truncation=truncation, offsets=offsets
            )
            self._kept.update(zip(new, rows, strict=True))
        return [self._kept[key] for key in keys]

    def has_tokens(self, text: str) -> bool:
        """Whether there is anything to read in a text beside special tokens: blanks and control characters are not."""
        return bool(_LETTER.search(text) or self.encodings([text], special=False, offsets=False)[0].ids)
