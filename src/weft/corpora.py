"""The raw text of the tasks that learn from it, tokenized once and divided by documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from weft.bases.corpus import CorpusTask
from weft.data import Splits
from weft.errors import DataError
from weft.tasks import Task
from weft.text.corpus import Corpus, load_corpus
from weft.text.corpus_rows import CorpusRows, DrawnRows, PairRows
from weft.text.masking import Unigrams
from weft.text.tokenizer import Tokenizer

Progress = Callable[[int], None]

_ASIDE = 1_000_003  # seeds what is drawn for rows to choose by and to report on: always the same


class CorpusReader:
    """Reads the corpora of tasks with one tokenizer, into one folder of caches."""

    def __init__(self, tokenizer: Tokenizer, max_length: int, folder: Path, progress: Progress | None = None) -> None:
        self.tokenizer, self.max_length, self.folder, self.progress = tokenizer, max_length, folder, progress

    def load(self, name: str, task: Task, base: Path, seed: int) -> Splits:
        """A task's rows to learn from, to choose by, and to report on."""
        assert isinstance(task, CorpusTask)
        if task.train is None:
            raise DataError(f"tasks.{name}.train: is required to train this task; name a file")
        train = self.rows(task, base / task.train, seed)
        if isinstance(task.dev, str):
            dev: Sequence[object] = self.rows(task, base / task.dev)
        else:
            train, dev = self._divided(name, task, base / task.train, task.dev, seed)
        test = self.rows(task, base / task.test) if task.test else []
        return Splits(_limited(train, task), dev, test)  # type: ignore[arg-type]

    def rows(self, task: Task, path: Path, seed: int = _ASIDE) -> DrawnRows:
        """All rows of a file."""
        assert isinstance(task, CorpusTask)
        corpus = self._corpus(task, path)
        return self._drawn(task, corpus, Unigrams(corpus.counts), seed)

    def _corpus(self, task: CorpusTask, path: Path) -> Corpus:
        return load_corpus(
            [path],
            self.tokenizer,
            self.folder,
            room=self._room(task),
            documents=task.documents,
            column=task.text,
            progress=self.progress,
        )

    def _room(self, task: CorpusTask) -> int:
        return min(task.max_length or self.max_length, self.max_length) - self.specials(task)

    def specials(self, task: Task) -> int:
        """Special tokens of a row."""
        return len(self.tokenizer.backend.encode("", "" if task.several_texts else None).ids)

    def _drawn(self, task: CorpusTask, corpus: Corpus, unigrams: Unigrams, seed: int) -> DrawnRows:
        if task.several_texts:
            return PairRows(corpus, unigrams, seed, self._room(task))
        return CorpusRows(corpus, unigrams, seed)

    def _divided(self, name: str, task: CorpusTask, path: Path, share: float, seed: int) -> tuple[DrawnRows, DrawnRows]:
        """The last documents of a file, about `share` of its rows, aside."""
        corpus = self._corpus(task, path)
        rows = corpus.documents
        documents = np.unique(rows)
        sizes = np.bincount(np.searchsorted(documents, rows))[::-1].cumsum()
        aside = min(int(np.searchsorted(sizes, share * len(rows))) + 1, len(documents) - 1)
        if aside < 1:
            raise DataError(
                f"tasks.{name}.dev: the corpus has one document, so that none can be set aside; name a file"
            )
        border = documents[-aside]
        parts = (_only(corpus, corpus.sentence_documents < border), _only(corpus, corpus.sentence_documents >= border))
        train, dev = (
            self._drawn(task, part, Unigrams(corpus.counts), one)
            for part, one in zip(parts, (seed, _ASIDE), strict=True)
        )
        return train, dev


def _only(corpus: Corpus, kept: np.ndarray) -> Corpus:
    """A corpus of some of the documents, which lie together; a view."""
    sentences = np.flatnonzero(kept)
    first, last = int(sentences[0]), int(sentences[-1]) + 1
    begin, end = corpus.sentences[first], corpus.sentences[last]
    rows = (corpus.rows[:, 0] >= begin) & (corpus.rows[:, 1] <= end)
    return Corpus(
        corpus.tokens,
        corpus.begins_word,
        corpus.sentences[first : last + 1],
        corpus.sentence_documents[first:last],
        corpus.counts,
        corpus.rows[rows],
        corpus.documents[rows],
    )


def _limited(rows: DrawnRows, task: CorpusTask) -> DrawnRows:
    """At most `limit` rows, or the `fraction` of them, evenly spread."""
    size = len(rows) if task.fraction is None else max(1, round(task.fraction * len(rows)))
    size = min(size, task.limit or size)
    if size == len(rows):
        return rows
    if isinstance(rows, CorpusRows):
        places = rows.places[np.arange(size) * len(rows) // size]
        return CorpusRows(rows.corpus, rows.unigrams, rows.seed, rows.turn, places)
    assert isinstance(rows, PairRows)
    return PairRows(rows.corpus, rows.unigrams, rows.seed, rows.room, rows.turn, size)


def corpus_tasks(tasks: Mapping[str, Task]) -> dict[str, Task]:
    """The tasks that learn from raw text."""
    return {name: task for name, task in tasks.items() if task.reads_corpus}
