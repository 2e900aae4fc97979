"""The raw text of the tasks that learn from it, tokenized once and divided by documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from weft.corpus.cache import count_tokens
from weft.corpus.corpus import Corpus, load_corpus
from weft.corpus.documents import read_pieces
from weft.corpus.files import corpus_files
from weft.corpus.masking import Unigrams
from weft.corpus.rows import CorpusRows, PairRows, ResampledRows
from weft.data.records import Example
from weft.errors import ConfigError, DataError
from weft.tasks import Task
from weft.tasks.base.corpus import CorpusTask, MaskedTask
from weft.tasks.base.examples import Splits
from weft.tokenization.tokenizer import Tokenizer

Progress = Callable[[int], None]

_ASIDE = 1_000_003  # seeds what is drawn for rows to choose by and to report on: always the same
_SHOWN = 10  # faults of one task; a folder may have thousands


class CorpusLoader:
    """Reads the corpora of tasks with one tokenizer, into one folder of caches."""

    def __init__(self, tokenizer: Tokenizer, max_length: int, folder: Path, progress: Progress | None = None) -> None:
        self.tokenizer, self.max_length, self.folder, self.progress = tokenizer, max_length, folder, progress

    def load(self, name: str, task: Task, base: Path, seed: int) -> Splits:
        """A task's rows to learn from, to choose by, and to report on."""
        self.check(name, task, base)
        assert isinstance(task, CorpusTask)
        assert task.train is not None
        if isinstance(task.dev, str):
            train, dev = self.rows(task, base / task.train, seed), self.rows(task, base / task.dev)
        else:
            train, dev = self._divided(name, task, base / task.train, task.dev, seed)
        test: Sequence[Example] = self.rows(task, base / task.test) if task.test else []
        return Splits(_limited(train, task), dev, test)

    def check(self, name: str, task: Task, base: Path) -> None:
        """Raise for all that can be found amiss before any text is tokenized, which may take hours."""
        assert isinstance(task, CorpusTask)
        if task.train is None:
            raise DataError(f"tasks.{name}.train: is required to train this task; name a file or a folder")
        self._max_tokens(task)
        if isinstance(task, MaskedTask):
            _ = self.tokenizer.mask_id  # raises where there is none
        named = [base / one for one in (task.train, task.dev, task.test) if isinstance(one, str)]
        faults = [fault for path in dict.fromkeys(named) for fault in corpus_faults(task, path)]
        if len(faults) == 1:
            raise faults[0]
        if faults:
            more = [f"and {len(faults) - _SHOWN} more files"] if len(faults) > _SHOWN else []
            raise DataError("\n".join([*map(str, faults[:_SHOWN]), *more]))

    def rows(self, task: Task, path: Path, seed: int = _ASIDE) -> ResampledRows:
        """All rows of a file, or of the files of a folder or pattern."""
        assert isinstance(task, CorpusTask)
        corpus = self._corpus(task, path)
        return self._drawn(task, corpus, _unigrams(corpus, path), seed, path)

    def _corpus(self, task: CorpusTask, path: Path) -> Corpus:
        return load_corpus(
            corpus_files(path),
            self.tokenizer,
            self.folder,
            max_tokens=self._max_tokens(task),
            documents=task.documents,
            column=task.text,
            progress=self.progress,
            file=path,
        )

    def _max_tokens(self, task: CorpusTask) -> int:
        length, special = (
            min(task.max_length or self.max_length, self.max_length),
            self.tokenizer.specials(task.several_texts),
        )
        minimum = 2 if task.several_texts else 1
        if length - special < minimum:
            raise ConfigError(
                f"max_length: {length} tokens leave too little room for text beside {special} special ones; "
                f"at least {special + minimum} are needed"
            )
        return length - special

    def _drawn(self, task: CorpusTask, corpus: Corpus, unigrams: Unigrams, seed: int, path: Path) -> ResampledRows:
        if task.several_texts:
            return PairRows(corpus, unigrams, seed, self._max_tokens(task), file=str(path))
        return CorpusRows(corpus, unigrams, seed)

    def _divided(
        self, name: str, task: CorpusTask, path: Path, share: float, seed: int
    ) -> tuple[ResampledRows, ResampledRows]:
        """The last documents of a corpus, about `share` of its tokens, aside.

        Tokens, and not rows, so that tasks of different lengths on one corpus set the same documents aside.
        """
        corpus = self._corpus(task, path)
        documents, owner = np.unique(corpus.sentence_documents, return_inverse=True)
        sizes = np.bincount(owner, np.diff(corpus.sentences))[::-1].cumsum()
        minimum = 2 if task.several_texts else 1  # documents of each part; of one alone no false pair can be drawn
        if len(documents) < 2 * minimum:
            raise DataError(
                f"tasks.{name}.dev: a share cannot be set aside, as the corpus has {len(documents)} "
                f"document{'s' if len(documents) > 1 else ''} and this needs {2 * minimum}; name a file for dev, or "
                "choose how documents are divided (documents = blocks or rows, or file where train is a folder)",
                file=path,
            )
        held_out = int(np.searchsorted(sizes, share * sizes[-1])) + 1
        border = documents[-min(max(held_out, minimum), len(documents) - minimum)]
        learned = corpus.sentence_documents < border
        first, last = _only(corpus, learned), _only(corpus, ~learned)
        train = self._drawn(task, first, _unigrams(first, path), seed, path)  # of the rest, learning knows nothing
        return train, self._drawn(task, last, _unigrams(corpus, path), _ASIDE, path)


def corpus_faults(task: CorpusTask, path: Path) -> Iterator[DataError]:
    """What is wrong with the files that a path stands for, as far as their beginnings tell."""
    try:
        files = corpus_files(path)
    except DataError as error:
        yield error
        return
    empty = True
    for file in files:
        try:
            empty &= next(read_pieces(file, task.documents, task.text), None) is None
        except DataError as error:
            empty = False
            yield error
    if empty:
        yield DataError("the corpus holds no text", file=path)


def _unigrams(corpus: Corpus, path: Path) -> Unigrams:
    if not corpus.counts.any():
        raise DataError("the tokenizer knows no character of this text; use another, or learn one from it", file=path)
    return Unigrams(corpus.counts)


def _only(corpus: Corpus, kept: np.ndarray) -> Corpus:
    """A corpus of some of the documents, which lie together; a view."""
    sentences = np.flatnonzero(kept)
    first, last = int(sentences[0]), int(sentences[-1]) + 1
    begin, end = corpus.sentences[first], corpus.sentences[last]
    rows = (corpus.rows[:, 0] >= begin) & (corpus.rows[:, 1] <= end)
    counts = count_tokens(corpus.tokens[begin:end], len(corpus.counts))
    return Corpus(
        corpus.tokens,
        corpus.begins_word,
        corpus.sentences[first : last + 1],
        corpus.sentence_documents[first:last],
        np.where(corpus.counts > 0, counts, 0),  # special ids stay at 0
        corpus.rows[rows],
    )


def _limited(rows: ResampledRows, task: CorpusTask) -> ResampledRows:
    """At most `limit` rows, or the `fraction` of them, evenly spread."""
    size = len(rows) if task.fraction is None else max(1, round(task.fraction * len(rows)))
    size = min(size, task.limit or size)
    if size == len(rows):
        return rows
    if isinstance(rows, CorpusRows):
        places = rows.places[np.arange(size) * len(rows) // size]
        return CorpusRows(rows.corpus, rows.unigrams, rows.seed, rows.epoch, places)
    assert isinstance(rows, PairRows)
    return PairRows(rows.corpus, rows.unigrams, rows.seed, rows.max_tokens, rows.epoch, size, rows.file)


def corpus_tasks(tasks: Mapping[str, Task]) -> dict[str, Task]:
    """The tasks that learn from raw text."""
    return {name: task for name, task in tasks.items() if task.reads_corpus}
