"""Vocabularies learned from text files of any size, and written as tokenizer folders.

The files are read twice: once for their faults, their length and their alphabet, and once to learn. The same files give
the same vocabulary.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import get_args

from tokenizers import models

from weft.corpus.documents import read_pieces
from weft.corpus.subwords import LEARNERS, SPECIAL, Criterion, Kind, PieceProgress
from weft.data.atomic import refuse_existing, write_atomically
from weft.data.formats import read_column
from weft.data.opening import suffix_of
from weft.errors import ConfigError, DataError, WeftError
from weft.tokenization.tokenizer import Tokenizer

TextProgress = Callable[[Iterable[str], int | None], Iterable[str]]

CHOSEN_BY = {
    "bpe": "which always joins the two pieces that meet most often",
    "unigram": "whose pieces are the likeliest without it",
}
LONGEST_TEXT = 5_000  # characters; the library holds dozens of bytes for each character of a text in hand


def learn_vocabulary(
    files: Sequence[Path],
    kind: Kind,
    size: int,
    *,
    criterion: Criterion = "count",
    min_frequency: int = 2,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    column: str = "text",
    progress: TextProgress = lambda texts, total: texts,
    choosing: PieceProgress = lambda pieces, most: pieces,
) -> Tokenizer:
    """A tokenizer whose vocabulary of at most `size` pieces is learned from files.

    Every line of a .txt file that holds text is a text (its column is `text`), and one of more than 64 KB is several;
    of the other types that `read_rows` knows, the texts are a column. Accents are stripped where letters are
    lower-cased, as in BERT, unless `strip_accents` says otherwise. Words longer than 100 characters are learned from in
    parts.

    Of WordPiece, the `criterion` says which two pieces become one: those that meet most often (`count`, as the
    `tokenizers` library does), or those that raise the likelihood of the texts the most under a unigram model of the
    pieces (`likelihood`, as WordPiece was first described; see `word_pieces`). A text is then cut alike, into the
    longest pieces from the left.

    Fewer pieces are learned where no more occur `min_frequency` times, or none of them raises the likelihood. Unigram
    asks instead that a longer piece occurs in two different words, and may drop more pieces than it must.

    `progress` wraps the texts of each of the two readings; their number is None in the first. `choosing` wraps the
    pieces that are chosen by likelihood, with how many there are at most.
    """
    check_choices(files, kind, size, min_frequency, criterion)
    accents = lowercase if strip_accents is None else strip_accents
    learner = LEARNERS[kind, criterion](lowercase, accents, choosing)
    texts = _TextParts(files, column, progress)
    alphabet = learner.alphabet(iter(texts))
    if not (texts.words and alphabet):
        raise DataError(
            f"there is no word in the {texts.count:,} texts of {len(files)} files to learn from; name files with text"
        )
    needed = len(SPECIAL) + len(alphabet)
    if size < needed:
        raise ConfigError(
            f"a vocabulary of {size:,} pieces is too small: {len(SPECIAL)} special tokens and {len(alphabet):,} "
            f"{learner.signs} come before any longer piece; ask for a size of more than {needed:,}"
        )
    return learner.tokenizer(learner.learn(iter(texts), alphabet, size, min_frequency))


def check_choices(files: Sequence[Path], kind: Kind, size: int, min_frequency: int, criterion: Criterion) -> None:
    """Raise for every choice that no texts could make possible."""
    faults = []
    if not files:
        faults.append("there is no file to learn from; name at least one")
    if kind not in get_args(Kind):
        faults.append(f"kind {kind!r} is not one of: {', '.join(get_args(Kind))}")
    if size <= len(SPECIAL):
        faults.append(f"size {size} leaves no room for pieces beside {len(SPECIAL)} special tokens; ask for more")
    if min_frequency < 1:
        faults.append(f"min_frequency {min_frequency} is not possible; allowed: 1 or more")
    if kind == "unigram" and min_frequency != 2:
        faults.append(f"min_frequency {min_frequency} is not possible with unigram, which always asks for 2; leave it")
    if criterion not in get_args(Criterion):
        faults.append(f"criterion {criterion!r} is not one of: {', '.join(get_args(Criterion))}")
    elif kind in get_args(Kind) and (kind, criterion) not in LEARNERS:
        faults.append(f"criterion {criterion!r} is for wordpiece, not {kind}, {CHOSEN_BY[kind]}; leave it")
    if faults:
        raise ConfigError(*faults)


class _TextParts:
    """The texts of all files, in parts that the library can hold, from the beginning at every `iter`."""

    def __init__(self, files: Sequence[Path], column: str, progress: TextProgress) -> None:
        self.files, self.column, self.progress = files, column, progress
        self.count: int | None = None  # of texts, known after the first reading
        self.words = False  # whether there is anything but blanks

    def __iter__(self) -> Iterator[str]:
        count = 0
        texts = (text for file in self.files for text in read_texts(file, self.column))
        for text in self.progress(texts, self.count):
            count += 1
            self.words = self.words or not (text.isspace() or not text)
            yield from parts(_without_special(text))
        self.count = count


def read_texts(path: Path, column: str) -> Iterator[str]:
    """The texts of a file; a giant line of plain text comes in several, so that it need not fit into memory."""
    if suffix_of(path) == ".txt" and column == "text":
        return (piece.rstrip("\r\n") for _, piece in read_pieces(path, "rows"))
    return read_column(path, column)


def parts(text: str) -> Iterator[str]:
    """A text in parts of at most 5,000 characters, which begin with a blank wherever there is one."""
    start = 0
    while len(text) - start > LONGEST_TEXT:
        blank = text.rfind(" ", start + 1, start + LONGEST_TEXT)
        end = blank if blank > 0 else start + LONGEST_TEXT
        yield text[start:end]
        start = end
    yield text[start:]


def _without_special(text: str) -> str:
    """The text without what reads as a special token, since no piece may be spelled as one."""
    if "[" in text:
        for token in SPECIAL:
            text = text.replace(token, " ")
    return text


def save_vocabulary(tokenizer: Tokenizer, folder: Path) -> None:
    """Write a new tokenizer folder that weft and transformers load: complete or not at all.

    It holds `tokenizer.json`, `tokenizer_config.json` and, for WordPiece, `vocab.txt` with a piece per line.
    """
    refuse_existing(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{folder.name}.", dir=folder.parent, ignore_cleanup_errors=True
        ) as private:
            unfinished = Path(private) / folder.name  # inside, where it has the usual permissions
            tokenizer.save(unfinished)
            if isinstance(tokenizer.backend.model, models.WordPiece):
                vocabulary = tokenizer.backend.get_vocab()
                lines = "".join(f"{piece}\n" for piece in sorted(vocabulary, key=vocabulary.__getitem__))
                write_atomically(unfinished / "vocab.txt", lambda path: path.write_text(lines, encoding="utf-8"))
            unfinished.rename(folder)
    except OSError as error:
        raise WeftError(f"cannot write {folder}: {error.strerror or error}") from None
