"""A corpus tokenized once, into a memory-mapped file.

Sentences are tokenized one by one and lie end to end in an Arrow file of one record batch, which is named after a
digest of all that shaped it and is used again while that stays the same.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import tokenizers
from numpy.typing import NDArray

from weft.corpus.documents import Documents, read_pieces
from weft.corpus.sentences import split_sentences
from weft.data.atomic import replacing
from weft.data.opening import suffix_of
from weft.errors import CheckpointError, DataError
from weft.tokenization.tokenizer import Tokenizer

_VERSION = 1  # of the cache; raise it whenever reading, splitting or the columns change
_BATCH = 1 << 20  # characters that are tokenized at a time
_BLOCK = 1 << 24  # tokens that are counted at a time
_RAW = ("ids", "words", "offsets", "document")  # the files of the columns before they are bound


def digest(paths: Sequence[Path], tokenizer: Tokenizer, documents: Documents, column: str) -> str:
    whole = hashlib.blake2b(digest_size=16)
    options = [_VERSION, tokenizers.__version__, documents, column, [suffix_of(path) for path in paths]]
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


def write_cache(
    cache: Path,
    paths: Sequence[Path],
    tokenizer: Tokenizer,
    documents: Documents,
    column: str,
    progress: Callable[[int], None] | None,
    file: str | Path,
) -> None:
    """Tokenize into one raw file per column, then bind these to an Arrow file; neither step holds the corpus."""
    report = progress or (lambda _: None)
    total, done = sum(path.stat().st_size for path in paths), 0
    with replacing(cache) as temporary, tempfile.TemporaryDirectory(prefix=".corpus-", dir=cache.parent) as raw:
        with _RawColumns(Path(raw), tokenizer.size) as columns:
            for batch in _batches(_sentences(paths, documents, column)):
                texts = [text for _, text in batch]
                columns.add([key for key, _ in batch], _encode(tokenizer, texts, file))
                done += sum(len(text.encode()) for text in texts)
                report(min(done, total))
        if not columns.tokens:
            raise DataError("the corpus holds no text", file=file)
        _bind(Path(raw), temporary, columns.facts)
    report(total)


class _RawColumns:
    """The columns of a corpus, each written to a file of its own; holds no more than a batch of sentences."""

    def __init__(self, folder: Path, vocabulary: int) -> None:
        self.tokens = self.words = 0
        self.counts = np.zeros(vocabulary, np.int64)
        self._document, self._key = -1, (-1, -1)
        self._stack = ExitStack()
        self._files = [self._stack.enter_context((folder / name).open("wb")) for name in _RAW]

    def __enter__(self) -> _RawColumns:
        self._files[_RAW.index("offsets")].write(np.zeros(1, np.int64).tobytes())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def facts(self) -> dict[str, Any]:
        """What a cache must hold, to be known again as whole."""
        return {"counts": self.counts.tolist(), "tokens": self.tokens, "words": self.words}

    def add(self, keys: Sequence[tuple[int, int]], encodings: Sequence[tokenizers.Encoding]) -> None:
        """Write some sentences, each with its file and document; those without a token are left out."""
        ids: list[int] = []
        begins, offsets, documents = [], [], []
        for key, encoding in zip(keys, encodings, strict=True):
            if len(encoding):
                ids += encoding.ids
                begins.append(_word_starts(encoding.word_ids))
                self._document, self._key = self._document + (key != self._key), key
                offsets.append(self.tokens + len(ids))
                documents.append(self._document)
        if ids:
            self._write(np.array(ids, np.int32), np.concatenate(begins), np.array(offsets), np.array(documents))

    def _write(self, ids: NDArray[np.int32], begins: NDArray[np.uint8], *others: NDArray[np.int64]) -> None:
        self.tokens, self.words = self.tokens + len(ids), self.words + int(begins.sum())
        self.counts += np.bincount(ids, minlength=len(self.counts))
        columns: tuple[NDArray[Any], ...] = (ids, begins, *others)
        for file, values in zip(self._files, columns, strict=True):
            file.write(values.tobytes())


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


class Columns(NamedTuple):
    """What a cache holds of T tokens in S sentences; the large arrays are views of its file."""

    ids: NDArray[np.int32]  # (T,)
    begins_word: NDArray[np.bool_]  # (T,)
    sentences: NDArray[np.int64]  # (S + 1,) token offsets
    documents: NDArray[np.int64]  # (S,) of each sentence
    counts: NDArray[np.int64]  # (V,) how often each id occurs


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


def open_cache(cache: Path, size: int) -> Columns | None:
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
    return Columns(ids, words.view(np.bool_), offsets, documents, counts) if whole else None


def count_tokens(ids: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """How often each id occurs, (size,); all -1 where one is out of range."""
    counts = np.zeros(size, np.int64)
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        if block.min() < 0 or block.max() >= size:
            return np.full(size, -1)
        counts += np.bincount(block, minlength=size)
    return counts
