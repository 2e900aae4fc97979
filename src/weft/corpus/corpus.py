"""Raw text as rows of tokens, packed without padding.

A corpus is divided into documents, documents into sentences. Only what a step of training looks at is read into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.corpus.cache import count_tokens, digest, open_cache, write_cache
from weft.corpus.documents import Documents, check_kind
from weft.corpus.packing import pack_rows
from weft.errors import ConfigError, DataError
from weft.tokenization.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Corpus:
    """A tokenized corpus, packed to rows. Its large arrays are read-only views of a memory-mapped file."""

    tokens: NDArray[np.int32]  # (T,) ids of all documents end to end, without special tokens
    begins_word: NDArray[np.bool_]  # (T,) whether a token begins a word
    sentences: NDArray[np.int64]  # (S + 1,) token offsets: sentence i is tokens[sentences[i] : sentences[i + 1]]
    sentence_documents: NDArray[np.int64]  # (S,) document of each sentence, counted from 0
    counts: NDArray[np.int64]  # (V,) how often each id occurs; 0 for special ids
    rows: NDArray[np.int64]  # (N, 2) first token and end of each row; no row crosses documents

    def __len__(self) -> int:
        return len(self.rows)

    def ids(self, row: int) -> NDArray[np.int32]:
        """The token ids of a row, a view."""
        start, end = self.rows[row]
        return self.tokens[start:end]

    def word_starts(self, row: int) -> NDArray[np.bool_]:
        """Whether each token of a row begins a word, a view."""
        start, end = self.rows[row]
        return self.begins_word[start:end]

    def only(self, kept: NDArray[np.bool_]) -> Corpus:
        """The corpus of some of its sentences, (S,), which lie together and are whole documents; a view."""
        sentences = np.flatnonzero(kept)
        first, last = int(sentences[0]), int(sentences[-1]) + 1
        begin, end = self.sentences[first], self.sentences[last]
        counts = count_tokens(self.tokens[begin:end], len(self.counts))
        return Corpus(
            self.tokens,
            self.begins_word,
            self.sentences[first : last + 1],
            self.sentence_documents[first:last],
            np.where(self.counts > 0, counts, 0),  # special ids stay at 0
            self.rows[(self.rows[:, 0] >= begin) & (self.rows[:, 1] <= end)],
        )

    def log_shares(self) -> NDArray[np.float64]:
        """The logarithm of each id's share of the tokens, (V,), as if it occurred once more: none is impossible."""
        counts = self.counts + 1.0
        return np.asarray(np.log(counts / counts.sum()))


def load_corpus(
    paths: Sequence[Path],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    max_tokens: int,
    documents: Documents = "blocks",
    column: str = "text",
    progress: Callable[[int], None] | None = None,
    file: str | Path | None = None,
) -> Corpus:
    """The corpus of some files, from the cache in `folder` if it is there and whole, else tokenized into it.

    The digest covers the content of the files, so they are read once more at each call; that is far quicker than to
    tokenize them. Caches of earlier contents stay in the folder.

    Args:
        paths: text files, or tables of which one column is read; several make one corpus, in this order.
        folder: where the cache is kept.
        max_tokens: tokens of a row, special tokens not counted.
        documents: what a document is: a block between blank lines, a file, or a line or row.
        column: the column of tables that holds the text.
        progress: called with the bytes of text tokenized so far; at the end with the size of all files.
        file: what an error about the corpus as a whole names; all its files by default.
    """
    if max_tokens < 1:
        raise ConfigError(
            f"max_length leaves {max_tokens} tokens of text in a row; at least 1 is needed beside the special tokens"
        )
    paths = [Path(path) for path in paths]
    for path in paths:
        check_kind(path, documents)
    cache = folder / f"corpus-{digest(paths, tokenizer, documents, column)}.arrow"
    columns = open_cache(cache, tokenizer.size)
    if columns is None:
        write_cache(cache, paths, tokenizer, documents, column, progress, file or ", ".join(map(str, paths)))
        columns = open_cache(cache, tokenizer.size)
        if columns is None:
            raise DataError("was just written, but does not read back as written; check the disk", file=cache)
    columns.counts[special_ids(tokenizer)] = 0
    rows = pack_rows(columns.sentences, columns.documents, max_tokens, columns.begins_word)
    return Corpus(*columns, rows)


def special_ids(tokenizer: Tokenizer) -> list[int]:
    """The ids of all special tokens, the unknown token included; a text may spell some of them."""
    added = tokenizer.backend.get_added_tokens_decoder()
    return sorted(number for number, token in added.items() if token.special)
