"""One tokenization for all tasks that read the same texts."""

from __future__ import annotations

from collections.abc import Sequence

from weft.tokenization.tokenizer import Text, TokenizedRow, Tokenizer, Truncation


class SharedTokenizer(Tokenizer):
    """A tokenizer that keeps what it made of texts, so that a second task with the same limit tokenizes nothing.

    It keeps everything, so it should live no longer than the rows it is made for.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer.backend, tokenizer.settings)
        self._kept: dict[tuple[tuple[Text, ...], int, Truncation, bool], list[TokenizedRow]] = {}

    def encode(
        self, texts: Sequence[Text], *, max_length: int, truncation: Truncation = "head", offsets: bool = False
    ) -> list[TokenizedRow]:
        key = tuple(texts), max_length, truncation, offsets
        if key not in self._kept:
            self._kept[key] = super().encode(texts, max_length=max_length, truncation=truncation, offsets=offsets)
        return self._kept[key]
