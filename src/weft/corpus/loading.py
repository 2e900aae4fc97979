"""Raw text of files, folders or patterns as rows: tokenized once, and divided by documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.corpus.corpus import Corpus, load_corpus
from weft.corpus.documents import Documents, read_pieces
from weft.corpus.files import corpus_files
from weft.corpus.masking import Unigrams
from weft.corpus.rows import CorpusRows, PairRows, ResampledRows
from weft.data.dataset import Splits, StoredRows
from weft.errors import ConfigError, DataError, Fault
from weft.tokenization.tokenizer import Tokenizer

BytesRead = Callable[[int], None]

_HELD_OUT = 1_000_003  # seeds what is drawn for rows to choose by and to report on: always the same
_SHOWN = 10  # faults of one corpus; a folder may have thousands


@dataclass(frozen=True, slots=True)
class CorpusFormat:
    """What is read of raw text, and the rows it is cut to."""

    documents: Documents = "blocks"  # what a document is
    column: str = "text"  # of tables
    max_length: int | None = None  # tokens of a row, special ones counted; as many as the encoder takes by default
    pairs: bool = False  # whether a row is two stretches, of which the second may follow the first or not


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """Where raw text is: files, folders of files, or patterns."""

    train: Path
    dev: Path | None = None
    dev_share: float | None = None  # of the documents to hold out, where there is no `dev`
    test: Path | None = None
    fraction: float | None = None  # of the training rows to use
    limit: int | None = None  # most training rows to use

    @property
    def paths(self) -> list[Path]:
        """Every path, once."""
        return list(dict.fromkeys(path for path in (self.train, self.dev, self.test) if path is not None))


class CorpusLoader:
    """Reads corpora with one tokenizer, into one folder of caches."""

    def __init__(self, tokenizer: Tokenizer, max_length: int, folder: Path, progress: BytesRead | None = None) -> None:
        self.tokenizer, self.max_length, self.folder, self.progress = tokenizer, max_length, folder, progress

    def load(self, source: CorpusSource, format: CorpusFormat, seed: int) -> Splits:
        """The rows to learn from, to choose by, and to report on."""
        self.check(source.paths, format)
        dev: ResampledRows | StoredRows
        if source.dev is not None:
            train, dev = self.rows(source.train, format, seed), self.rows(source.dev, format)
        elif source.dev_share == 0:  # all of it is to be learned from
            train, dev = self.rows(source.train, format, seed), StoredRows([])
        else:
            assert source.dev_share is not None
            train, dev = self._divided(source.train, format, source.dev_share, seed)
        size = len(train) if source.fraction is None else max(1, round(source.fraction * len(train)))
        size = min(size, source.limit or size)
        test = StoredRows([]) if source.test is None else self.rows(source.test, format)
        return Splits(train if size == len(train) else train.limited(size), dev, test)

    def check(self, paths: Iterable[Path], format: CorpusFormat) -> None:
        """Raise for all that can be found amiss before any text is tokenized, which may take hours."""
        self.check_length(format)
        faults = [fault for path in paths for fault in corpus_faults(path, format.documents, format.column)]
        if len(faults) == 1:
            raise faults[0]
        if faults:
            more = [f"and {len(faults) - _SHOWN} more files"] if len(faults) > _SHOWN else []
            raise DataError("\n".join([*map(str, faults[:_SHOWN]), *more]))

    def check_length(self, format: CorpusFormat) -> None:
        """Raise where rows have too little room for text."""
        self._max_tokens(format)

    def rows(self, path: Path, format: CorpusFormat, seed: int = _HELD_OUT) -> ResampledRows:
        """All rows of a file, or of the files of a folder or pattern."""
        corpus = self._corpus(path, format)
        return self._rows(corpus, _unigrams(corpus, path), format, seed, path)

    def _corpus(self, path: Path, format: CorpusFormat) -> Corpus:
        return load_corpus(
            corpus_files(path),
            self.tokenizer,
            self.folder,
            max_tokens=self._max_tokens(format),
            documents=format.documents,
            column=format.column,
            progress=self.progress,
            file=path,
        )

    def _max_tokens(self, format: CorpusFormat) -> int:
        """The tokens of text that a row may have."""
        length, special = min(format.max_length or self.max_length, self.max_length), self._special(format)
        minimum = 2 if format.pairs else 1
        if length - special < minimum:
            raise ConfigError(
                Fault(
                    "max_length",
                    f"{length} leaves too little room for text beside {special} special tokens; at least "
                    f"{special + minimum} are needed",
                )
            )
        return length - special

    def _special(self, format: CorpusFormat) -> int:
        return self.tokenizer.specials(format.pairs)

    def _rows(self, corpus: Corpus, unigrams: Unigrams, format: CorpusFormat, seed: int, path: Path) -> ResampledRows:
        special = self._special(format)
        if format.pairs:
            return PairRows(corpus, unigrams, seed, self._max_tokens(format), special=special, file=str(path))
        return CorpusRows(corpus, unigrams, seed, special=special)

    def _divided(
        self, path: Path, format: CorpusFormat, share: float, seed: int
    ) -> tuple[ResampledRows, ResampledRows]:
        """The rows of a corpus, its last documents, about `share` of its tokens, held out.

        Tokens, and not rows, so that tasks of different lengths on one corpus hold the same documents out.
        """
        corpus = self._corpus(path, format)
        documents, document_of = np.unique(corpus.sentence_documents, return_inverse=True)
        sizes = np.bincount(document_of, np.diff(corpus.sentences))[::-1].cumsum()
        minimum = 2 if format.pairs else 1  # documents of each part; of one alone no false pair can be drawn
        if len(documents) < 2 * minimum:
            raise ConfigError(
                Fault(
                    "dev",
                    f"{path}: a share cannot be held out, as the corpus has {len(documents)} "
                    f"document{'s' if len(documents) > 1 else ''} and this needs {2 * minimum}; name a file for dev, "
                    "set dev = 0 to hold nothing out, or choose how documents are divided (documents = blocks or "
                    "rows, or file where train is a folder)",
                )
            )
        held_out = int(np.searchsorted(sizes, share * sizes[-1])) + 1
        border = documents[-min(max(held_out, minimum), len(documents) - minimum)]
        learned = corpus.sentence_documents < border
        first, last = corpus.only(learned), corpus.only(~learned)
        train = self._rows(first, _unigrams(first, path), format, seed, path)  # of the rest, learning knows nothing
        return train, self._rows(last, _unigrams(corpus, path), format, _HELD_OUT, path)


def corpus_faults(path: Path, documents: Documents, column: str) -> Iterator[DataError]:
    """What is wrong with the files that a path stands for, as far as their beginnings tell."""
    try:
        files = corpus_files(path)
    except DataError as error:
        yield error
        return
    empty = True
    for file in files:
        try:
            empty &= next(read_pieces(file, documents, column), None) is None
        except DataError as error:
            empty = False
            yield error
    if empty:
        yield DataError("the corpus holds no text", file=path)


def _unigrams(corpus: Corpus, path: Path) -> Unigrams:
    if not corpus.counts.any():
        raise DataError("the tokenizer knows no character of this text; use another, or learn one from it", file=path)
    return Unigrams.from_counts(corpus.counts)
