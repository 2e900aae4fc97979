"""Raw text as rows of tokens: read as a stream, tokenized once into a memory-mapped file, packed without padding.

A corpus is divided into documents, documents into sentences. Sentences are tokenized one by one and lie end to end in
an Arrow file of one record batch, which is named after a digest of all that shaped it and is used again while that
stays the same. Only what a step of training looks at is read into memory.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import tokenizers
from numpy.typing import NDArray

from weft.corpus.documents import Documents, check_kind, read_pieces
from weft.corpus.packing import pack_rows
from weft.corpus.sentences import split_sentences
from weft.data.atomic import replacing
from weft.errors import CheckpointError, ConfigError, DataError
from weft.tokenization.tokenizer import Tokenizer

_VERSION = 1  # of the cache; raise it whenever reading, splitting or the columns change
_BATCH = 1 << 20  # characters that are tokenized at a time
_BLOCK = 1 << 24  # tokens that are counted at a time


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
        room: tokens of a row, special tokens not counted.
        documents: what a document is: a block between blank lines, a file, or a line or row.
        column: the column of tables that holds the text.
        progress: called with the bytes of text tokenized so far; at the end with the size of all files.
        file: what an error about the corpus as a whole names; all its files by default.
    """
    if max_tokens < 1:
        raise ConfigError(f"room for {max_tokens} tokens in a row; at least 1 is needed beside the special tokens")
    paths = [Path(path) for path in paths]
    for path in paths:
        check_kind(path, documents)
    cache = folder / f"corpus-{_digest(paths, tokenizer, documents, column)}.arrow"
    columns = _open_cache(cache, tokenizer.size)
    if columns is None:
        _write_cache(cache, paths, tokenizer, documents, column, progress, file or ", ".join(map(str, paths)))
        columns = _open_cache(cache, tokenizer.size)
        if columns is None:
            raise DataError("was just written, but does not read back as written; check the disk", file=cache)
    tokens, begins_word, sentences, of, counts = columns
    counts[special_ids(tokenizer)] = 0
    return Corpus(tokens, begins_word, sentences, of, counts, pack_rows(sentences, of, max_tokens, begins_word))


def special_ids(tokenizer: Tokenizer) -> list[int]:
    """The ids of all special tokens, the unknown token included; a text may spell some of them."""
    added = tokenizer.backend.get_added_tokens_decoder()
    return sorted(number for number, token in added.items() if token.special)


# Tokenizing into the cache


def _digest(paths: Sequence[Path], tokenizer: Tokenizer, documents: Documents, column: str) -> str:
    whole = hashlib.blake2b(digest_size=16)
    options = [_VERSION, tokenizers.__version__, documents, column, [path.suffix.lower() for path in paths]]
    whole.update(json.dumps(options).encode())
    whole.update(hashlib.blake2b(tokenizer.backend.to_str().encode()).digest())
    for path in paths:
        try:
            with path.open("rb") as file:
                whole.update(hashlib.file_digest(file, hashlib.blake2b).digest())
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", file=path) from None
    return whole.hexdigest()


def _sentences(paths: Iterable[Path], documents: Documents, column: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Every sentence with its file and document.

    One blank stands before a sentence that follows a blank or a line end in its document, as byte-level tokenizers
    write the first word differently then.
    """
    for file, path in enumerate(paths):
        for document, pieces in groupby(read_pieces(path, documents, column), key=lambda piece: piece[0]):
            first, blank = True, False
            for sentence in (sentence for _, text in pieces for sentence in split_sentences(text)):
                bare = sentence.strip()
                blank |= sentence[0].isspace()
                if bare:
                    yield (file, document), " " + bare if blank and not first else bare
                    first, blank = False, False
                blank |= sentence[-1].isspace()


def _batches(sentences: Iterable[tuple[tuple[int, int], str]]) -> Iterator[list[tuple[tuple[int, int], str]]]:
    batch, size = [], 0
    for item in sentences:
        batch.append(item)
        size += len(item[1])
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write_cache(
    cache: Path,
    paths: Sequence[Path],
    tokenizer: Tokenizer,
    documents: Documents,
    column: str,
    progress: Callable[[int], None] | None,
    file: str | Path,
) -> None:
    """Tokenize into one raw file per column, then bind these to an Arrow file; neither step holds the corpus."""
    total, done = sum(path.stat().st_size for path in paths), 0
    counts = np.zeros(tokenizer.size, np.int64)
    tokens, words, document, last = 0, 0, -1, None
    with replacing(cache) as temporary, ExitStack() as stack:
        raw = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".corpus-", dir=cache.parent)))
        files = {name: stack.enter_context((raw / name).open("wb")) for name in ("ids", "words", "offsets", "document")}
        files["offsets"].write(np.zeros(1, np.int64).tobytes())
        for batch in _batches(_sentences(paths, documents, column)):
            encodings = _encode(tokenizer, [text for _, text in batch], file)
            ids, begins, offsets, numbers = [], [], [], []
            for (key, _), encoding in zip(batch, encodings, strict=True):
                if len(encoding):
                    ids += encoding.ids
                    begins.append(_word_starts(encoding.word_ids))
                    document, last = document + (key != last), key
                    offsets.append(tokens + len(ids))
                    numbers.append(document)
            if ids:
                flags, numbered = np.concatenate(begins), np.array(ids, np.int32)
                tokens, words = tokens + len(ids), words + int(flags.sum())
                counts += np.bincount(numbered, minlength=len(counts))
                columns: Sequence[NDArray[Any]] = (numbered, flags, np.array(offsets), np.array(numbers))
                for part, values in zip(files.values(), columns, strict=True):
                    part.write(values.tobytes())
            done += sum(len(text.encode()) for _, text in batch)
            if progress is not None:
                progress(min(done, total))
        if not tokens:
            raise DataError("the corpus holds no text", file=file)
        for part in files.values():
            part.close()
        _bind(raw, temporary, {"counts": counts.tolist(), "tokens": tokens, "words": words})
    if progress is not None:
        progress(total)


def _encode(tokenizer: Tokenizer, texts: Sequence[str], file: str | Path) -> list[tokenizers.Encoding]:
    try:
        return tokenizer.encodings(texts, special=False)
    except CheckpointError as error:
        raise CheckpointError(f"{file}: {error}") from None


def _word_starts(word_ids: Sequence[int | None]) -> NDArray[np.uint8]:
    numbers = np.array([-1 if word is None else word for word in word_ids], np.int64)
    begins = np.ones(len(numbers), np.uint8)
    begins[1:] = (numbers[1:] != numbers[:-1]) | (numbers[1:] < 0)
    return begins


def _bind(raw: Path, target: Path, facts: dict[str, Any]) -> None:
    def column(name: str, kind: pa.DataType, width: int) -> pa.Array:
        buffer = pa.memory_map(str(raw / name)).read_buffer()
        return pa.Array.from_buffers(kind, buffer.size // width, [None, buffer])

    offsets = column("offsets", pa.int64(), 8)
    batch = pa.record_batch(
        {
            "ids": pa.LargeListArray.from_arrays(offsets, column("ids", pa.int32(), 4)),
            "begins_word": pa.LargeListArray.from_arrays(offsets, column("words", pa.uint8(), 1)),
            "document": column("document", pa.int64(), 8),
        }
    ).replace_schema_metadata({"weft": json.dumps(facts)})
    with pa.OSFile(str(target), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


_Columns = tuple[
    NDArray[np.int32], NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]
]  # ids, word starts, offsets, documents, counts


# What reading a file of which any byte may be wrong can raise.
_DAMAGE = (
    pa.ArrowException,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def _open_cache(cache: Path, size: int) -> _Columns | None:
    """The columns of a cache file, memory-mapped; None where it is absent or not as it was written."""
    if not cache.is_file():
        return None
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(cache)))
        facts = json.loads(reader.schema.metadata[b"weft"])
        batch = reader.get_batch(0)
        batch.validate()
        lists = batch.column("ids")
        ids, offsets = lists.values.to_numpy(), lists.offsets.to_numpy()
        words = batch.column("begins_word").values.to_numpy()
        documents = batch.column("document").to_numpy()
        counts = np.array(facts["counts"], np.int64)
        whole = (
            len(counts) == size
            and len(ids) == len(words) == facts["tokens"]
            and len(offsets) == len(documents) + 1
            and offsets[0] == 0
            and offsets[-1] == len(ids)
            and bool((np.diff(offsets) > 0).all() and (np.diff(documents) >= 0).all())
            and int(np.count_nonzero(words)) == facts["words"]
            and np.array_equal(count_tokens(ids, size), counts)
        )
    except _DAMAGE:
        return None
    return (ids, words.view(np.bool_), offsets, documents, counts) if whole else None


def count_tokens(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """How often each id occurs, (size,); all -1 where one is out of range."""
    counts = np.zeros(size, np.int64)
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        if block.min() < 0 or block.max() >= size:
            return np.full(size, -1)
        counts += np.bincount(block, minlength=size)
    return counts
